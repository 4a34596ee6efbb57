import { ErrorCode } from "@iggy/protocol";
import { MemoryIo } from "@iggy/storage";
import { describe, expect, it } from "vitest";
import { TestCatalog } from "./catalog.js";
import {
  codeOf,
  confirmed,
  consumer,
  fetched,
  incarnation,
  offsetAt,
  partition,
  polled,
  second,
  settle,
  TestNode,
} from "./node.js";

const other = { ...partition, partitionId: 1 };
const files = (node: TestNode) => node.disk.tree("/data/streams");

describe("a partition that metadata has just created", () => {
  it("serves requests that came before it was there, in order", async () => {
    const node = await TestNode.start();
    node.catalog.put(other, 55);
    node.plane.reconcile(other);
    const early = Array.from({ length: 4 }, () => node.send({ count: 1 }, { partitionIncarnation: 55 }, other));
    const fetch = node.fetch([{ partitionId: 1, incarnation: 55 }], { wait: { waitMicros: 5 * second } });
    expect([...early, fetch].map(({ answer }) => answer)).toEqual(Array(5).fill(undefined));
    expect(await Promise.all(early.map(async ({ answered }) => confirmed(await answered)))).toEqual([0, 1, 2, 3]);
    expect(fetched(await fetch.answered)[0]?.offsets[0]).toBe(0);
  });

  it("refuses early requests of another incarnation with 87", async () => {
    const node = await TestNode.start();
    node.catalog.put(other, 55);
    node.plane.reconcile(other);
    const answer = await node.send({ count: 1 }, { partitionIncarnation: 54 }, other).answered;
    expect(codeOf(answer)).toBe(ErrorCode.HistoryUnavailable);
  });

  it("lets a bounded number of requests wait, a bounded number of bytes, and a bounded time", async () => {
    let release: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (release = resolve));
    let isSlow = false;
    const io = new MemoryIo({ latency: () => (isSlow ? opened : Promise.resolve()) });
    const node = await TestNode.start({ io });
    isSlow = true;
    node.catalog.put(other, 55);
    node.plane.reconcile(other);
    const send = (bytes: number) =>
      node.send({ count: 1 }, { partitionIncarnation: 55, body: new Uint8Array(bytes) }, other);
    const first = send(3 * 1024 * 1024);
    expect(codeOf(await send(2 * 1024 * 1024).answered)).toBe(ErrorCode.TransientNotAccepted);
    const many = Array.from({ length: 130 }, () => send(10));
    expect(many.filter(({ answer }) => answer !== undefined)).toHaveLength(3);
    await node.clock.advance(2_999);
    expect(first.answer).toBeUndefined();
    await node.clock.advance(1);
    expect(codeOf(await first.answered)).toBe(ErrorCode.TransientNotAccepted);
    expect(many.every(({ answer }) => codeOf(answer) === ErrorCode.TransientNotAccepted)).toBe(true);
    isSlow = false;
    release();
    await node.plane.settled();
    expect(confirmed(await send(10).answered)).toBe(0);
  });

  it("that this node does not store is refused with 89", async () => {
    const node = await TestNode.start();
    node.catalog.put(other, 55, { members: [1, 2] });
    node.plane.reconcile(other);
    const answer = await node.send({ count: 1 }, { partitionIncarnation: 55 }, other).answered;
    expect(codeOf(answer)).toBe(ErrorCode.NotPrimary);
    expect(node.plane.route(other)).toEqual({ incarnation: 55, view: 0, primaryReplica: 1 });
  });
});

