import {
  createStream,
  createTopic,
  decodeRequest,
  decodeUserHeaders,
  forEachMessage,
  getTopic,
  sendMessages,
} from "@iggy/protocol";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { inspect } from "node:util";
import { afterEach, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import { ClientCore } from "../src/client/client.js";
import { nodePlatform } from "../src/client/node-platform.js";
import {
  Aes256GcmEncryptor,
  HeaderValue,
  InvalidPayloadError,
  jsonPayload,
  NotFoundError,
  OperationUncertainError,
  Partitioning,
  type Producer,
  ProducerClosedError,
  ProducerSendFailedError,
} from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import type { Received } from "./support/scripted-node.js";
import { ScriptedBroker } from "./support/scripted-broker.js";

let clients: ClientCore[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(clients.map((client) => client.destroy()));
  clients = [];
});

function setUp(partitionsCount = 3, config: Parameters<MemoryNetwork["client"]>[0] = {}) {
  const node = new ScriptedBroker(partitionsCount);
  const client = new MemoryNetwork(node).client(config);
  clients.push(client);
  return { node, client };
}

const texts = (count: number) => Array.from({ length: count }, (_, i) => ({ payload: `m${String(i)}` }));
const sendsOf = (node: ScriptedBroker) =>
  node.of(sendMessages).map(({ body }) => {
    const { partitioning, messagesCount } = decodeRequest(sendMessages, body);
    return [partitioning.kind === "partition_id" ? partitioning.partitionId : -1, messagesCount];
  });

test("a long send is cut into chunks that follow each other over the partitions", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ streamId: "s", topicId: "t", batchLength: 10 });
  const { confirmations } = await producer.send(texts(35));
  expect(sendsOf(node)).toEqual([
    [0, 10],
    [1, 10],
    [2, 10],
    [0, 5],
  ]);
  expect(confirmations.map(({ partitionId, baseOffset }) => [partitionId, baseOffset])).toEqual([
    [0, 0n],
    [1, 0n],
    [2, 0n],
    [0, 10n],
  ]);
});

test("the balanced cursor goes on from send to send, and over a reconnect", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ streamId: "s", topicId: "t" });
  await producer.sendOne({ payload: "a" });
  node.dropAll();
  await producer.send({ payload: "b" });
  await client.message.send({ streamId: "s", topicId: "t", messages: texts(1) });
  expect(sendsOf(node).map(([partition]) => partition)).toEqual([0, 1, 2]);
});

test("keys choose as every client does; a partitioner beats them", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ streamId: "s", topicId: "t" });
  await producer.send(texts(1), { partitioning: Partitioning.MessageKey("user-123") });
  expect(sendsOf(node)).toEqual([[1, 1]]);
  const custom = client.producer({ streamId: "s", topicId: "t", partitioner: ({ messages }) => messages.length - 1 });
  await custom.send(texts(3), { partitioning: Partitioning.PartitionId(0) });
  expect(sendsOf(node).at(-1)).toEqual([2, 3]);
});

test("the first send creates what is missing, once, under the names given", async () => {
  const { node, client } = setUp(1);
  node.streamExists = false;
  node.topicExists = false;
  node.handler = (received) => {
    if (received.code === createStream.code) {
      node.streamExists = true;
      node.reject(received, 1012, { committed: true });
    } else if (received.code === createTopic.code) {
      node.topicExists = true;
      node.reject(received, 2013, { committed: true });
    } else node.serve(received);
  };
  const producer = client.producer({ streamId: "s", topicId: "t", createTopic: { partitionCount: 4 } });
  await Promise.all([producer.send(texts(1)), producer.send(texts(1)), producer.init()]);
  expect(node.of(createStream)).toHaveLength(1);
  const [topic] = node.of(createTopic);
  expect(decodeRequest(createTopic, topic?.body ?? new Uint8Array(0))).toMatchObject({ name: "t", partitionsCount: 4 });
});

test.each([
  [{ streamId: "s", topicId: "t", createStream: false }, 1009],
  [{ streamId: 7, topicId: "t" }, 1009],
] as const)("nothing is created when that is not allowed: %j", async (options, code) => {
  const { node, client } = setUp();
  node.streamExists = false;
  const error = await client
    .producer(options)
    .init()
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ code });
  expect(node.of(createStream)).toHaveLength(0);
});

