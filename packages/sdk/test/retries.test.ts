import {
  createStream,
  ErrorCode,
  getClusterMetadata,
  getPartitionRoute,
  getStream,
  getTopic,
  pollMessagesDeferred,
  sendMessages,
} from "@iggy/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  FetchProgressUncertainError,
  LaneBlockedError,
  NotFoundError,
  OperationUncertainError,
  Partitioning,
  PartitionHistoryError,
  TimeoutError,
  TransientError,
  TransientNotCommittedError,
} from "../src/index.js";
import { CommitPolicy, Consumer, PollingStrategy } from "../src/index.js";
import type { ClientCore } from "../src/client/client.js";
import { hexOf } from "./support/captures.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { type Received, ScriptedNode } from "./support/scripted-node.js";

/*
 * Which refusal leads to what, with the pauses at their full length: the random source answers 1, so pause n is 50 ms doubled
 * n times, at most 1 s.
 */

let node: ScriptedNode;
let network: MemoryNetwork;
let client: ClientCore;
/** Answers of one command, in order; then the node answers as a healthy one. */
let script: ((received: Received) => void)[];
let scripted: { readonly code: number };

beforeEach(async () => {
  vi.useFakeTimers();
  script = [];
  scripted = createStream;
  node = new ScriptedNode((received) => {
    const next = received.code === scripted.code ? script.shift() : undefined;
    if (next === undefined) node.answer(received);
    else next(received);
  });
  network = new MemoryNetwork(node);
  client = network.client({ random: () => 1 });
  await client.connect();
});

afterEach(async () => {
  await client.destroy();
  vi.useRealTimers();
});

const refuse = (code: number) => (received: Received) => node.refuse(received, code);
const send = () =>
  client.message.send({
    streamId: 1,
    topicId: 1,
    partition: Partitioning.PartitionId(0),
    messages: [{ payload: "one", id: 7n, originTimestamp: 1n }],
  });
const create = () => client.stream.create({ name: "orders" });
const sentFrames = (command: { readonly code: number }): string[] => node.of(command).map(({ frame }) => hexOf(frame));

/** Lets everything run that needs no time. */
const settle = () => vi.advanceTimersByTimeAsync(0);

const streamReply = (received: Received): void =>
  node.commit(
    received,
    Uint8Array.from([...new Uint8Array(32), 6, ...new TextEncoder().encode("orders"), ...new Uint8Array(8)]),
  );

test("58 on a metadata write: the same frame again after a pause, with the roster read in between", async () => {
  script = [refuse(58), refuse(58), streamReply];
  const work = create();
  await settle();
  expect(node.of(createStream)).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(49);
  expect(node.of(createStream)).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(node.of(createStream)).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(99);
  expect(node.of(createStream)).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  await expect(work).resolves.toMatchObject({ name: "orders" });
  expect(new Set(sentFrames(createStream)).size).toBe(1);
  expect(node.of(getClusterMetadata).length).toBe(3);
});

test("58 until the deadline ends as a timeout that says that nothing was accepted", async () => {
  script = Array.from({ length: 200 }, () => refuse(58));
  const work = create().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(31_000);
  const error = await work;
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toMatchObject({ code: 58, timeout: 30_000, retryable: true });
  expect(new Set(sentFrames(createStream)).size).toBe(1);
});

test("pauses grow to a second and no further", async () => {
  script = Array.from({ length: 200 }, () => refuse(58));
  const times: number[] = [];
  const started = performance.now();
  script = script.map((step) => (received) => {
    times.push(performance.now() - started);
    step(received);
  });
  const work = create().catch(() => undefined);
  await vi.advanceTimersByTimeAsync(31_000);
  await work;
  const gaps = times.slice(1).map((time, i) => Math.round(time - (times[i] ?? 0)));
  expect(gaps.slice(0, 7)).toEqual([50, 100, 200, 400, 800, 1000, 1000]);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1001);
});

test("89 on a send: a newer route and the same frame at once; a second one in a row pauses first", async () => {
  scripted = sendMessages;
  await send();
  node.received.length = 0;
  const notPrimary = (received: Received): void => {
    node.view++;
    node.refuse(received, 89);
  };
  script = [notPrimary, notPrimary];
  const work = send();
  await settle();
  expect(node.of(sendMessages)).toHaveLength(2);
  expect(node.of(getPartitionRoute)).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(50);
  await work;
  expect(node.of(sendMessages)).toHaveLength(3);
  expect(new Set(sentFrames(sendMessages)).size).toBe(1);
});

test("89 without a newer view anywhere is no reason to hammer the node", async () => {
  scripted = sendMessages;
  await send();
  node.received.length = 0;
  script = Array.from({ length: 500 }, () => refuse(89));
  const work = send().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(await work).toMatchObject({ code: 58 });
  expect(node.of(getPartitionRoute).length).toBeLessThan(50);
});

