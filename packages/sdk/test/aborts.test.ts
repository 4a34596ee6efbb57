import {
  cancelDeferredRequest,
  createStream,
  decodeRequest,
  pollMessagesDeferred,
  sendMessages,
  storeConsumerOffset,
} from "@iggy/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { CommitPolicy, Consumer, Partitioning, PollingStrategy } from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedPartition } from "./support/poll-replies.js";
import { type Received, ScriptedNode } from "./support/scripted-node.js";

let node: ScriptedNode;
let network: MemoryNetwork;
let client: ClientCore;
let held: Received[];
let heldCode: number;
let partition: ScriptedPartition;

beforeEach(async () => {
  held = [];
  heldCode = pollMessagesDeferred.code;
  partition = new ScriptedPartition();
  partition.appendTexts("a");
  node = new ScriptedNode((received) => {
    if (received.code === heldCode) held.push(received);
    else node.answer(received);
  });
  network = new MemoryNetwork(node);
  client = network.client();
  await client.connect();
  await client.cluster.getRoute({ streamId: 1, topicId: 1, partitionId: 0 });
});

afterEach(async () => {
  vi.useRealTimers();
  await client.destroy();
});

const target = { streamId: 1, topicId: 1, partitionId: 0, consumer: Consumer.Named(1) };
const poll = (signal: AbortSignal, commit: CommitPolicy = CommitPolicy.Manual) =>
  client.message.poll(
    { ...target, pollingStrategy: PollingStrategy.Next, options: { maxWait: 60_000, commit } },
    { signal },
  );
const aborted = (signal: AbortSignal) => expect.objectContaining({ name: (signal.reason as Error).name }) as unknown;
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

test("an aborted poll rejects with the reason at once and is cancelled under its own number", async () => {
  const abort = new AbortController();
  const call = poll(abort.signal);
  await node.until(pollMessagesDeferred, 1);
  const reason = new Error("enough");
  abort.abort(reason);
  await expect(call).rejects.toBe(reason);
  const [cancel] = await node.until(cancelDeferredRequest, 1);
  const [original] = node.of(pollMessagesDeferred);
  expect(cancel?.frame).toHaveLength(256);
  expect(cancel?.request).toBe(original?.request);
  expect(cancel?.header.client).toBe(original?.header.client);
  expect(cancel?.header.session).toBe(original?.header.session);
  expect(cancel?.header.partitionIncarnation).toBe(0);
  // The late answer is nobody's; the progress of the partition is free.
  if (original !== undefined) node.refuse(original, 58);
  heldCode = -1;
  await expect(client.offset.store({ ...target, offset: 0 })).resolves.toBe(true);
  expect(client.operation.list()).toEqual([]);
});

test("a poll that was aborted before it left sends nothing", async () => {
  const before = node.received.length;
  await expect(poll(AbortSignal.abort())).rejects.toEqual(aborted(AbortSignal.abort()));
  await turn();
  expect(node.received).toHaveLength(before);
});

test("a poll that is aborted while it waits for its turn sends nothing", async () => {
  const first = new AbortController();
  const running = poll(first.signal).catch(() => undefined);
  await node.until(pollMessagesDeferred, 1);
  const second = new AbortController();
  const waiting = poll(second.signal);
  await turn();
  second.abort();
  await expect(waiting).rejects.toEqual(aborted(second.signal));
  expect(node.of(pollMessagesDeferred)).toHaveLength(1);
  expect(node.of(cancelDeferredRequest)).toHaveLength(0);
  first.abort();
  await running;
});

