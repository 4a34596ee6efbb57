import {
  createConsumerGroup,
  deleteSegments,
  getTopic,
  joinConsumerGroup,
  numericId,
  type OptionEntry,
  OptionScope,
  optionString,
  updateResource,
} from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  consumer,
  eventually,
  expiry,
  first,
  freshPartition,
  group,
  maxTopicSize,
  messages,
  next,
  outcome,
  type RawPartition,
  RawSession,
  segmentSize,
  sleep,
} from "../raw-client/index.js";

const MIB = 1024 * 1024;
const SECOND = 1_000_000;
/** A few passes of the cleaner. */
const PASSES_MILLIS = 1000;

let server: RunningServer;
let session: RawSession;

beforeAll(async () => {
  server = await startServer({ config: { "data_maintenance.messages.interval": "200ms" } });
  session = await RawSession.open(server.port);
});
afterAll(async () => {
  await session.close();
  await server.close();
});

const small = (...options: OptionEntry[]): Promise<RawPartition> =>
  freshPartition(session, { options: [segmentSize(MIB), ...options] });

/** One message a batch, four batches a segment. */
async function fill(partition: RawPartition, segments: number, originTimestamp: bigint | number = 1): Promise<void> {
  for (let i = 0; i < 4 * segments; i++) {
    await partition.send([{ payload: Buffer.alloc(270_000, i), originTimestamp }]);
  }
}

async function facts({
  streamId,
  topicId,
}: RawPartition): Promise<{ readonly segments: number; readonly messages: number }> {
  const topic = await session.call(getTopic, { streamId, topicId });
  return { segments: topic?.partitions[0]?.segmentsCount ?? 0, messages: Number(topic?.topic.messagesCount ?? 0) };
}

const firstOffset = async (partition: RawPartition): Promise<number | undefined> =>
  (await partition.poll(first, { count: 1 })).messages[0]?.offset;

const isOneSegment = (partition: RawPartition) => async (): Promise<boolean> => (await facts(partition)).segments === 1;

it("sealed segments past the expiry of their topic go without a restart, whatever was rotated when", async () => {
  const partition = await small(expiry(SECOND));
  await fill(partition, 5);
  const kept = await partition.send(messages(3));
  expect((await facts(partition)).segments).toBe(6);
  await eventually("only the active segment is left", isOneSegment(partition));
  // What is left reads on without a gap, and new messages follow.
  expect(await firstOffset(partition)).toBe(kept);
  expect((await partition.readAll()).map(({ offset }) => offset)).toEqual([kept, kept + 1, kept + 2]);
  expect((await facts(partition)).messages).toBe(3);
  expect(await partition.send(messages(1))).toBe(kept + 3);
});

it("a partition of which nothing is left keeps its place: readers and offsets go on with what comes", async () => {
  const partition = await small(expiry(SECOND));
  // The last batch seals its segment: the active one is empty.
  await fill(partition, 5);
  await eventually("only the active segment is left", isOneSegment(partition));
  expect(await partition.poll(first)).toMatchObject({ currentOffset: 19, messagesCount: 0 });
  expect((await facts(partition)).messages).toBe(0);
  await partition.store(5);
  expect((await partition.poll(next)).messages).toEqual([]);
  const waiting = partition.poll({ kind: "offset", value: 2n }, { waitMillis: 5000 });
  expect(await partition.send(messages(2))).toBe(20);
  expect((await waiting).messages[0]?.offset).toBe(20);
  expect((await partition.poll(next, { autoCommit: true })).messages.map(({ offset }) => offset)).toEqual([20, 21]);
  expect((await partition.stored())?.storedOffset).toBe(21n);
});

it("the active segment stays, however old it is", async () => {
  const partition = await small(expiry(SECOND));
  await partition.send(messages(10));
  await sleep(1000 + PASSES_MILLIS);
  expect(await firstOffset(partition)).toBe(0);
  expect(await partition.send(messages(1))).toBe(10);
  expect(await partition.readAll()).toHaveLength(11);
});

it("an expiry that is set later counts for what is already there and for what comes", async () => {
  const partition = await small();
  await fill(partition, 3);
  await sleep(PASSES_MILLIS);
  expect(await firstOffset(partition)).toBe(0);
  const target = { scope: OptionScope.topic, streamId: partition.streamId, topicId: partition.topicId };
  await session.call(updateResource, { target, reset: [], options: [expiry(SECOND)] });
  await eventually("only the active segment is left", isOneSegment(partition));
  await fill(partition, 3);
  await eventually("only the active segment is left again", isOneSegment(partition));
  await session.call(updateResource, { target, reset: [], options: [optionString("message_expiry", "never_expire")] });
  await fill(partition, 3);
  await sleep(1000 + PASSES_MILLIS);
  expect((await facts(partition)).segments).toBeGreaterThanOrEqual(3);
});

