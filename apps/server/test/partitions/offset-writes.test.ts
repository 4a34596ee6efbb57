import { encodeResult, ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { codeOf, consumer, incarnation, partition, polled, settle, TestNode } from "./node.js";

const external = { kind: "external_group", id: 3 } as const;

async function filled(limits = {}): Promise<TestNode> {
  const node = await TestNode.start({ limits });
  await node.send({ count: 10 }).answered;
  return node;
}

describe("an offset store", () => {
  it("is answered as a committed operation with an empty result section", async () => {
    const node = await filled();
    const answer = await node.store(consumer, 4).answered;
    expect(answer).toMatchObject({ kind: "committed", reply: { operation: 161, op: 2 }, body: encodeResult(0) });
    expect(await node.stored(consumer)).toBe(4);
  });

  it.each<[what: string, offset: bigint, sender: object, expected: number]>([
    ["above the current offset", 10n, {}, ErrorCode.InvalidOffset],
    ["of the largest number", 2n ** 64n - 1n, {}, ErrorCode.InvalidOffset],
    ["of another incarnation", 1n, { partitionIncarnation: incarnation + 1 }, ErrorCode.HistoryUnavailable],
    ["of no incarnation", 1n, { partitionIncarnation: 0 }, ErrorCode.HistoryUnavailable],
    ["with an owner generation", 1n, { ownerGeneration: 7 }, ErrorCode.ConsumerGroupPartitionNotOwned],
  ])("%s is refused", async (_what, offset, sender, expected) => {
    const node = await filled();
    expect(codeOf(await node.store(consumer, offset, sender).answered)).toBe(expected);
    expect(await node.stored(consumer)).toBeUndefined();
  });

  it("into an empty partition is refused, but not for an external group", async () => {
    const node = await TestNode.start();
    expect(codeOf(await node.store(consumer, 0).answered)).toBe(ErrorCode.InvalidOffset);
    expect(codeOf(await node.store(external, 5000).answered)).toBe(0);
    expect(await node.stored(external)).toBe(5000);
  });

  it("may move back, and resent gets its first answer though the offset moved on", async () => {
    const node = await filled();
    const first = await node.store(consumer, 8, { request: 600 }).answered;
    await node.store(consumer, 2, { request: 601 }).answered;
    expect(await node.store(consumer, 8, { request: 600 }).answered).toEqual(first);
    expect(await node.stored(consumer)).toBe(2);
  });

  it("above the number of keys is refused, and known keys still move", async () => {
    const node = await filled({ consumerOffsetsMax: 2 });
    for (const id of [1, 2]) await node.store({ kind: "consumer", id }, 0).answered;
    expect(codeOf(await node.store(consumer, 0).answered)).toBe(ErrorCode.TooManyConsumerOffsets);
    expect(codeOf(await node.store({ kind: "consumer", id: 2 }, 5).answered)).toBe(0);
    await node.deleteOffset({ kind: "consumer", id: 1 }).answered;
    expect(codeOf(await node.store(consumer, 0).answered)).toBe(0);
  });

  it("without acknowledgement answers before the journal is synced, and is not marked committed", async () => {
    const node = await TestNode.start();
    node.catalog.policy = { ...node.catalog.policy, persistOffsets: true };
    const other = { ...partition, partitionId: 1 };
    node.catalog.put(other, incarnation);
    node.plane.reconcile();
    await node.plane.settled();
    await node.send({ count: 3 }, {}, other).answered;
    const request = node.request();
    node.plane.storeOffset(request, { address: other, consumer, offset: 1n, ack: "no_ack" });
    expect(request.answer).toMatchObject({ kind: "ok", body: encodeResult(0) });
    await settle();
  });
});

describe("an offset delete", () => {
  it("removes the offset, and is refused when there is none", async () => {
    const node = await filled();
    await node.store(consumer, 4).answered;
    expect(await node.deleteOffset(consumer).answered).toMatchObject({ kind: "committed", body: encodeResult(0) });
    expect(await node.stored(consumer)).toBeUndefined();
    expect(codeOf(await node.deleteOffset(consumer).answered)).toBe(ErrorCode.ConsumerOffsetNotFound);
    const read = polled(await node.poll({ strategy: { kind: "next", value: 0n }, count: 1 }).answered);
    expect(read.offsets).toEqual([0]);
  });

  it("is decided in order: two at once remove one offset", async () => {
    const node = await filled();
    await node.store(consumer, 4).answered;
    const [first, second] = [node.deleteOffset(consumer), node.deleteOffset(consumer)];
    expect(codeOf(await first.answered)).toBe(0);
    expect(codeOf(await second.answered)).toBe(ErrorCode.ConsumerOffsetNotFound);
  });
});

describe("reading an offset", () => {
  it("needs no incarnation, but refuses a wrong one", async () => {
    const node = await filled();
    await node.store(consumer, 4).answered;
    expect(codeOf(await node.getOffset(consumer, { partitionIncarnation: 0 }).answered)).toBe(0);
    const wrong = node.getOffset(consumer, { partitionIncarnation: 1 });
    expect(codeOf(await wrong.answered)).toBe(ErrorCode.HistoryUnavailable);
  });

  it("of a partition that does not exist is refused", async () => {
    const node = await filled();
    node.catalog.drop(partition);
    expect(codeOf(await node.getOffset(consumer, { partitionIncarnation: 0 }).answered)).toBe(
      ErrorCode.PartitionNotFound,
    );
  });
});

describe("stored offsets", () => {
  it("survive a kill, a loss of power after a stop, and a restart", async () => {
    let node = await filled();
    await node.store(consumer, 4).answered;
    await node.store(external, 77).answered;
    await node.store({ kind: "consumer", id: 1 }, 2).answered;
    await node.deleteOffset({ kind: "consumer", id: 1 }).answered;
    node = await node.killed();
    expect([await node.stored(consumer), await node.stored(external)]).toEqual([4, 77]);
    expect(await node.stored({ kind: "consumer", id: 1 })).toBeUndefined();
    node = await node.restarted();
    node = await node.powerLost();
    expect([await node.stored(consumer), await node.stored(external)]).toEqual([4, 77]);
    expect(await node.stored({ kind: "consumer", id: 1 })).toBeUndefined();
  });
});
