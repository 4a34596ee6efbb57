import { describe, expect, it } from "vitest";
import { xxh32, xxh3_64, Xxh3Stream } from "../../src/hash/index.js";
import { fromHex, loadVectors, ruleBytes } from "../golden.js";

interface HashVectors {
  readonly message_key_to_partition: readonly {
    readonly key_hex: string;
    readonly xxh32_seed_0: number;
    readonly partition_by_count: readonly { readonly partitions: number; readonly partition: number }[];
  }[];
  readonly xxh32: readonly { readonly length: number; readonly xxh32_seed_0: number }[];
  readonly xxh3_64: readonly { readonly length: number; readonly xxh3_64_seed_0: string }[];
}

const vectors: HashVectors = loadVectors("hashes");

describe("XXH32", () => {
  it.each(vectors.xxh32)("matches the golden hash of $length bytes", ({ length, xxh32_seed_0 }) => {
    expect(xxh32(ruleBytes(length))).toBe(xxh32_seed_0);
  });

  it.each(vectors.message_key_to_partition)("hashes the message key $key_hex", ({ key_hex, xxh32_seed_0 }) => {
    expect(xxh32(fromHex(key_hex))).toBe(xxh32_seed_0);
  });
});

describe("XXH3-64", () => {
  it.each(vectors.xxh3_64)("matches the golden hash of $length bytes", ({ length, xxh3_64_seed_0 }) => {
    const bytes = ruleBytes(length);
    expect(xxh3_64(bytes)).toBe(BigInt(xxh3_64_seed_0));
    expect(new Xxh3Stream().update(bytes).digest()).toBe(BigInt(xxh3_64_seed_0));
  });

  it("hashes a range without looking at its surroundings", () => {
    const bytes = ruleBytes(3000);
    const shifted = new Uint8Array(3011).fill(0xee);
    shifted.set(bytes, 7);
    expect(xxh3_64(shifted, 7, 3000)).toBe(xxh3_64(bytes));
  });
});