it("age counts from the append, not from what a producer's clock says", async () => {
  const partition = await small(expiry(SECOND));
  const far = 4_102_444_800_000_000n;
  await fill(partition, 1, far);
  await fill(partition, 1, 0);
  await fill(partition, 1, 2n ** 64n - 1n);
  const origins = (await partition.readAll()).map(({ originTimestamp }) => originTimestamp);
  expect(new Set(origins)).toEqual(new Set([far, 0n, 2n ** 64n - 1n]));
  await eventually("only the active segment is left", isOneSegment(partition));
});

it("the size of a topic is held by its oldest sealed segments, a finite one never below one of them", async () => {
  const partition = await small(maxTopicSize(MIB));
  await fill(partition, 2);
  await sleep(PASSES_MILLIS);
  // The budget of a partition is never less than one segment and one largest frame.
  expect(await firstOffset(partition)).toBe(0);
  await using narrow = await startServer({
    config: { "data_maintenance.messages.interval": "200ms", "message_bus.max_message_size": "2 MiB" },
  });
  const other = await RawSession.open(narrow.port);
  const capped = await freshPartition(other, { options: [segmentSize(MIB), maxTopicSize(MIB)] });
  await fill(capped, 8);
  await eventually("the oldest are gone", async () => ((await firstOffset(capped)) ?? 0) > 8);
  const size = (await other.call(getTopic, { streamId: capped.streamId, topicId: capped.topicId }))?.topic.sizeBytes;
  expect(Number(size)).toBeLessThanOrEqual(5 * MIB);
  await other.close();
});

it("what a consumer or a group has not read is kept, until its offset goes on or goes away", async () => {
  const partition = await small(expiry(SECOND));
  const { streamId, topicId } = partition;
  await session.call(createConsumerGroup, { streamId, topicId, name: "slow" });
  await session.call(joinConsumerGroup, { streamId, topicId, groupId: numericId(0) });
  await fill(partition, 4);
  await partition.store(1, consumer(3));
  const polled = await partition.poll(next, { consumer: group(0), count: 7 });
  const ownerGeneration = polled.context.ownerGeneration;
  await partition.store(6, group(0), { ownerGeneration });
  await sleep(1000 + PASSES_MILLIS);
  expect(await firstOffset(partition)).toBe(0);
  await partition.tryDeleteOffset(consumer(3));
  await eventually("the first segment is gone", async () => ((await firstOffset(partition)) ?? 0) > 0);
  await sleep(PASSES_MILLIS);
  expect(await firstOffset(partition)).toBeLessThanOrEqual(7);
  await partition.store(15, group(0), { ownerGeneration });
  await eventually("only the active segment is left", isOneSegment(partition));
});

it("a stored offset whose data is gone goes on with the first message that is left", async () => {
  const partition = await small(expiry(SECOND));
  await fill(partition, 4);
  const kept = await partition.send(messages(2));
  await eventually("only the active segment is left", isOneSegment(partition));
  await partition.store(5);
  const polled = await partition.poll(next, { autoCommit: true });
  expect(polled.messages.map(({ offset }) => offset)).toEqual([kept, kept + 1]);
  expect((await partition.poll(next)).messages).toEqual([]);
  expect((await partition.poll({ kind: "offset", value: 2n })).messages[0]?.offset).toBe(kept);
});

it("deleted segments are gone at once for readers, the active one stays, and offsets go on", async () => {
  const partition = await small();
  const { streamId, topicId } = partition;
  await fill(partition, 4);
  const before = await facts(partition);
  const remove = (segmentsCount: number): Promise<string> =>
    session.try(deleteSegments, { streamId, topicId, partitionId: 0, segmentsCount });
  expect(await remove(1)).toBe("ok");
  await eventually("one segment less", async () => (await facts(partition)).segments === before.segments - 1);
  const kept = (await firstOffset(partition)) ?? 0;
  expect(kept).toBeGreaterThan(0);
  await partition.store(kept + 5, consumer(4));
  // Held by the stored offset: fewer go than asked for.
  expect(await remove(100)).toBe("ok");
  await eventually("what may go is gone", async () => ((await firstOffset(partition)) ?? 0) > kept);
  expect(await firstOffset(partition)).toBeLessThanOrEqual(kept + 6);
  expect(outcome(await partition.tryDeleteOffset(consumer(4)))).toBe("ok");
  expect(await remove(0xffff_ffff)).toBe("ok");
  await eventually("only the active segment is left", isOneSegment(partition));
  expect(await remove(1)).toBe("ok");
  expect(await remove(0)).toBe("status 4030");
  expect(await partition.send(messages(1))).toBe(16);
});