test("a missing topic by number, or without leave to create it, is an error that may be repeated", async () => {
  const { node, client } = setUp();
  node.topicExists = false;
  const byNumber = client.producer({ streamId: "s", topicId: 7 });
  await expect(byNumber.send(texts(1))).rejects.toMatchObject({ code: 2010 });
  const forbidden = client.producer({ streamId: "s", topicId: "t", createTopic: false });
  await expect(forbidden.init()).rejects.toMatchObject({ code: 2010 });
  node.topicExists = true;
  await expect(forbidden.send(texts(1))).resolves.toMatchObject({ confirmations: [{}] });
  const patient = client.producer({ streamId: "s", topicId: 7, init: { retries: 3, interval: 5 } });
  node.topicExists = false;
  const work = patient.init();
  setTimeout(() => (node.topicExists = true), 8);
  await work;
  expect(node.of(getTopic).length).toBeGreaterThan(3);
});

test("a failed chunk tells what is confirmed, what is not, and what nobody knows", async () => {
  const { node, client } = setUp();
  let sends = 0;
  node.handler = (received) => {
    if (received.code === sendMessages.code && ++sends === 3) node.refuse(received, 41);
    else node.serve(received);
  };
  const producer = client.producer({ streamId: "s", topicId: "t", batchLength: 2 });
  const messages = texts(7);
  const error = await producer.send(messages).catch((e: unknown) => e);
  if (!(error instanceof ProducerSendFailedError)) throw new Error("expected a failed send");
  expect(error.failed).toEqual(messages.slice(4));
  expect(error.uncertain).toBe(0);
  expect(error.committed).toHaveLength(2);
  expect(error).toMatchObject({ code: 4056, streamName: "s", topicName: "t", cause: { code: 41 } });
  for (const shown of [JSON.stringify(error), inspect(error, { depth: 9 })]) expect(shown).not.toContain("m4");
});

test("a chunk of unknown outcome is counted as such, and resolved before the producer's next send", async () => {
  const { node, client } = setUp(1);
  let held: Received | undefined;
  node.handler = (received) => {
    if (received.code === sendMessages.code && held === undefined) held = received;
    else node.serve(received);
  };
  const producer = client.producer({ streamId: "s", topicId: "t" });
  const error = await producer.send(texts(2), { timeout: 50 }).catch((e: unknown) => e);
  if (!(error instanceof ProducerSendFailedError)) throw new Error("expected a failed send");
  expect(error.uncertain).toBe(2);
  expect(error.cause).toBeInstanceOf(OperationUncertainError);
  // Somebody else is blocked; the producer itself sends the frozen frame again first.
  await expect(
    client.message.send({ streamId: "s", topicId: "t", partition: Partitioning.PartitionId(0), messages: texts(1) }),
  ).rejects.toMatchObject({ code: 14007 });
  await producer.send({ payload: "next" });
  const frames = node.of(sendMessages);
  expect(frames).toHaveLength(3);
  expect(frames[1]?.frame).toEqual(frames[0]?.frame);
  expect(client.operation.list()).toEqual([]);
});

test("wrong messages are refused before the first chunk leaves", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ streamId: "s", topicId: "t", batchLength: 1 });
  await expect(producer.send([{ payload: "good" }, { payload: "" }])).rejects.toMatchObject({ code: 4025 });
  expect(node.of(sendMessages)).toHaveLength(0);
  await expect(producer.send([])).resolves.toEqual({ confirmations: [] });
});

test("linger keeps a gap between sends, not between the chunks of one", async () => {
  const { node, client } = setUp();
  const times: number[] = [];
  node.handler = (received) => {
    if (received.code === sendMessages.code) times.push(performance.now());
    node.serve(received);
  };
  const producer = client.producer({ streamId: "s", topicId: "t", linger: 60, batchLength: 1 });
  await producer.init();
  await client.cluster.getRoute({ streamId: "s", topicId: "t", partitionId: 0 });
  vi.useFakeTimers();
  const first = producer.send(texts(3));
  await vi.advanceTimersByTimeAsync(0);
  await first;
  const second = producer.send(texts(1));
  await vi.advanceTimersByTimeAsync(59);
  expect(times).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(2);
  await second;
  const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  expect(gaps).toEqual([0, 0, 60]);
});

