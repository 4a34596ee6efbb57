import { describe, expect, it } from "vitest";
import { coresOf, type Topology } from "../../src/shards/cores.js";
import { murmur3OfU64, Placement } from "../../src/shards/placement.js";
import { parseCores } from "../../src/shards/system-topology.js";

describe("the placement of partitions", () => {
  it("hashes as MurmurHash3 does", () => {
    // Eight zero bytes; eight bytes of which the lowest is 1; the largest partition number.
    expect(murmur3OfU64(0)).toBe(reference(0n));
    expect(murmur3OfU64(1)).toBe(reference(1n));
    expect(murmur3OfU64(2 ** 52 - 1)).toBe(reference(2n ** 52n - 1n));
  });

  it("uses every shard about alike, and the only one for everything", () => {
    const placement = new Placement(4);
    const counts = [0, 0, 0, 0];
    for (let partitionId = 0; partitionId < 4000; partitionId++) {
      const shard = placement.shardOf({ streamId: 3, topicId: 7, partitionId });
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(800);
    expect(new Placement(1).shardOf({ streamId: 3, topicId: 7, partitionId: 9 })).toBe(0);
  });
});

/** The published algorithm, in big integers. */
function reference(value: bigint): number {
  const mask = 0xffff_ffffn;
  const rotate = (word: bigint, bits: bigint): bigint => ((word << bits) | (word >> (32n - bits))) & mask;
  let hash = 0n;
  for (const block of [value & mask, value >> 32n]) {
    const scrambled = (rotate((block * 0xcc9e2d51n) & mask, 15n) * 0x1b873593n) & mask;
    hash = (rotate(hash ^ scrambled, 13n) * 5n + 0xe6546b64n) & mask;
  }
  hash ^= 8n;
  hash = ((hash ^ (hash >> 16n)) * 0x85ebca6bn) & mask;
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2ae35n) & mask;
  return Number(hash ^ (hash >> 16n));
}

describe("the cores of the shards", () => {
  /** Two nodes of four cores each; core n and n + 4 of a node are one physical core. */
  const topology: Topology = {
    allowed: [0, 1, 2, 3, 4, 5, 6, 7],
    nodeOf: (core) => (core % 4 < 2 ? 0 : 1),
    siblingsOf: (core) => [core % 4, (core % 4) + 4],
  };

  it("are chosen as the configuration says", () => {
    expect(coresOf({ mode: "all" }, topology)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(coresOf({ mode: "count", count: 3 }, topology)).toEqual([0, 1, 2]);
    expect(coresOf({ mode: "range", first: 2, end: 5 }, topology)).toEqual([2, 3, 4]);
    expect(coresOf({ mode: "numa", cores: 0, noHt: true }, topology)).toEqual([0, 1, 2, 3]);
    expect(coresOf({ mode: "numa", cores: 0, noHt: false }, topology)).toHaveLength(8);
    expect(coresOf({ mode: "numa", nodes: [1], cores: 0, noHt: true }, topology)).toEqual([2, 3]);
    expect(coresOf({ mode: "numa", cores: 1, noHt: true }, topology)).toEqual([0, 2]);
  });

  it("are never none, and leave out what the process may not use", () => {
    const narrow: Topology = { ...topology, allowed: [4, 6] };
    expect(coresOf({ mode: "numa", cores: 0, noHt: true }, narrow)).toEqual([4, 6]);
    expect(coresOf({ mode: "numa", nodes: [9], cores: 0, noHt: true }, topology)).toEqual([0]);
  });

  it("are read as the kernel lists them", () => {
    expect(parseCores("0-2,8\n")).toEqual([0, 1, 2, 8]);
    expect(parseCores("5")).toEqual([5]);
    expect(parseCores("none")).toBeUndefined();
    expect(parseCores(undefined)).toBeUndefined();
  });
});
