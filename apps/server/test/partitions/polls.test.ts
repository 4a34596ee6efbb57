import { ErrorCode, MAX_RECORD_SIZE, verifyBatch } from "@iggy/protocol";
import { MemoryIo } from "@iggy/storage";
import { describe, expect, it } from "vitest";
import { TestCatalog } from "./catalog.js";
import {
  codeOf,
  confirmed,
  consumer,
  group,
  incarnation,
  next,
  offsetAt,
  partition,
  polled,
  second,
  settle,
  TestNode,
} from "./node.js";

/** A node whose partition holds batches of 10 messages. */
async function filled(batches: number, limits = {}): Promise<TestNode> {
  const node = await TestNode.start({ limits });
  for (let i = 0; i < batches; i++) await node.send({ count: 10, text: `b${String(i)}-` }).answered;
  return node;
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe("a poll", () => {
  it.each([
    ["from an offset", { kind: "offset", value: 15n }, 10, range(15, 25)],
    ["from the first message", { kind: "first", value: 99n }, 3, range(0, 3)],
    ["of the last messages", { kind: "last", value: 0n }, 7, range(23, 30)],
    ["behind the end", { kind: "offset", value: 30n }, 5, []],
    ["far behind the end", { kind: "offset", value: 2n ** 64n - 1n }, 5, []],
    ["of no message", { kind: "offset", value: 0n }, 0, []],
  ] as const)("%s", async (_what, strategy, count, expected) => {
    const node = await filled(3);
    const read = polled(await node.poll({ strategy, count }).answered);
    expect(read.offsets).toEqual(expected);
    expect(read.currentOffset).toBe(29);
  });

  it("of an empty partition is empty, with current offset 0", async () => {
    const node = await TestNode.start();
    for (const kind of ["offset", "timestamp", "first", "last", "next"] as const) {
      const read = polled(await node.poll({ strategy: { kind, value: 5n } }).answered);
      expect(read).toMatchObject({ offsets: [], currentOffset: 0, bytes: 40 });
    }
  });

  it("of slices carries verified records", async () => {
    const node = await filled(2);
    const answer = await node.poll({ strategy: offsetAt(7), count: 6 }).answered;
    if (answer.kind !== "ok") throw new Error("not read");
    const first = verifyBatch(answer.body, 40);
    expect(verifyBatch(answer.body, 40 + first)).toBe(answer.body.length - 40 - first);
    expect(polled(answer).texts).toEqual(["b0-7", "b0-8", "b0-9", "b1-0", "b1-1", "b1-2"]);
  });

  it("stays within its bytes, but gives a first message alone that exceeds them", async () => {
    const node = await TestNode.start();
    await node.send({ count: 4, payloadBytes: 1000 }).answered;
    const limited = polled(await node.poll({ wait: { maxBytes: 3000 } }).answered);
    expect(limited.offsets).toEqual([0, 1]);
    expect(limited.bytes).toBeLessThanOrEqual(3000);
    const tiny = polled(await node.poll({ wait: { maxBytes: 344 } }).answered);
    expect(tiny.offsets).toEqual([0]);
    expect(tiny.bytes).toBeLessThan(MAX_RECORD_SIZE);
  });

  it("is limited by what the node gives at most", async () => {
    const node = await TestNode.start({ limits: { deferredPollMaxReadBytes: 2000 } });
    await node.send({ count: 4, payloadBytes: 500 }).answered;
    expect(polled(await node.poll().answered).offsets).toEqual([0, 1, 2]);
  });

  it("sees only what is committed", async () => {
    const node = await TestNode.start();
    const send = node.send({ count: 1 });
    expect(polled(await node.poll().answered).offsets).toEqual([]);
    await send.answered;
    expect(polled(await node.poll().answered).offsets).toEqual([0]);
  });

  it("of another incarnation, with an owner, or of an external group is refused", async () => {
    const node = await filled(1);
    expect(codeOf(await node.poll({}, { partitionIncarnation: 40 }).answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(codeOf(await node.poll({}, { partitionIncarnation: 0 }).answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(codeOf(await node.poll({}, { ownerGeneration: 1 }).answered)).toBe(5009);
    const external = node.poll({ consumer: { kind: "external_group", id: 1 } });
    expect(codeOf(await external.answered)).toBe(ErrorCode.FeatureUnavailable);
  });
});

describe("a poll by time", () => {
  /** Sends one batch per second; gives their append times. */
  async function timed(limits = {}): Promise<{ node: TestNode; times: number[] }> {
    const node = await TestNode.start({ limits });
    const times: number[] = [];
    for (let i = 0; i < 12; i++) {
      await node.clock.advance(1000);
      await node.send({ count: 10, payloadBytes: 100_000 / 10 }).answered;
      times.push(
        polled(await node.poll({ strategy: { kind: "last", value: 0n }, count: 1 }).answered).timestamps[0] ?? 0,
      );
    }
    return { node, times };
  }

  async function check(node: TestNode, times: readonly number[]): Promise<void> {
    const firstAt = async (micros: number) => {
      const strategy = { kind: "timestamp", value: BigInt(micros) } as const;
      return polled(await node.poll({ strategy, count: 1 }).answered).offsets[0];
    };
    for (const [i, time] of times.entries()) {
      expect(await firstAt(time - 1)).toBe(i * 10);
      expect(await firstAt(time)).toBe(i * 10);
      expect(await firstAt(time + 1)).toBe(i === times.length - 1 ? undefined : (i + 1) * 10);
    }
    expect(await firstAt(0)).toBe(0);
    expect(await firstAt(2 ** 60)).toBeUndefined();
  }

  it("finds the first batch at or after it in memory, on disk, across segments and after a restart", async () => {
    const { node, times } = await timed();
    await check(node, times);
    const small = await node.killed({ residentBytesMax: 1 });
    expect(small.plane.stats(partition)?.segmentsCount).toBeGreaterThan(1);
    await check(small, times);
    await check(await small.restarted({ residentBytesMax: 300_000 }), times);
  });
});

describe("a deferred poll", () => {
  it("answers at once when enough is there, or when it does not wait", async () => {
    const node = await filled(1);
    expect(polled(await node.poll({ wait: { waitMicros: second, minCount: 10 } }).answered).offsets).toEqual(
      range(0, 10),
    );
    expect(polled(await node.poll({ strategy: offsetAt(10), wait: {} }).answered).offsets).toEqual([]);
  });

  it("waits for its messages and is woken by the commit that brings them", async () => {
    const node = await filled(1);
    const poll = node.poll({ strategy: offsetAt(10), wait: { waitMicros: 5 * second, minCount: 3 } });
    await node.send({ count: 2 }).answered;
    await settle();
    expect(poll.answer).toBeUndefined();
    await node.send({ count: 1 }).answered;
    expect(polled(await poll.answered).offsets).toEqual([10, 11, 12]);
  });

  it("is woken when the reply is full, though fewer messages came than wanted", async () => {
    const node = await TestNode.start();
    await node.send({ count: 1, payloadBytes: 1000 }).answered;
    const poll = node.poll({ wait: { waitMicros: 5 * second, minCount: 50, maxBytes: 3900 } });
    await node.send({ count: 1, payloadBytes: 1000 }).answered;
    await settle();
    expect(poll.answer).toBeUndefined();
    await node.send({ count: 1, payloadBytes: 1000 }).answered;
    expect(polled(await poll.answered).offsets).toEqual([0, 1]);
  });

  it("ends its wait with what arrived, or with nothing", async () => {
    const node = await TestNode.start();
    const some = node.poll({ wait: { waitMicros: 5 * second, minCount: 10 } });
    const none = node.poll({ strategy: offsetAt(10), wait: { waitMicros: 5 * second } });
    await node.send({ count: 2 }).answered;
    await node.clock.advance(4_999);
    expect(some.answer).toBeUndefined();
    await node.clock.advance(1);
    expect(polled(await some.answered).offsets).toEqual([0, 1]);
    expect(polled(await none.answered)).toMatchObject({ offsets: [], currentOffset: 1 });
  });

  it("waits no longer than the node allows", async () => {
    const node = await TestNode.start({ limits: { deferredPollMaxWaitMicros: 2 * second } });
    const poll = node.poll({ wait: { waitMicros: 500 * second } });
    await node.clock.advance(2_000);
    expect(polled(await poll.answered).offsets).toEqual([]);
  });

  it("waits for an offset that lies ahead", async () => {
    const node = await TestNode.start();
    const poll = node.poll({ strategy: offsetAt(3), wait: { waitMicros: 5 * second, minCount: 2 } });
    await node.send({ count: 4 }).answered;
    await settle();
    expect(poll.answer).toBeUndefined();
    await node.send({ count: 1 }).answered;
    expect(polled(await poll.answered).offsets).toEqual([3, 4]);
  });

  it("by time waits for the first message that is young enough", async () => {
    const node = await filled(1);
    const value = BigInt(node.clock.nowMicros() + 3 * second);
    const poll = node.poll({ strategy: { kind: "timestamp", value }, wait: { waitMicros: 20 * second } });
    await node.clock.advance(1_000);
    await node.send({ count: 1 }).answered;
    await settle();
    expect(poll.answer).toBeUndefined();
    await node.clock.advance(2_000);
    await node.send({ count: 2 }).answered;
    expect(polled(await poll.answered).offsets).toEqual([11, 12]);
  });

  it("is answered once, also when commit, end of the wait and cancel meet", async () => {
    const node = await TestNode.start();
    const polls = Array.from({ length: 4 }, () => node.poll({ wait: { waitMicros: second } }));
    const send = node.send({ count: 1 });
    polls[0]?.cancel();
    await node.clock.advance(1_000);
    await send.answered;
    for (const poll of polls) poll.cancel();
    await node.clock.advance(10_000);
    expect(polls.every(({ answer }) => answer !== undefined)).toBe(true);
    expect(codeOf(polls[0]?.answer)).toBe(ErrorCode.TransientNotAccepted);
    expect(node.clock.armed).toBe(0);
  });

  it("ends with 58 when it is cancelled, and frees its place", async () => {
    const node = await TestNode.start({ limits: { deferredPollMaxPending: 1, deferredPollMaxPendingPerSession: 1 } });
    const poll = node.poll({ wait: { waitMicros: second } });
    expect(codeOf(await node.poll({ wait: { waitMicros: second } }).answered)).toBe(
      ErrorCode.DeferredPollCapacityExceeded,
    );
    poll.cancel();
    expect(codeOf(await poll.answered)).toBe(ErrorCode.TransientNotAccepted);
    const another = node.poll({ wait: { waitMicros: second } });
    expect(another.answer).toBeUndefined();
    await node.send({ count: 1 }).answered;
    expect(polled(await another.answered).offsets).toEqual([0]);
  });

  it("above the limits of the node or of its session is refused with 90", async () => {
    const node = await TestNode.start();
    const waiting = (client: bigint) => node.poll({ wait: { waitMicros: second } }, { client });
    const first = Array.from({ length: 5 }, () => waiting(1n));
    expect(first.map(({ answer }) => codeOf(answer))).toEqual([undefined, undefined, undefined, undefined, 90]);
    const second_ = Array.from({ length: 5 }, (_, i) => waiting(BigInt(10 + i)));
    expect(second_.map(({ answer }) => codeOf(answer))).toEqual([undefined, undefined, undefined, undefined, 90]);
    await node.clock.advance(1_000);
    expect(waiting(1n).answer).toBeUndefined();
  });

  it("ends when the partition is deleted, its session ends, its right is taken or the node drains", async () => {
    const node = await TestNode.start();
    const waiting = (sender = {}) => node.poll({ wait: { waitMicros: 20 * second } }, sender);
    const [ended, refused] = [waiting({ client: 1n, session: 5 }), waiting({ userId: 66 })];
    node.catalog.deadSessions.add("1/5");
    node.catalog.usersWithoutPoll.add(66);
    await node.send({ count: 1 }).answered;
    expect(codeOf(await ended.answered)).toBe(ErrorCode.StaleClient);
    expect(codeOf(await refused.answered)).toBe(ErrorCode.Unauthorized);
    const deleted = node.poll({ strategy: offsetAt(5), wait: { waitMicros: 20 * second } });
    node.catalog.drop(partition);
    node.plane.reconcile(partition);
    expect(codeOf(await deleted.answered)).toBe(ErrorCode.HistoryUnavailable);
    await node.plane.settled();
    node.catalog.put(partition, 50);
    node.plane.reconcile();
    await node.plane.settled();
    const drained = node.poll({ wait: { waitMicros: 20 * second } }, { partitionIncarnation: 50 });
    node.plane.drain();
    expect(codeOf(await drained.answered)).toBe(ErrorCode.TransientNotAccepted);
  });
});

describe("a poll that commits", () => {
  it("stores the offset of its last message, visible to the next poll at once", async () => {
    const node = await filled(2);
    const poll = () => node.poll({ strategy: next, count: 7, autoCommit: true });
    // Asked in one turn: nothing of the first has been written anywhere yet.
    const answers = [poll(), poll(), poll(), poll()].map(({ answer }) => answer);
    const offsets = answers.map((answer) => (answer === undefined ? undefined : polled(answer).offsets));
    expect(offsets).toEqual([range(0, 7), range(7, 14), range(14, 20), []]);
    expect(await node.stored(consumer)).toBe(19);
    await settle();
    expect(await (await node.killed()).stored(consumer)).toBe(19);
  });

  it("never moves the stored offset back", async () => {
    const node = await filled(2);
    await node.store(consumer, 15).answered;
    polled(await node.poll({ strategy: offsetAt(0), count: 3, autoCommit: true }).answered);
    expect(await node.stored(consumer)).toBe(15);
  });

  it("stores nothing when it returns nothing", async () => {
    const node = await filled(1);
    polled(await node.poll({ strategy: offsetAt(50), autoCommit: true }).answered);
    expect(await node.stored(consumer)).toBeUndefined();
  });

  it("is refused, with nothing stored, when the offset moved since its start was resolved", async () => {
    const node = await TestNode.start();
    const waiting = node.poll({ strategy: next, autoCommit: true, wait: { waitMicros: 20 * second, minCount: 5 } });
    await node.send({ count: 3 }).answered;
    await node.store(consumer, 1).answered;
    await node.send({ count: 3 }).answered;
    expect(codeOf(await waiting.answered)).toBe(ErrorCode.TransientNotAccepted);
    expect(await node.stored(consumer)).toBe(1);
  });

  it("is refused for a new key when no key is free, and gives no messages", async () => {
    const node = await filled(1, { consumerOffsetsMax: 1 });
    await node.store({ kind: "consumer", id: 1 }, 0).answered;
    const answer = await node.poll({ strategy: next, autoCommit: true }).answered;
    expect(codeOf(answer)).toBe(ErrorCode.TooManyConsumerOffsets);
    expect(polled(await node.poll({ strategy: offsetAt(99), autoCommit: true }).answered).offsets).toEqual([]);
  });

  it("is refused with 58 when its store can not be queued", async () => {
    const node = await filled(1);
    for (let i = 0; i < 12; i++) node.send({ count: 1 });
    const answer = await node.poll({ strategy: next, autoCommit: true }).answered;
    expect(codeOf(answer)).toBe(ErrorCode.TransientNotAccepted);
    await settle();
    expect(await node.stored(consumer)).toBeUndefined();
  });

  it("behind full prepares shows its offset while the store waits to be ordered", async () => {
    const node = await filled(1);
    for (let i = 0; i < 6; i++) node.send({ count: 1 });
    expect(polled(await node.poll({ strategy: next, count: 4, autoCommit: true }).answered).offsets).toEqual(
      range(0, 4),
    );
    expect(polled(await node.poll({ strategy: next, count: 2, autoCommit: true }).answered).offsets).toEqual([4, 5]);
    await settle();
    expect(await node.stored(consumer)).toBe(5);
  });

  it("is cancelled without storing anything", async () => {
    const node = await TestNode.start();
    const poll = node.poll({ strategy: next, autoCommit: true, wait: { waitMicros: second } });
    poll.cancel();
    await node.send({ count: 1 }).answered;
    expect(codeOf(await poll.answered)).toBe(58);
    expect(await node.stored(consumer)).toBeUndefined();
  });
});

describe("a poll from the disk", () => {
  const cold = { residentBytesMax: 1 };

  it("gives the same messages as one from memory, every offset once", async () => {
    const node = await TestNode.start({ limits: cold });
    for (let i = 0; i < 40; i++) await node.send({ count: 10, payloadBytes: 9_000 }).answered;
    expect(await node.offsets()).toEqual(range(0, 400));
    expect(node.plane.stats(partition)?.segmentsCount).toBeGreaterThan(3);
  });

  it("is what older messages take when many partitions share the memory", async () => {
    const catalog = new TestCatalog();
    for (let partitionId = 0; partitionId < 10; partitionId++) catalog.put({ ...partition, partitionId }, incarnation);
    const node = await TestNode.start({ catalog, limits: { residentBytesMax: 25_000 } });
    const addresses = range(0, 10).map((partitionId) => ({ ...partition, partitionId }));
    for (const address of addresses) await node.send({ count: 1, payloadBytes: 10_000 }, {}, address).answered;
    node.disk.fail({ operation: "read", code: "EIO" });
    const codes = addresses.map(async (address) => codeOf(await node.poll({ address, count: 1 }).answered));
    expect(await Promise.all(codes)).toEqual([...addresses.slice(2).map(() => ErrorCode.CannotReadMessage), 0, 0]);
  });

  it("ends with 58 when it is cancelled meanwhile, and stores nothing", async () => {
    const node = await filled(3, cold);
    const poll = node.poll({ strategy: next, autoCommit: true });
    expect(poll.answer).toBeUndefined();
    poll.cancel();
    expect(codeOf(await poll.answered)).toBe(58);
    await settle();
    expect(await node.stored(consumer)).toBeUndefined();
  });

  it("is refused with 58 when too many run, and all others are answered", async () => {
    const node = await filled(3, { ...cold, pollCompletionCapacity: 2 });
    const polls = Array.from({ length: 5 }, () => node.poll({ count: 5 }));
    const codes = await Promise.all(polls.map(async ({ answered }) => codeOf(await answered)));
    expect(codes).toEqual([0, 0, 58, 58, 58]);
  });

  it("looks for a time within the same bound", async () => {
    const node = await filled(3, { ...cold, pollCompletionCapacity: 2 });
    const strategy = { kind: "timestamp", value: 1n } as const;
    const polls = Array.from({ length: 5 }, () => node.poll({ strategy, count: 5 }));
    // Before the disk was asked anything.
    expect(polls.map(({ answer }) => codeOf(answer))).toEqual([undefined, undefined, 58, 58, 58]);
    for (const poll of polls.slice(0, 2)) expect(polled(await poll.answered).offsets).toEqual(range(0, 5));
  });

  it("waits for memory that other reads hold", async () => {
    const node = await filled(3, { ...cold, deferredPollMaxReadBytes: 2000, deferredPollMaxInflightBytes: 2000 });
    const polls = Array.from({ length: 4 }, (_, i) => node.poll({ strategy: offsetAt(i), count: 2 }));
    for (const [i, poll] of polls.entries()) expect(polled(await poll.answered).offsets).toEqual([i, i + 1]);
  });

  it.each(["at once", "after a restart"])("counts with the batch that one message takes to read, %s", async (when) => {
    const limits = { ...cold, deferredPollMaxInflightBytes: 150_000 };
    let isHeld = false;
    let started = 0;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const latency = (): Promise<void> => {
      if (!isHeld) return Promise.resolve();
      started++;
      return held;
    };
    let node = await TestNode.start({ io: new MemoryIo({ latency }), limits });
    await node.send({ count: 10, payloadBytes: 10_000 }).answered;
    await node.send({ count: 1 }).answered;
    if (when === "after a restart") node = await node.restarted(limits);
    await node.poll({ strategy: offsetAt(0) }).answered;
    isHeld = true;
    const polls = [3, 4].map((offset) =>
      node.poll({ strategy: offsetAt(offset), count: 1, wait: { maxBytes: 11_000 } }),
    );
    await settle();
    // A reply of a tenth of the batch needs all of it in memory, so there is room for one read.
    expect(started).toBe(1);
    isHeld = false;
    release();
    for (const [i, poll] of polls.entries()) expect(polled(await poll.answered).offsets).toEqual([3 + i]);
  });

  it("reports damage by its checksum, never as an empty success", async () => {
    const node = await filled(1, cold);
    const io = node.disk;
    const file = io.tree("/data/streams").find((path) => path.endsWith(".log")) ?? "";
    const bytes = io.contents(file) ?? new Uint8Array(0);
    bytes[256 + 60] = (bytes[256 + 60] ?? 0) ^ 1;
    io.setContents(file, bytes);
    const answer = await node.poll({ strategy: next, autoCommit: true }).answered;
    expect(codeOf(answer)).toBe(ErrorCode.InvalidMessageChecksum);
    expect(await node.stored(consumer)).toBeUndefined();
    expect(confirmed(await node.send({ count: 1 }).answered)).toBe(10);
  });
});

describe("a group's poll without an owner", () => {
  it("is refused with 5009", async () => {
    const node = await filled(1);
    expect(codeOf(await node.poll({ consumer: group, strategy: next }).answered)).toBe(5009);
  });
});
