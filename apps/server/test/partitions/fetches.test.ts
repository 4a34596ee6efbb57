import { ErrorCode } from "@iggy/protocol";
import { MemoryIo } from "@iggy/storage";
import type { PartitionAddress } from "../../src/partitions/index.js";
import { describe, expect, it } from "vitest";
import { TestCatalog } from "./catalog.js";
import {
  alice,
  codeOf,
  fetched,
  group,
  incarnation,
  next,
  offsetAt,
  partition,
  second,
  settle,
  TestNode,
} from "./node.js";

const at = (partitionId: number): PartitionAddress => ({ ...partition, partitionId });
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** A topic of four partitions with ten messages of 100 bytes in each of the given ones. */
async function topic(filled: readonly number[], limits = {}, io = new MemoryIo()): Promise<TestNode> {
  const catalog = new TestCatalog();
  for (const partitionId of range(0, 4)) catalog.put(at(partitionId), incarnation);
  const node = await TestNode.start({ catalog, limits, io });
  for (const id of filled) await node.send({ count: 10, payloadBytes: 52 }, {}, at(id)).answered;
  return node;
}

const targets = (...ids: number[]) => ids.map((partitionId) => ({ partitionId }));
const storedNow = (node: TestNode, partitionId: number) => {
  const request = node.request();
  node.plane.getOffset(request, { address: at(partitionId), consumer: { kind: "consumer", id: 9 } });
  const { answer } = request;
  return answer?.kind === "ok" && answer.body.length === 20 ? answer.body[12] : undefined;
};
const stored = async (node: TestNode, partitionId: number) => {
  await settle();
  return storedNow(node, partitionId);
};