test("close waits for what is under way and refuses the rest", async () => {
  const { node, client } = setUp(1);
  let held: Received | undefined;
  node.handler = (received) => {
    if (received.code === sendMessages.code) held = received;
    else node.serve(received);
  };
  const producer = client.producer({ streamId: "s", topicId: "t" });
  const send = producer.send(texts(1));
  await node.until(sendMessages, 1);
  let isClosed = false;
  const closing = producer.close().then(() => (isClosed = true));
  await expect(producer.send(texts(1))).rejects.toBeInstanceOf(ProducerClosedError);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isClosed).toBe(false);
  if (held !== undefined) node.serve(held);
  await send;
  await closing;
});

test("closing the client flushes its producers", async () => {
  const { node, client } = setUp(1);
  const producer = client.producer({ streamId: "s", topicId: "t" });
  const send = producer.send(texts(5));
  await client.close();
  await expect(send).resolves.toMatchObject({ confirmations: [{}] });
  expect(node.partitions[0]?.next).toBe(5);
});

/** Payloads, and raw user headers, of everything that was sent. */
function sentBy(node: ScriptedBroker) {
  const sent: { readonly payload: Uint8Array; readonly userHeaders: Uint8Array }[] = [];
  for (const { body } of node.of(sendMessages)) {
    forEachMessage(decodeRequest(sendMessages, body).batch, ({ payload, userHeaders }) =>
      sent.push({ payload, userHeaders }),
    );
  }
  return sent;
}
const textOf = (payload: Uint8Array): string => new TextDecoder().decode(payload);

test("sends to one partition keep the order of the calls, chunks and slow steps or not", async () => {
  const { node, client } = setUp(1);
  let delay = 7;
  const slowly = async <T>(value: T): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, (delay = (delay * 5) % 8)));
    return value;
  };
  const producer = client.producer({
    streamId: "s",
    topicId: "t",
    batchLength: 2,
    partitioner: () => slowly(0),
    encryptor: { encrypt: slowly, decrypt: slowly },
  });
  await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      producer.send([0, 1, 2, 3, 4].map((part) => ({ payload: `${String(i)}.${String(part)}` }))),
    ),
  );
  const payloads = sentBy(node).map(({ payload }) => textOf(payload));
  expect(payloads).toEqual([...payloads].sort());
  expect(payloads).toHaveLength(50);
});