test("90 on a poll: a pause, the same replica and route, and what is left of the wait", async () => {
  scripted = pollMessagesDeferred;
  script = [refuse(90)];
  const work = client.message
    .poll({
      streamId: 1,
      topicId: 1,
      partitionId: 0,
      consumer: Consumer.Named(1),
      pollingStrategy: PollingStrategy.Offset(0),
      options: { maxWait: 1000 },
    })
    .catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60);
  await work;
  const [first, second] = node.of(pollMessagesDeferred);
  expect(first?.request).toBe(second?.request);
  const waits = node
    .of(pollMessagesDeferred)
    .map(({ body }) => new DataView(body.buffer, body.byteOffset).getBigUint64(body.length - 24, true));
  expect(waits[0]).toBeGreaterThan(waits[1] ?? 0n);
  expect(node.of(getPartitionRoute)).toHaveLength(1);
});

test("90 until the deadline is what the caller gets", async () => {
  scripted = pollMessagesDeferred;
  script = Array.from({ length: 100 }, () => refuse(90));
  const work = client.message
    .poll({
      streamId: 1,
      topicId: 1,
      partitionId: 0,
      consumer: Consumer.Named(1),
      pollingStrategy: PollingStrategy.First,
    })
    .catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(await work).toMatchObject({ code: 90 });
});

test("88 spends the request number: a new operation in the same lane after a pause", async () => {
  script = [refuse(88), streamReply];
  const work = create();
  await vi.advanceTimersByTimeAsync(50);
  await work;
  const [first, second] = node.of(createStream);
  expect(second?.request).toBe((first?.request ?? 0) + 1);
  expect(second?.header.requestChecksum).not.toBe(first?.header.requestChecksum);
});

test("87 on a send without a context of its own: once more with the current history", async () => {
  scripted = sendMessages;
  await send();
  node.received.length = 0;
  script = [
    (received) => {
      node.incarnation = 99n;
      node.refuse(received, 87);
    },
  ];
  await send();
  const [first, second] = node.of(sendMessages);
  expect(first?.header.partitionIncarnation).toBe(41);
  expect(second?.header.partitionIncarnation).toBe(99);
  expect(second?.request).not.toBe(first?.request);
});

test("87 twice is an answer, and so is 87 under a checkpoint", async () => {
  scripted = sendMessages;
  script = [refuse(87), refuse(87)];
  await expect(send()).rejects.toBeInstanceOf(PartitionHistoryError);
  expect(node.of(sendMessages)).toHaveLength(2);
});

test("57 makes a write uncertain: after it only the proof of a commit counts", async () => {
  script = [
    refuse(57),
    // A success without proof, a refusal without proof.
    (received) => node.reply(received, new Uint8Array(4)),
    refuse(58),
    streamReply,
  ];
  const work = create();
  await vi.advanceTimersByTimeAsync(2000);
  await expect(work).resolves.toMatchObject({ name: "orders" });
  expect(node.of(createStream)).toHaveLength(4);
  expect(new Set(sentFrames(createStream)).size).toBe(1);
});

test("a refusal without proof does not clear an uncertain write", async () => {
  script = [refuse(57), refuse(41)];
  const work = create().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(100);
  const error = await work;
  expect(error).toBeInstanceOf(OperationUncertainError);
  expect((error as OperationUncertainError).cause).toMatchObject({ code: 41 });
});

test("a committed refusal settles an uncertain write", async () => {
  script = [refuse(57), (received) => node.reject(received, ErrorCode.StreamNameAlreadyExists, { committed: true })];
  const work = create().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(100);
  expect(await work).toMatchObject({ code: ErrorCode.StreamNameAlreadyExists });
  expect(client.operation.list()).toEqual([]);
});

test("57 until the deadline retains the write and blocks its lane until it is resolved", async () => {
  script = Array.from({ length: 200 }, () => refuse(57));
  const work = create().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(31_000);
  const error = await work;
  if (!(error instanceof OperationUncertainError)) throw new Error("expected an uncertain operation");
  const { operationId } = error;
  expect(client.operation.list()).toMatchObject([{ operationId, code: createStream.code }]);

  const blocked = await client.stream.delete({ streamId: 1 }).catch((failure: unknown) => failure);
  expect(blocked).toBeInstanceOf(LaneBlockedError);
  expect(blocked).toMatchObject({ operationId });
  // A read takes no lane.
  await expect(client.stream.get({ streamId: 1 })).resolves.toBeNull();

  script = [streamReply];
  const frames = sentFrames(createStream).length;
  await expect(client.operation.resolve({ operationId })).resolves.toBe(true);
  expect(sentFrames(createStream).slice(frames)).toEqual(sentFrames(createStream).slice(0, 1));
  await expect(client.operation.resolve({ operationId })).resolves.toBe(true);
  await expect(client.stream.delete({ streamId: 1 })).resolves.toBe(true);
});