describe("a fetch", () => {
  it("reads its partitions in the order of the request, each with its own section", async () => {
    const node = await topic([0, 1]);
    const sections = fetched(
      await node.fetch([{ partitionId: 1, strategy: offsetAt(4) }, { partitionId: 0 }, { partitionId: 2 }]).answered,
    );
    expect(sections).toMatchObject([
      { partitionId: 1, status: 0, offsets: range(4, 10), currentOffset: 9, nextOffset: 10 },
      { partitionId: 0, status: 0, offsets: range(0, 10), currentOffset: 9, nextOffset: 10 },
      { partitionId: 2, status: 0, offsets: [], currentOffset: 0, nextOffset: 0 },
    ]);
  });

  it("tells for a partition that is read up where the next fetch starts", async () => {
    const node = await topic([0]);
    await node.fetch([{ partitionId: 0, strategy: next }], { autoCommit: true }).answered;
    const sections = fetched(await node.fetch([{ partitionId: 0, strategy: next }]).answered);
    expect(sections).toMatchObject([{ offsets: [], currentOffset: 9, nextOffset: 10 }]);
  });

  it("shares one budget of messages among its partitions", async () => {
    const node = await topic([0, 1, 2]);
    const sections = fetched(await node.fetch(targets(0, 1, 2), { count: 14 }).answered);
    expect(sections.map(({ offsets }) => offsets.length)).toEqual([10, 4, 0]);
    expect(sections[2]).toMatchObject({ currentOffset: 9, nextOffset: 0 });
  });

  it("shares one budget of bytes among its partitions, and limits each", async () => {
    const node = await topic([0, 1, 2]);
    const sections = fetched(await node.fetch(targets(0, 1, 2), { wait: { maxBytes: 1500 } }).answered);
    expect(sections.map(({ offsets }) => offsets.length)).toEqual([10, 0, 0]);
    const limited = [
      { partitionId: 0, maxBytes: 600 },
      { partitionId: 1, maxBytes: 800 },
    ];
    const narrow = fetched(await node.fetch(limited, { wait: { maxBytes: 5000 } }).answered);
    expect(narrow.map(({ offsets, bytes }) => [offsets.length, bytes])).toEqual([
      [3, 556],
      [5, 756],
    ]);
  });

  it("reads no partition that the rest of its budget is too small for", async () => {
    const node = await topic([0, 1, 2, 3], { residentBytesMax: 1 });
    // Ten messages of 100 bytes and a header: the first partition leaves room for none, or for less than the second has.
    for (const maxBytes of [1_300, 1_600]) {
      const heal = node.disk.fail({ operation: "read", path: (path) => /partitions\/[23]\//.test(path), code: "EIO" });
      const sections = fetched(await node.fetch(targets(0, 1, 2, 3), { wait: { maxBytes } }).answered);
      expect(sections.map(({ status, offsets }) => [status, offsets.length])).toEqual([
        [0, 10],
        [0, 0],
        [0, 0],
        [0, 0],
      ]);
      heal();
    }
  });

  it("gives a first message above the limits alone, and names the size of later ones", async () => {
    const node = await topic([]);
    for (const id of [0, 1]) await node.send({ count: 2, payloadBytes: 2000 }, {}, at(id)).answered;
    const small = targets(0, 1).map((target) => ({ ...target, maxBytes: 400 }));
    const alone = fetched(await node.fetch(small, { wait: { maxBytes: 400 } }).answered);
    expect(alone).toMatchObject([{ offsets: [0] }, { offsets: [], status: 0, nextOffset: 0 }]);
    const wide = fetched(await node.fetch(small, { wait: { maxBytes: 9000 } }).answered);
    expect(wide).toMatchObject([{ offsets: [0] }, { status: ErrorCode.InvalidSizeBytes }]);
  });

  it("says per partition what is wrong with it", async () => {
    const node = await topic([0]);
    const sections = fetched(
      await node.fetch([
        { partitionId: 0 },
        { partitionId: 1, incarnation: incarnation + 1 },
        { partitionId: 2, ownerGeneration: 3 },
        { partitionId: 3, incarnation: 0 },
        { partitionId: 9 },
      ]).answered,
    );
    expect(sections.map(({ status }) => status)).toEqual([0, 87, 5009, 87, 3007]);
    expect(sections[0]?.offsets).toEqual(range(0, 10));
    expect(sections[1]).toMatchObject({ currentOffset: 0, nextOffset: 0, bytes: 0 });
  });

  it("of a group reads what its owner owns", async () => {
    const node = await topic([0, 1]);
    await node.own(alice, 50);
    const sections = fetched(
      await node.fetch(
        targets(0, 1).map((target) => ({ ...target, strategy: next })),
        { consumer: group, autoCommit: true },
        alice,
      ).answered,
    );
    expect(sections).toMatchObject([
      { status: 0, offsets: range(0, 10), ownerGeneration: 50 },
      { status: ErrorCode.ConsumerGroupPartitionNotOwned },
    ]);
    expect(await node.stored(group)).toBe(9);
    expect(node.plane.isGroupInFlight(partition, group.id)).toBe(false);
  });

  it("of a group waits for an owner that metadata has decided", async () => {
    const node = await topic([0]);
    node.catalog.decide(partition, { groupId: group.id, ...alice, generation: 50, revoking: false });
    const [fetch, late] = [
      node.fetch(targets(0), { consumer: group }, alice),
      node.fetch(targets(1, 0), { consumer: { ...group, id: 6 } }, alice),
    ];
    expect(fetch.answer).toBeUndefined();
    node.plane.reconcile(partition);
    expect(fetched(await fetch.answered)).toMatchObject([{ status: 0, ownerGeneration: 50 }]);
    expect(fetched(await late.answered).map(({ status }) => status)).toEqual([5009, 5009]);
    node.catalog.decide(partition, { groupId: group.id, ...alice, generation: 70, revoking: false });
    node.catalog.decide(at(1), { groupId: group.id, ...alice, generation: 71, revoking: false });
    const never = node.fetch(targets(0, 1, 2), { consumer: group }, alice);
    await node.clock.advance(2_000);
    expect(never.answer && fetched(never.answer).map(({ status }) => status)).toEqual([58, 58, 5009]);
  });

  it("of an external group is refused", async () => {
    const node = await topic([0]);
    const answer = await node.fetch(targets(0), { consumer: { kind: "external_group", id: 1 } }).answered;
    expect(codeOf(answer)).toBe(ErrorCode.FeatureUnavailable);
  });

  it("reads from the disk in the same order and budget", async () => {
    const node = await topic([0, 1, 2], { residentBytesMax: 1 });
    const sections = fetched(await node.fetch(targets(2, 0, 1), { count: 25, autoCommit: true }).answered);
    expect(sections.map(({ partitionId, offsets }) => [partitionId, offsets.length])).toEqual([
      [2, 10],
      [0, 10],
      [1, 5],
    ]);
    expect([await stored(node, 0), await stored(node, 1), await stored(node, 2)]).toEqual([9, 4, 9]);
  });
});

describe("a fetch that waits", () => {
  const wait = { waitMicros: 20 * second };

  it("is woken by the first partition that gets a message", async () => {
    const node = await topic([]);
    const fetch = node.fetch(targets(0, 1, 2, 3), { wait });
    await settle();
    expect(fetch.answer).toBeUndefined();
    await node.send({ count: 2 }, {}, at(2)).answered;
    expect(fetched(await fetch.answered).map(({ offsets }) => offsets)).toEqual([[], [], [0, 1], []]);
  });

  it("waits until all partitions together hold enough messages", async () => {
    const node = await topic([]);
    const fetch = node.fetch(targets(0, 1, 2), { wait: { ...wait, minCount: 7 } });
    for (const [id, count] of [
      [0, 3],
      [1, 2],
      [0, 1],
    ] as const) {
      await node.send({ count }, {}, at(id)).answered;
      await settle();
      expect(fetch.answer).toBeUndefined();
    }
    await node.send({ count: 1 }, {}, at(2)).answered;
    expect(fetched(await fetch.answered).map(({ offsets }) => offsets.length)).toEqual([4, 2, 1]);
  });

  it("is woken when the reply is full", async () => {
    const node = await topic([]);
    const fetch = node.fetch(targets(0, 1), { wait: { ...wait, minCount: 100, maxBytes: 2000 } });
    await node.send({ count: 1, payloadBytes: 1000 }, {}, at(0)).answered;
    await settle();
    expect(fetch.answer).toBeUndefined();
    await node.send({ count: 1, payloadBytes: 1000 }, {}, at(1)).answered;
    const sections = fetched(await fetch.answered);
    expect(sections.map(({ offsets }) => offsets.length)).toEqual([1, 0]);
  });

  it("ends its wait with what is there", async () => {
    const node = await topic([0]);
    const fetch = node.fetch(targets(0, 1), { wait: { waitMicros: second, minCount: 50 } });
    await settle();
    await node.clock.advance(1_000);
    expect(fetched(await fetch.answered).map(({ offsets }) => offsets.length)).toEqual([10, 0]);
    expect(node.clock.armed).toBe(0);
  });

  it("answers at once when a partition is refused, and when one is lost meanwhile", async () => {
    const node = await topic([0]);
    const refused = node.fetch([{ partitionId: 0, strategy: offsetAt(10) }, { partitionId: 9 }], { wait });
    expect(fetched(await refused.answered).map(({ status }) => status)).toEqual([0, 3007]);
    const lost = node.fetch(targets(1, 2), { wait });
    node.catalog.drop(at(2));
    node.plane.reconcile(partition);
    expect(fetched(await lost.answered).map(({ status }) => status)).toEqual([0, 87]);
  });

  it("takes one place of the waiting reads, and is refused with 90 without one", async () => {
    const node = await topic([], { deferredPollMaxPending: 1, deferredPollMaxPendingPerSession: 1 });
    const first = node.fetch(targets(0, 1, 2, 3), { wait });
    expect(codeOf(await node.fetch(targets(0), { wait }).answered)).toBe(ErrorCode.DeferredPollCapacityExceeded);
    first.cancel();
    expect(codeOf(await first.answered)).toBe(ErrorCode.TransientNotAccepted);
    await node.send({ count: 1 }, {}, at(0)).answered;
    expect(fetched(await node.fetch(targets(0), { wait }).answered)[0]?.offsets).toEqual([0]);
  });

  it("ends with 58 when the node drains, with 30 or 41 when session or right are gone", async () => {
    const node = await topic([]);
    const [ended, refused] = [
      node.fetch(targets(0), { wait }, { client: 1n, session: 5 }),
      node.fetch(targets(0), { wait }, { userId: 66 }),
    ];
    node.catalog.deadSessions.add("1/5");
    node.catalog.usersWithoutPoll.add(66);
    await node.send({ count: 1 }, {}, at(0)).answered;
    expect([codeOf(await ended.answered), codeOf(await refused.answered)]).toEqual([30, 41]);
    const drained = node.fetch(targets(1), { wait });
    node.plane.drain();
    expect(fetched(await drained.answered)[0]?.status).toBe(ErrorCode.TransientNotAccepted);
  });

  it("when cancelled in the middle of reading stores nothing, or answers with what it stored", async () => {
    const node = await topic([0, 1], { residentBytesMax: 1 });
    const cancelled = node.fetch(targets(0, 1), { autoCommit: true });
    cancelled.cancel();
    expect(codeOf(await cancelled.answered)).toBe(ErrorCode.TransientNotAccepted);
    expect([await stored(node, 0), await stored(node, 1)]).toEqual([undefined, undefined]);
  });

  it("gives nothing of a partition that was handed over while another one was read", async () => {
    const node = await topic([0, 1]);
    await node.own(alice, 50);
    node.catalog.decide(at(1), { groupId: group.id, ...alice, generation: 50, revoking: false });
    node.plane.reconcile(partition);
    await node.plane.settled();
    const cold = await node.restarted();
    await cold.send({ count: 1 }, {}, at(1)).answered;
    const ends = [
      { partitionId: 0, strategy: offsetAt(0) },
      { partitionId: 1, strategy: offsetAt(10) },
    ];
    const fetch = cold.fetch(ends, { consumer: group }, alice);
    cold.catalog.decide(at(1), { groupId: group.id, ...alice, generation: 50, revoking: true });
    expect(fetched(await fetch.answered)).toMatchObject([
      { status: 0, offsets: range(0, 10) },
      { status: ErrorCode.ConsumerGroupPartitionNotOwned, offsets: [] },
    ]);
  });

  it("whose wait ends while it reads goes on reading, and loses nothing that it stored", async () => {
    // The disk stands still from the moment at which the first partition is read and stored.
    let isHeld = (): boolean => false;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const io = new MemoryIo({ latency: () => (isHeld() ? held : Promise.resolve()) });
    const node = await topic([0], { residentBytesMax: 1, pollCompletionCapacity: 1 }, io);
    const readers = targets(0, 1).map((target) => ({ ...target, strategy: next }));
    const fetch = node.fetch(readers, { autoCommit: true, wait: { waitMicros: second, minCount: 11 } });
    await settle();
    await node.send({ count: 1 }, {}, at(1)).answered;
    isHeld = () => storedNow(node, 0) !== undefined;
    await settle();
    expect([isHeld(), fetch.answer]).toEqual([true, undefined]);
    await node.clock.advance(1_000);
    release();
    expect(fetched(await fetch.answered)).toMatchObject([
      { status: 0, offsets: range(0, 10) },
      { status: 0, offsets: [0] },
    ]);
    expect([await stored(node, 0), await stored(node, 1)]).toEqual([9, 0]);
  });

  it("counts what comes while it waits, and reads nothing again for it", async () => {
    const node = await topic([0, 1], { residentBytesMax: 1 });
    const fetch = node.fetch(targets(0, 1, 2), { wait: { ...wait, minCount: 25, maxBytes: 100_000 } });
    await settle();
    const heal = node.disk.fail({ operation: "read", code: "EIO" });
    for (let i = 0; i < 4; i++) await node.send({ count: 1 }, {}, at(i % 3)).answered;
    await settle();
    expect(node.logged.filter(({ message }) => message === "a read failed")).toEqual([]);
    heal();
    await node.send({ count: 1 }, {}, at(2)).answered;
    expect(fetched(await fetch.answered).map(({ offsets }) => offsets.length)).toEqual([12, 11, 2]);
  });

  it("is woken when what comes fills the reply beside what was there", async () => {
    const node = await topic([0], { residentBytesMax: 1 });
    const fetch = node.fetch(targets(0, 1), { wait: { ...wait, minCount: 100, maxBytes: 2_500 } });
    await settle();
    await node.send({ count: 1, payloadBytes: 500 }, {}, at(1)).answered;
    await settle();
    expect(fetch.answer).toBeUndefined();
    await node.send({ count: 1, payloadBytes: 500 }, {}, at(1)).answered;
    expect(fetched(await fetch.answered).map(({ offsets }) => offsets.length)).toEqual([10, 1]);
  });

  it("from offsets that are not there yet is woken by the first message that it can give", async () => {
    const node = await topic([]);
    const ahead = [
      { partitionId: 0, strategy: offsetAt(3) },
      { partitionId: 1, strategy: offsetAt(9) },
    ];
    const fetch = node.fetch(ahead, { wait: { ...wait, maxBytes: 400 } });
    await node.send({ count: 3 }, {}, at(0)).answered;
    await settle();
    expect(fetch.answer).toBeUndefined();
    await node.send({ count: 1 }, {}, at(0)).answered;
    expect(fetched(await fetch.answered).map(({ offsets }) => offsets)).toEqual([[3], []]);
  });

  it("hears of a lost partition also while it measures what is there", async () => {
    const node = await topic([0], { residentBytesMax: 1 });
    const fetch = node.fetch(targets(0, 1), { wait: { ...wait, minCount: 50 } });
    node.catalog.drop(at(1));
    node.plane.reconcile(partition);
    expect(fetched(await fetch.answered).map(({ status }) => status)).toEqual([0, 87]);
  });

  it("reads no partition after its time", async () => {
    const node = await topic([0, 1]);
    const late = node.fetch(targets(0, 1), { wait: { requestTimeoutMicros: 1_000 } });
    expect(fetched(await late.answered)).toEqual([]);
  });
});