test("an aborted committing poll keeps the progress of its partition until its one reply tells the outcome", async () => {
  const abort = new AbortController();
  const call = poll(abort.signal, CommitPolicy.OnRead);
  await node.until(pollMessagesDeferred, 1);
  abort.abort();
  await expect(call).rejects.toEqual(aborted(abort.signal));
  await node.until(cancelDeferredRequest, 1);
  heldCode = -1;
  let isStored = false;
  const store = client.offset.store({ ...target, offset: 0 }).then(() => (isStored = true));
  await turn();
  expect(isStored).toBe(false);
  const [original] = held;
  if (original !== undefined) node.refuse(original, 58);
  await store;
  expect(node.of(storeConsumerOffset)).toHaveLength(1);
  expect(node.of(pollMessagesDeferred)).toHaveLength(1);
  expect(client.operation.list()).toEqual([]);
});

test("a committing poll without any reply is retained; a late reply settles it", async () => {
  vi.useFakeTimers();
  const call = client.message
    .poll({ ...target, options: { commit: CommitPolicy.OnRead } }, { timeout: 2000 })
    .catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(2500);
  expect(await call).toMatchObject({ code: 14010 });
  expect(client.operation.list()).toHaveLength(1);
  expect(node.of(cancelDeferredRequest)).toHaveLength(1);
  const [original] = held;
  if (original !== undefined) partition.serve(node, original);
  await vi.advanceTimersByTimeAsync(0);
  expect(client.operation.list()).toEqual([]);
});

test("a write that was aborted after it left goes on: its lane is free once it is answered", async () => {
  heldCode = createStream.code;
  const abort = new AbortController();
  const call = client.stream.create({ name: "orders" }, { signal: abort.signal });
  await node.until(createStream, 1);
  abort.abort();
  await expect(call).rejects.toEqual(aborted(abort.signal));
  const next = client.stream.delete({ streamId: 1 });
  await turn();
  expect(node.received.at(-1)?.code).toBe(createStream.code);
  const [original] = held;
  if (original !== undefined) node.reject(original, 1012, { committed: true });
  await expect(next).resolves.toBe(true);
  expect(client.operation.list()).toEqual([]);
});

test("a write that was aborted in its queue is not sent", async () => {
  heldCode = sendMessages.code;
  const send = (signal?: AbortSignal) =>
    client.message.send(
      { streamId: 1, topicId: 1, partition: Partitioning.PartitionId(0), messages: [{ payload: "x" }] },
      signal === undefined ? {} : { signal },
    );
  const first = send();
  await node.until(sendMessages, 1);
  const abort = new AbortController();
  const second = send(abort.signal);
  const third = send();
  await turn();
  abort.abort();
  await expect(second).rejects.toEqual(aborted(abort.signal));
  heldCode = -1;
  for (const received of held) node.answer(received);
  await Promise.all([first, third]);
  expect(node.of(sendMessages)).toHaveLength(2);
});

test("an aborted connect gives up", async () => {
  const other = network.client();
  network.isDown = true;
  const abort = new AbortController();
  const call = other.connect({ signal: abort.signal });
  await turn();
  abort.abort();
  await expect(call).rejects.toEqual(aborted(abort.signal));
  await other.destroy();
});

test("on every retry a waiting read asks for what is left of its wait and time", async () => {
  vi.useFakeTimers();
  heldCode = -1;
  let refusals = 2;
  node.handler = (received) => {
    if (received.code === pollMessagesDeferred.code && refusals-- > 0) node.refuse(received, 58);
    else if (received.code === pollMessagesDeferred.code) partition.serve(node, received);
    else node.answer(received);
  };
  const other = network.client({ random: () => 1 });
  const call = other.message.poll({ ...target, pollingStrategy: PollingStrategy.First, options: { maxWait: 1000 } });
  await vi.advanceTimersByTimeAsync(1000);
  await call;
  const times = node
    .of(pollMessagesDeferred)
    .map(({ body }) => decodeRequest(pollMessagesDeferred, body))
    .map(({ waitUs, requestTimeoutUs }) => [waitUs / 1000n, requestTimeoutUs / 1000n]);
  expect(times).toEqual([
    [1000n, 11_000n],
    [950n, 10_950n],
    [850n, 10_850n],
  ]);
  await other.destroy();
});