describe("a deleted partition", () => {
  it("answers 87 or 3007 to what comes and what waits, and leaves no file", async () => {
    const node = await TestNode.start();
    await node.send({ count: 1 }).answered;
    const [uncommitted, waiting] = [
      node.send({ count: 1 }),
      node.poll({ strategy: offsetAt(9), wait: { waitMicros: second } }),
    ];
    node.catalog.drop(partition);
    node.plane.reconcile(partition);
    expect(codeOf(await uncommitted.answered)).toBe(ErrorCode.TransientNotCommitted);
    expect(codeOf(await waiting.answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(codeOf(await node.send({ count: 1 }).answered)).toBe(ErrorCode.PartitionNotFound);
    await node.plane.settled();
    expect(files(node)).toEqual([]);
    expect(node.plane.totals()).toMatchObject({ partitionsCount: 0, messagesCount: 0 });
  });

  it("created again under its number begins empty, and never serves requests of the old one", async () => {
    const node = await TestNode.start();
    await node.send({ count: 5 }).answered;
    await node.store(consumer, 3).answered;
    node.catalog.put(partition, 60);
    node.plane.reconcile(partition);
    const [old, early] = [node.send({ count: 1 }), node.poll({}, { partitionIncarnation: 60 })];
    expect(codeOf(await old.answered)).toBe(ErrorCode.HistoryUnavailable);
    // It waits until its predecessor's files are gone.
    expect(polled(await early.answered).offsets).toEqual([]);
    await node.plane.settled();
    const sender = { partitionIncarnation: 60 };
    expect(polled(await node.poll({}, sender).answered).offsets).toEqual([]);
    expect(confirmed(await node.send({ count: 1 }, sender).answered)).toBe(0);
    expect((await node.getOffset(consumer, sender).answered) as object).toMatchObject({
      kind: "ok",
      body: new Uint8Array(0),
    });
  });

  it("is deleted at the next start when the node was killed before", async () => {
    const node = await TestNode.start();
    await node.send({ count: 5 }).answered;
    node.catalog.drop(partition);
    const next = await node.killed();
    expect(files(next)).toEqual([]);
  });

  it("is fenced in its own log first when metadata asks for that, with 88 meanwhile and 87 for good", async () => {
    const node = await TestNode.start();
    await node.send({ count: 1 }).answered;
    const waiting = node.poll({ strategy: offsetAt(9), wait: { waitMicros: 20 * second } });
    node.catalog.put(partition, incarnation, { endingOp: 90 });
    node.plane.reconcile(partition);
    expect(codeOf(await node.send({ count: 1 }).answered)).toBe(ErrorCode.LifecycleBusy);
    expect(codeOf(await waiting.answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(node.ended).toEqual([incarnation]);
    expect(codeOf(await node.send({ count: 1 }).answered)).toBe(ErrorCode.HistoryUnavailable);
    const next = await node.killed();
    expect(codeOf(await next.poll().answered)).toBe(ErrorCode.HistoryUnavailable);
  });
});

describe("facts of a partition", () => {
  it("name its route, its counters and the sums of its topic and stream", async () => {
    const catalog = new TestCatalog();
    catalog.put(partition, incarnation);
    catalog.put(other, incarnation);
    catalog.put({ streamId: 1, topicId: 3, partitionId: 0 }, incarnation);
    const node = await TestNode.start({ catalog });
    await node.send({ count: 3 }).answered;
    await node.send({ count: 4 }, {}, other).answered;
    expect(node.plane.route(partition)).toEqual({ incarnation, view: 0, primaryReplica: 0 });
    expect(node.plane.stats(partition)).toMatchObject({ messagesCount: 3, segmentsCount: 1, currentOffset: 2 });
    expect(node.plane.totals({ streamId: 1, topicId: 2 })).toMatchObject({ partitionsCount: 2, messagesCount: 7 });
    expect(node.plane.totals({ streamId: 1 })).toMatchObject({ partitionsCount: 3, segmentsCount: 3 });
    expect(node.plane.totals({ streamId: 2 })).toMatchObject({ partitionsCount: 0 });
    expect(node.plane.stats({ ...partition, partitionId: 9 })).toBeUndefined();
    expect(node.plane.route({ ...partition, partitionId: 9 })).toBeUndefined();
  });
});

describe("a node that stops", () => {
  it("loses nothing, answers what waits, and takes no more", async () => {
    const node = await TestNode.start({
      limits: { deferredPollMaxPending: 200, deferredPollMaxPendingPerSession: 200 },
    });
    for (let i = 0; i < 20; i++) await node.send({ count: 500 }).answered;
    const polls = Array.from({ length: 100 }, () =>
      node.poll({ strategy: offsetAt(99_999), wait: { waitMicros: 20 * second } }),
    );
    const sends = Array.from({ length: 6 }, () => node.send({ count: 1 }));
    node.plane.drain();
    expect(polls.every(({ answer }) => codeOf(answer) === 58)).toBe(true);
    const codes = await Promise.all(sends.map(async ({ answered }) => codeOf(await answered)));
    expect(codes).toEqual([0, 0, 0, 0, 58, 58]);
    expect(codeOf(await node.send({ count: 1 }).answered)).toBe(58);
    await node.plane.close();
    const next = await TestNode.start({ io: node.disk.losePower(), catalog: node.catalog });
    expect(await next.offsets()).toHaveLength(10_004);
    expect(node.clock.armed).toBe(0);
  });

  it("says which partitions it could not flush, and closes all", async () => {
    const node = await TestNode.start();
    node.catalog.put(other, incarnation);
    node.plane.reconcile();
    await node.plane.settled();
    await node.send({ count: 1 }).answered;
    await node.send({ count: 1 }, {}, other).answered;
    node.disk.fail({ operation: "sync", path: (path) => path.includes("/partitions/0/"), code: "EIO" });
    await expect(node.plane.close()).rejects.toThrow("1 partitions were not closed cleanly");
    const next = await TestNode.start({ io: node.disk.losePower(), catalog: node.catalog });
    expect(polled(await next.poll({ address: other }).answered).offsets).toEqual([0]);
  });

  it("can be stopped twice, and with a partition still being opened", async () => {
    const node = await TestNode.start();
    node.catalog.put(other, 55);
    node.plane.reconcile();
    await node.plane.close();
    await node.plane.close();
    await settle();
  });

  it.each([
    ["opens", "make-directory", (node: TestNode) => node.catalog.put(other, incarnation)],
    ["removes", "remove-directory", (node: TestNode) => node.catalog.drop(partition)],
  ] as const)("%s no partition later that it could not before", async (_what, operation, change) => {
    const node = await TestNode.start();
    await node.send({ count: 1 }).answered;
    const heal = node.disk.fail({ operation, path: (path) => /partitions\/[01]/.test(path), code: "EIO" });
    change(node);
    node.plane.reconcile();
    await node.plane.settled();
    expect(node.logged.some(({ level }) => level === "error")).toBe(true);
    await node.stop();
    heal();
    // Another process may have the directory now.
    const before = node.disk.tree("/data");
    await node.clock.advance(100_000);
    expect(node.disk.tree("/data")).toEqual(before);
    expect(node.clock.armed).toBe(0);
  });

  it("waits for the deletion of segments that is under way", async () => {
    const node = await TestNode.start();
    node.catalog.policy = { ...node.catalog.policy, messageExpiryMicros: 1 };
    for (let i = 0; i < 5; i++) await node.send({ count: 20, payloadBytes: 30_000 }).answered;
    await node.clock.advance(1_000);
    const { disk } = node;
    const remove = disk.remove.bind(disk);
    let removing = 0;
    disk.remove = async (path) => {
      removing++;
      await settle();
      await settle();
      await remove(path);
      removing--;
    };
    void node.plane.clean();
    await settle();
    expect(removing).toBe(1);
    await node.stop();
    expect(removing).toBe(0);
  });
});