test("an abandoned operation frees its lane", async () => {
  script = [refuse(57), refuse(41)];
  const work = create().catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(100);
  const error = await work;
  if (!(error instanceof OperationUncertainError)) throw new Error("expected an uncertain operation");
  await client.operation.abandon({ operationId: error.operationId });
  await expect(client.operation.abandon({ operationId: error.operationId })).rejects.toMatchObject({ code: 14008 });
  await expect(client.stream.delete({ streamId: 1 })).resolves.toBe(true);
});

test("59 and 85 are final, also for an uncertain write, and free the lane", async () => {
  for (const code of [59, 85]) {
    script = [refuse(57), refuse(code)];
    const work = create().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await work).toMatchObject({ code });
    expect(client.operation.list()).toEqual([]);
  }
});

test("a read without a reply ends with 57", async () => {
  scripted = getStream;
  script = [() => undefined];
  const work = client.stream.get({ streamId: 1 }, { timeout: 500 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(600);
  const error = await work;
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toBeInstanceOf(TransientError);
  expect(error).toMatchObject({ code: 57, timeout: 500 });
  expect((error as TimeoutError).cause).toBeInstanceOf(TransientNotCommittedError);
});

test("a read from the stored offset is not sent again after 57", async () => {
  scripted = pollMessagesDeferred;
  script = [refuse(57)];
  const poll = {
    streamId: 1,
    topicId: 1,
    partitionId: 0,
    consumer: Consumer.Named(1),
    pollingStrategy: PollingStrategy.Next,
  };
  await expect(client.message.poll(poll)).rejects.toMatchObject({ code: 57 });
  expect(node.of(pollMessagesDeferred)).toHaveLength(1);
});

test("a committing read with an unknown outcome is never sent again and blocks the partition's progress", async () => {
  scripted = pollMessagesDeferred;
  script = [refuse(57)];
  const poll = {
    streamId: 1,
    topicId: 1,
    partitionId: 0,
    consumer: Consumer.Named(1),
    options: { commit: CommitPolicy.OnRead },
  };
  const error = await client.message.poll(poll).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(FetchProgressUncertainError);
  if (!(error instanceof FetchProgressUncertainError)) return;
  const { operationId } = error;
  await expect(client.message.poll(poll)).rejects.toMatchObject({ code: 14009, operationId, partitionId: 0 });
  const offset = { streamId: 1, topicId: 1, partitionId: 0, consumer: Consumer.Named(1), offset: 1 };
  await expect(client.offset.store(offset)).rejects.toMatchObject({ code: 14009 });
  await expect(client.offset.get(offset)).resolves.toBeNull();
  await expect(client.operation.resolve({ operationId })).rejects.toMatchObject({ code: 14010 });
  await client.operation.abandon({ operationId });
  await expect(client.offset.store(offset)).resolves.toBe(true);
});

test("a refusal that proves that no offset was stored frees a committing read", async () => {
  scripted = pollMessagesDeferred;
  script = [refuse(ErrorCode.TooManyConsumerOffsets)];
  const poll = {
    streamId: 1,
    topicId: 1,
    partitionId: 0,
    consumer: Consumer.Named(1),
    options: { commit: CommitPolicy.OnRead },
  };
  await expect(client.message.poll(poll)).rejects.toMatchObject({ code: 3024 });
  expect(client.operation.list()).toEqual([]);
});

test("not found from the only node is final", async () => {
  scripted = sendMessages;
  script = [refuse(ErrorCode.PartitionNotFound)];
  await expect(send()).rejects.toBeInstanceOf(NotFoundError);
  expect(node.of(sendMessages)).toHaveLength(1);
});

test("a balanced send chooses once more when its partition is gone", async () => {
  scripted = sendMessages;
  script = [refuse(ErrorCode.PartitionNotFound)];
  const work = client.message
    .send({ streamId: 1, topicId: 1, messages: [{ payload: "x" }] })
    .catch((error: unknown) => error);
  await settle();
  // The node knows no topic, so the choice ends there; it was asked twice.
  expect(await work).toMatchObject({ code: ErrorCode.TopicIdNotFound });
  expect(node.of(getTopic).length).toBeGreaterThan(0);
});

test("writes of one lane are sent one at a time, in call order; other lanes are not held up", async () => {
  scripted = createStream;
  const waiting: Received[] = [];
  script = [(received) => waiting.push(received), streamReply];
  const first = create();
  const second = create();
  await settle();
  expect(node.of(createStream)).toHaveLength(1);
  await send();
  await expect(client.stream.get({ streamId: 1 })).resolves.toBeNull();
  const [held] = waiting;
  if (held !== undefined) streamReply(held);
  await Promise.all([first, second]);
  expect(node.of(createStream)).toHaveLength(2);
});
