import { encodeBatch, ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { codeOf, confirmed, consumer, next, offsetAt, partition, polled, second, TestNode } from "./node.js";

const MIB = 1024 * 1024;
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Sends batches of ten messages, 300 kB each, so that every fourth seals a segment of 1 MiB. */
async function rotate(node: TestNode, batches: number): Promise<void> {
  for (let i = 0; i < batches; i++) await node.send({ count: 10, payloadBytes: 30_000 }).answered;
}

const segments = (node: TestNode) => node.plane.stats(partition)?.segmentsCount;
const expireAfter = (node: TestNode, messageExpiryMicros: number | undefined) => {
  node.catalog.policy = { ...node.catalog.policy, messageExpiryMicros };
};

describe("retention by age", () => {
  it("deletes every sealed segment that is expired, and keeps the active one", async () => {
    const node = await TestNode.start();
    expireAfter(node, 10 * second);
    await rotate(node, 22);
    expect(segments(node)).toBe(6);
    await node.clock.advance(9_000);
    await node.plane.clean();
    expect(segments(node)).toBe(6);
    await node.clock.advance(1_001);
    await node.plane.clean();
    expect(segments(node)).toBe(1);
    expect(await node.offsets()).toEqual(range(200, 220));
    expect(polled(await node.poll({ strategy: { kind: "first", value: 0n }, count: 1 }).answered).offsets).toEqual([
      200,
    ]);
  });

  it("never deletes the active segment, and numbers go on", async () => {
    const node = await TestNode.start();
    expireAfter(node, 10 * second);
    await node.send({ count: 10 }).answered;
    await node.clock.advance(30_000);
    await node.plane.clean();
    expect(await node.offsets()).toEqual(range(0, 10));
    expect(confirmed(await node.send({ count: 1 }).answered)).toBe(10);
  });

  it("follows a changed expiry for segments that exist already", async () => {
    const node = await TestNode.start();
    await rotate(node, 10);
    await node.clock.advance(60_000);
    await node.plane.clean();
    expect(segments(node)).toBe(3);
    expireAfter(node, 10 * second);
    await rotate(node, 4);
    await node.plane.clean();
    expect(segments(node)).toBe(2);
    expect((await node.offsets())[0]).toBe(80);
  });

  it("follows the time of appending, whatever times producers claim", async () => {
    const node = await TestNode.start();
    expireAfter(node, 10 * second);
    for (const originTimestamp of [0n, 4_102_444_800_000_000n, 2n ** 64n - 1n, 0n]) {
      const messages = range(0, 10).map(() => ({ payload: new Uint8Array(30_000), originTimestamp }));
      expect(codeOf(await node.sendBytes(encodeBatch(messages), 10).answered)).toBe(0);
    }
    await rotate(node, 1);
    await node.clock.advance(10_001);
    await node.plane.clean();
    expect(segments(node)).toBe(1);
  });

  it("keeps what the slowest consumer has not stored, and lets it go when that is deleted", async () => {
    const node = await TestNode.start();
    expireAfter(node, 10 * second);
    await rotate(node, 10);
    await node.store(consumer, 45).answered;
    await node.store({ kind: "external_group", id: 1 }, 0).answered;
    await node.clock.advance(30_000);
    await node.plane.clean();
    expect((await node.offsets())[0]).toBe(40);
    await node.deleteOffset(consumer).answered;
    await node.plane.clean();
    expect((await node.offsets())[0]).toBe(80);
  });

  it("deletes any number of segments in one pass of the node", async () => {
    const node = await TestNode.start({ limits: { residentBytesMax: 1 } });
    expireAfter(node, second);
    await rotate(node, 4 * 20 + 1);
    await node.clock.advance(2_000);
    await node.plane.clean();
    expect(segments(node)).toBe(1);
  });

  it("stays done after a kill", async () => {
    const node = await TestNode.start();
    expireAfter(node, second);
    await rotate(node, 10);
    await node.clock.advance(2_000);
    await node.plane.clean();
    const next_ = await node.killed();
    expect(await next_.offsets()).toEqual(range(80, 100));
    expect(confirmed(await next_.send({ count: 1 }).answered)).toBe(100);
  });
});

describe("retention by size", () => {
  it("keeps the partition's share in sealed segments, and warns when that is less than one", async () => {
    const node = await TestNode.start();
    node.catalog.policy = { ...node.catalog.policy, maxTopicSizeBytes: 3 * MIB };
    await rotate(node, 21);
    await node.plane.clean();
    expect(segments(node)).toBe(3);
    expect(node.logged.filter(({ level }) => level === "warn")).toEqual([]);
    node.catalog.policy = { ...node.catalog.policy, maxTopicSizeBytes: MIB };
    await node.plane.clean();
    await node.plane.clean();
    expect(segments(node)).toBe(1);
    expect(node.logged.filter(({ level }) => level === "warn")).toHaveLength(1);
  });
});

describe("a stored offset that points to deleted messages", () => {
  it("continues at the oldest message that is kept", async () => {
    const node = await TestNode.start();
    await rotate(node, 10);
    await node.store(consumer, 5).answered;
    node.catalog.put(partition, 41, { truncatedBelow: 80 });
    node.plane.reconcile(partition);
    await node.plane.settled();
    const read = polled(await node.poll({ strategy: next, count: 3, autoCommit: true }).answered);
    expect(read.offsets).toEqual([80, 81, 82]);
    expect(await node.stored(consumer)).toBe(82);
  });

  it("of a partition without any message waits for the next one", async () => {
    const node = await TestNode.start();
    expireAfter(node, second);
    // The fourth batch seals the segment exactly, so that everything can go.
    await rotate(node, 4);
    await node.clock.advance(5_000);
    await node.plane.clean();
    const waiting = node.poll({ strategy: next, wait: { waitMicros: 5 * second } });
    expect(waiting.answer).toBeUndefined();
    expect(confirmed(await node.send({ count: 1 }).answered)).toBe(40);
    expect(polled(await waiting.answered).offsets).toEqual([40]);
  });
});

describe("deleting segments by count", () => {
  it("resolves to the end of the last of them, below the slowest consumer", async () => {
    const node = await TestNode.start();
    await rotate(node, 14);
    const resolve = (count: number) => node.plane.resolveSegments(partition, 41, count);
    expect(resolve(1)).toEqual({ kind: "truncate", throughOffset: 39 });
    expect(resolve(2)).toEqual({ kind: "truncate", throughOffset: 79 });
    expect(resolve(99)).toEqual({ kind: "truncate", throughOffset: 119 });
    await node.store(consumer, 50).answered;
    expect(resolve(99)).toEqual({ kind: "truncate", throughOffset: 39 });
    await node.store(consumer, 5).answered;
    expect(resolve(1)).toEqual({ kind: "truncate", throughOffset: undefined });
  });

  it("is refused for a count of 0, another history, or a partition that is not there", async () => {
    const node = await TestNode.start();
    expect(node.plane.resolveSegments(partition, 41, 0)).toEqual({
      kind: "refused",
      code: ErrorCode.InvalidSegmentsCount,
    });
    expect(node.plane.resolveSegments(partition, 40, 1)).toEqual({
      kind: "refused",
      code: ErrorCode.PartitionHistoryChanged,
    });
    expect(node.plane.resolveSegments({ ...partition, partitionId: 5 }, 41, 1)).toEqual({
      kind: "refused",
      code: ErrorCode.PartitionNotFound,
    });
  });

  it("goes on to where a second request got while the first one is carried out", async () => {
    const node = await TestNode.start();
    await rotate(node, 14);
    for (const truncatedBelow of [40, 120]) {
      node.catalog.put(partition, 41, { truncatedBelow });
      node.plane.reconcile(partition);
    }
    await node.plane.settled();
    expect((await node.offsets())[0]).toBe(120);
  });

  it("is carried out once metadata commits it, also after a restart in between", async () => {
    let node = await TestNode.start();
    await rotate(node, 14);
    node.catalog.put(partition, 41, { truncatedBelow: 80 });
    node = await node.killed();
    await node.plane.settled();
    expect((await node.offsets())[0]).toBe(80);
    expect(polled(await node.poll({ strategy: offsetAt(0), count: 1 }).answered).offsets).toEqual([80]);
  });
});