test("a failed send lets the others pass", async () => {
  const { node, client } = setUp(1);
  const producer = client.producer({ streamId: "s", topicId: "t", partitioning: Partitioning.PartitionId(0) });
  const outcomes = await Promise.allSettled([
    producer.send({ payload: "a" }),
    producer.send({ payload: "" }),
    producer.send({ payload: "b" }, { partitioning: { kind: "wrong" } as unknown as Partitioning }),
    producer.send({ payload: "c" }),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
  expect(sentBy(node).map(({ payload }) => textOf(payload))).toEqual(["a", "c"]);
});

test("a client's encryptor encrypts what is sent, payload and headers apart; a producer may have another, or none", async () => {
  const encryptor = new Aes256GcmEncryptor(new Uint8Array(32).fill(1));
  const { node, client } = setUp(1, { encryptor });
  const message = { payload: "secret", headers: { name: "value" } };
  const place = { streamId: "s", topicId: "t" };
  await client.message.send({ ...place, messages: [message] });
  await client.producer(place).send(message);
  const sent = sentBy(node);
  expect(sent).toHaveLength(2);
  for (const { payload, userHeaders } of sent) {
    expect(textOf(await encryptor.decrypt(payload))).toBe("secret");
    const headers = decodeUserHeaders(await encryptor.decrypt(userHeaders));
    expect([...headers]).toEqual([[HeaderValue.String("name"), HeaderValue.String("value")]]);
  }
  expect(new Set(sent.map(({ payload }) => textOf(payload))).size).toBe(2);
  await client.producer({ ...place, encryptor: false }).send(message);
  expect(textOf(sentBy(node)[2]?.payload ?? new Uint8Array(0))).toBe("secret");
});

test("a partitioner sees what is sent; a failure reports it, and a producer without encryptor may send it", async () => {
  const encryptor = new Aes256GcmEncryptor(new Uint8Array(32).fill(1));
  const { node, client } = setUp(1);
  let refusals = 1;
  node.handler = (received) => {
    if (received.code === sendMessages.code && refusals-- > 0) node.refuse(received, 41);
    else node.serve(received);
  };
  const place = { streamId: "s", topicId: "t" };
  const seen: unknown[] = [];
  const producer = client.producer({ ...place, encryptor, partitioner: ({ messages }) => seen.push(...messages) - 1 });
  const error = await producer.send({ payload: "secret", headers: { a: 1 } }).catch((e: unknown) => e);
  if (!(error instanceof ProducerSendFailedError)) throw new Error("expected a failed send");
  expect(seen).toEqual(error.failed);
  await client.producer(place).send(error.failed as { payload: Uint8Array }[]);
  const [sent] = sentBy(node).slice(-1);
  expect(textOf(await encryptor.decrypt(sent?.payload ?? new Uint8Array(0)))).toBe("secret");
  expect(await encryptor.decrypt(sent?.userHeaders ?? new Uint8Array(0))).toHaveLength(15);
});

test("values are sent through a codec, and a wrong one is refused before anything leaves", async () => {
  const { node, client } = setUp(1);
  const payload = jsonPayload(z.object({ id: z.number() }));
  const producer = client.producer({ streamId: "s", topicId: "t", payload });
  expectTypeOf(producer).toEqualTypeOf<Producer<{ id: number }>>();
  await producer.send([{ payload: { id: 1 } }, { payload: { id: 2 }, headers: { kind: "order" } }]);
  expect(sentBy(node).map((sent) => textOf(sent.payload))).toEqual(['{"id":1}', '{"id":2}']);
  const wrong = producer.send([{ payload: { id: 3 } }, { payload: { id: "4" } as unknown as { id: number } }]);
  await expect(wrong).rejects.toBeInstanceOf(InvalidPayloadError);
  expect(sentBy(node)).toHaveLength(2);
});

test("headers that are encoded already are passed on as they are", async () => {
  const { node, client } = setUp(1);
  const producer = client.producer({ streamId: "s", topicId: "t" });
  const rawUserHeaders = Uint8Array.of(1, 2, 3);
  await producer.send({ payload: "a", rawUserHeaders });
  expect(sentBy(node)[0]?.userHeaders).toEqual(rawUserHeaders);
  await expect(producer.send({ payload: "a", rawUserHeaders, headers: {} })).rejects.toThrow(/both/);
  await expect(producer.send({ payload: "a", rawUserHeaders: "x" as unknown as Uint8Array })).rejects.toThrow(
    TypeError,
  );
});

test("a stream of the web sends what is written to it and is done when it is stored", async () => {
  const { node, client } = setUp(1);
  const producer = client.producer({ streamId: "s", topicId: "t", mode: "background", linger: "1h" });
  const writer = producer.toWritableStream().getWriter();
  await writer.write({ payload: "a" });
  await writer.write([{ payload: "b" }, { payload: "c" }]);
  await writer.close();
  expect(sentBy(node).map(({ payload }) => textOf(payload))).toEqual(["a", "b", "c"]);
  const failing = client.producer({ streamId: "s", topicId: "t" }).toWritableStream().getWriter();
  await expect(failing.write({ payload: "" })).rejects.toMatchObject({ code: 4025 });
});

test("a stream of Node.js does the same; elsewhere it says what to take instead", async () => {
  const { node, client } = setUp(1);
  expect(() => client.producer({ streamId: "s", topicId: "t" }).writable()).toThrow(/toWritableStream/);
  await using real = new ClientCore(
    { credentials: { username: "iggy", password: "iggy" }, heartbeatInterval: 0 },
    { ...nodePlatform, loadTransport: () => Promise.resolve(new MemoryNetwork(node).transport) },
  );
  const producer = real.producer({ streamId: "s", topicId: "t" });
  const messages = ["a", "b", "c"].map((payload) => ({ payload }));
  await pipeline(Readable.from(messages), producer.writable());
  expect(sentBy(node).map(({ payload }) => textOf(payload))).toEqual(["a", "b", "c"]);
  await expect(pipeline(Readable.from([{ payload: "" }]), producer.writable())).rejects.toMatchObject({ code: 4025 });
});

test.each([[null], ["text"], [[null]], [[5]]])("%j is no list of messages", async (messages) => {
  const { client } = setUp(1);
  const producer = client.producer({ streamId: "s", topicId: "t" });
  await expect(producer.send(messages as unknown as { payload: string }[])).rejects.toBeInstanceOf(TypeError);
});
