import { decodeRequest, forEachMessage, MessageCursor, sendMessages } from "@iggy/protocol";
import { afterEach, expect, test, vi } from "vitest";
import type { ClientCore } from "../../src/client/client.js";
import {
  Aes256GcmEncryptor,
  type CreateMessage,
  IggyError,
  jsonPayload,
  Partitioning,
  ProducerClosedError,
  type ProducerOptions,
  type SendFailure,
} from "../../src/index.js";
import { MemoryNetwork } from "../support/memory-network.js";
import { ScriptedBroker } from "../support/scripted-broker.js";
import type { Received } from "../support/scripted-node.js";

let clients: ClientCore[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(clients.map((client) => client.destroy()));
  clients = [];
});

function setUp(partitionsCount = 1, config: Parameters<MemoryNetwork["client"]>[0] = {}) {
  const node = new ScriptedBroker(partitionsCount);
  const client = new MemoryNetwork(node).client(config);
  clients.push(client);
  return { node, client };
}

const background = { streamId: "s", topicId: "t", mode: "background" } as const;
const texts = (count: number, prefix = "m"): CreateMessage[] =>
  Array.from({ length: count }, (_, i) => ({ payload: `${prefix}${String(i)}` }));

interface SentRequest {
  readonly partitionId: number;
  readonly payloads: readonly string[];
}

function requestOf({ body }: Received): SentRequest {
  const { partitioning, batch } = decodeRequest(sendMessages, body);
  const payloads: string[] = [];
  const cursor = new MessageCursor().records(batch);
  while (cursor.next()) payloads.push(new TextDecoder().decode(cursor.payload));
  return { partitionId: partitioning.kind === "partition_id" ? partitioning.partitionId : -1, payloads };
}

const requestsOf = (node: ScriptedBroker): readonly SentRequest[] => node.of(sendMessages).map(requestOf);

/** Holds the sends of a node back until they are let go. */
function holdSends(node: ScriptedBroker): { readonly held: Received[]; letGo(): void } {
  const held: Received[] = [];
  let isHolding = true;
  node.handler = (received) => {
    if (isHolding && received.code === sendMessages.code) held.push(received);
    else node.serve(received);
  };
  return {
    held,
    letGo: () => {
      isHolding = false;
      for (const received of held.splice(0)) node.serve(received);
    },
  };
}

test("a send resolves when it is queued, without confirmations", async () => {
  const { node, client } = setUp();
  const sends = holdSends(node);
  const producer = client.producer({ ...background, linger: 0 });
  await expect(producer.send(texts(3))).resolves.toEqual({ confirmations: [] });
  await node.until(sendMessages, 1);
  sends.letGo();
  await producer.flush();
  expect(requestsOf(node)).toEqual([{ partitionId: 0, payloads: ["m0", "m1", "m2"] }]);
});

test("sends that wait together leave in one request, each partition in one of its own", async () => {
  const { node, client } = setUp(3);
  const producer = client.producer({ ...background, linger: "1h" });
  await producer.init();
  for (let i = 0; i < 12; i++) {
    await producer.sendOne({ payload: `m${String(i)}` }, { partitioning: Partitioning.PartitionId(i % 3) });
  }
  await producer.flush();
  expect(requestsOf(node)).toEqual([
    { partitionId: 0, payloads: ["m0", "m3", "m6", "m9"] },
    { partitionId: 1, payloads: ["m1", "m4", "m7", "m10"] },
    { partitionId: 2, payloads: ["m2", "m5", "m8", "m11"] },
  ]);
});

test("keys that share a partition share its request", async () => {
  const { node, client } = setUp(3);
  const producer = client.producer({ ...background, linger: "1h" });
  await client.cluster.getRoute({ streamId: "s", topicId: "t", partitionId: 0 });
  await producer.init();
  for (const key of ["user-123", "a", "user-123", "b", "c"]) {
    await producer.sendOne({ payload: key }, { partitioning: Partitioning.MessageKey(key) });
  }
  await producer.flush();
  const requests = requestsOf(node);
  expect(new Set(requests.map(({ partitionId }) => partitionId)).size).toBe(requests.length);
  expect(requests.find(({ partitionId }) => partitionId === 1)?.payloads.slice(0, 1)).toEqual(["user-123"]);
  expect(requests.flatMap(({ payloads }) => payloads).sort()).toEqual(["a", "b", "c", "user-123", "user-123"]);
});

test("the wait ends after linger, on the clock", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...background, linger: 500 });
  await producer.init();
  await client.cluster.getRoute({ streamId: "s", topicId: "t", partitionId: 0 });
  vi.useFakeTimers();
  await producer.send(texts(1));
  await vi.advanceTimersByTimeAsync(499);
  expect(node.of(sendMessages)).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(2);
  expect(node.of(sendMessages)).toHaveLength(1);
});

test.each([
  ["sends", { batchLength: 3 } as const, 3],
  ["bytes", { batchSize: 3 * 50 } as const, 3],
])("the wait ends when the %s of a batch are there", async (_what, limit, count) => {
  const { node, client } = setUp();
  const producer = client.producer({ ...background, linger: "1h", ...limit });
  await producer.init();
  for (let i = 0; i < count; i++) {
    expect(node.of(sendMessages)).toHaveLength(0);
    await producer.send({ payload: "mm" });
  }
  await node.until(sendMessages, 1);
  expect(requestsOf(node)[0]?.payloads).toHaveLength(count);
  await producer.close();
});

test("what comes while a request is on the way leaves with the next one", async () => {
  const { node, client } = setUp();
  const sends = holdSends(node);
  const producer = client.producer({ ...background, linger: 0 });
  await producer.init();
  for (let i = 0; i < 50; i++) void producer.send({ payload: `m${String(i)}` });
  await node.until(sendMessages, 1);
  sends.letGo();
  await producer.flush();
  expect(requestsOf(node).map(({ payloads }) => payloads.length)).toEqual([1, 49]);
  expect(requestsOf(node).flatMap(({ payloads }) => payloads)).toEqual(texts(50).map(({ payload }) => payload));
});

test("bytes are copied before a send resolves, so a caller may use its buffer again", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...background, linger: "1h" });
  await producer.init();
  const buffer = new Uint8Array(1);
  for (const letter of "abc") {
    buffer[0] = letter.charCodeAt(0);
    await producer.send({ payload: buffer });
  }
  await producer.flush();
  expect(requestsOf(node)[0]?.payloads).toEqual(["a", "b", "c"]);
});

test("every message has an id, and the ones that were given are kept", async () => {
  const { node, client } = setUp();
  const producer = client.producer(background);
  await producer.send([{ payload: "a" }, { payload: "b" }, { payload: "c", id: 7n }]);
  await producer.flush();
  const ids: bigint[] = [];
  for (const { bytes } of node.partitions[0]?.batches ?? []) forEachMessage(bytes, ({ id }) => ids.push(id));
  expect(new Set(ids).size).toBe(3);
  expect(ids[2]).toBe(7n);
  expect(ids.every((id) => id !== 0n)).toBe(true);
});

test("times that do not fit one batch leave in several, and disturb nobody", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...background, linger: "1h" });
  await producer.init();
  await producer.send({ payload: "a", originTimestamp: 1_000_000n });
  await producer.send({ payload: "b", originTimestamp: 1_000_000n + 0xffff_ffffn });
  await producer.send({ payload: "c", originTimestamp: 999_999n });
  await producer.flush();
  expect(requestsOf(node).map(({ payloads }) => payloads)).toEqual([["a", "b"], ["c"]]);
});

test("a failed request is told once, with its messages as they were sent", async () => {
  const { node, client } = setUp();
  node.handler = (received) => {
    if (received.code === sendMessages.code && requestOf(received).payloads.includes("bad")) node.refuse(received, 41);
    else node.serve(received);
  };
  const failures: SendFailure[] = [];
  const producer = client.producer({ ...background, linger: 0, onError: (failure) => void failures.push(failure) });
  await producer.init();
  await producer.send([{ payload: "bad", headers: { kind: "test" }, id: 5n }, { payload: "worse" }]);
  await producer.send({ payload: "good" });
  await producer.flush();
  expect(failures).toHaveLength(1);
  const [failure] = failures;
  expect(failure).toMatchObject({
    streamId: "s",
    topicId: "t",
    error: { code: 4056, uncertain: 0, cause: { code: 41 } },
  });
  const failed = failure?.error.failed ?? [];
  expect(failed.map(({ payload }) => new TextDecoder().decode(payload as Uint8Array))).toEqual(["bad", "worse"]);
  expect(failed[0]?.id).toBe(5n);
  // They can be sent as they are.
  node.handler = (received) => node.serve(received);
  await producer.send(failed);
  await producer.flush();
  expect(requestsOf(node).at(-1)?.payloads).toEqual(["bad", "worse"]);
});

test("without a callback a failure is an error event of the client", async () => {
  const { node, client } = setUp();
  node.handler = (received) => {
    if (received.code === sendMessages.code) node.refuse(received, 41);
    else node.serve(received);
  };
  const errors: unknown[] = [];
  client.on("error", ({ error }) => errors.push(error));
  const producer = client.producer(background);
  await producer.send(texts(2));
  await producer.flush();
  expect(errors).toMatchObject([{ code: 4056 }]);
});

test("callbacks run one at a time; what one throws is an error event and stops nobody", async () => {
  const { node, client } = setUp();
  node.handler = (received) => {
    if (received.code === sendMessages.code) node.refuse(received, 41);
    else node.serve(received);
  };
  const errors: unknown[] = [];
  client.on("error", ({ error }) => errors.push(error));
  let running = 0;
  let most = 0;
  let calls = 0;
  const producer = client.producer({
    ...background,
    linger: 0,
    numShards: 4,
    sharding: "balanced",
    maxInFlight: 4,
    onError: async () => {
      calls++;
      running++;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      throw new Error(`callback ${String(calls)}`);
    },
  });
  await producer.init();
  for (let i = 0; i < 4; i++) await producer.send(texts(1));
  await producer.close();
  expect([calls, most, running]).toEqual([4, 1, 0]);
  expect(errors).toHaveLength(4);
});

test("a callback may send again and wait for it, even when the buffer is full", async () => {
  const { node, client } = setUp();
  let refusals = 1;
  node.handler = (received) => {
    if (received.code === sendMessages.code && refusals-- > 0) node.refuse(received, 41);
    else node.serve(received);
  };
  const producer = client.producer({
    ...background,
    linger: 0,
    maxBufferSize: 60,
    onError: async ({ error }) => {
      await producer.send(error.failed);
    },
  });
  await producer.init();
  await producer.send({ payload: "first" });
  await producer.send({ payload: "second" });
  await producer.flush();
  await producer.flush();
  expect(node.partitions[0]?.next).toBe(2);
});

test("a request of unknown outcome says so, and is resolved before the next one", async () => {
  const { node, client } = setUp();
  let lost: Received | undefined;
  node.handler = (received) => {
    if (received.code === sendMessages.code && lost === undefined) lost = received;
    else node.serve(received);
  };
  const failures: SendFailure[] = [];
  const producer = client.producer({
    ...background,
    timeout: 1000,
    onError: (failure) => void failures.push(failure),
  });
  await producer.init();
  vi.useFakeTimers();
  await producer.send(texts(2));
  const flushed = producer.flush();
  await vi.advanceTimersByTimeAsync(1001);
  await flushed;
  expect(failures).toMatchObject([{ error: { uncertain: 2, cause: { code: 14006 } } }]);
  vi.useRealTimers();
  await producer.send({ payload: "next" });
  await producer.flush();
  expect(node.of(sendMessages)[1]?.frame).toEqual(lost?.frame);
  expect(client.operation.list()).toEqual([]);
});

test("messages that were queued under another sign-in are not sent", async () => {
  const { node, client } = setUp();
  const failures: SendFailure[] = [];
  const producer = client.producer({ ...background, linger: "1h", onError: (failure) => void failures.push(failure) });
  await producer.send(texts(2));
  await client.session.login({ username: "other", password: "other" });
  await producer.flush();
  expect(failures).toMatchObject([{ error: { uncertain: 0, cause: { code: 40 } } }]);
  expect(node.of(sendMessages)).toHaveLength(0);
  await producer.send(texts(1));
  await producer.flush();
  expect(node.of(sendMessages)).toHaveLength(1);
});

const room = 10 * 50;
const message = { payload: "mm" };

test("a full buffer makes sends wait, in order", async () => {
  const { node, client } = setUp();
  const sends = holdSends(node);
  const producer = client.producer({ ...background, linger: 0, maxBufferSize: room });
  await producer.init();
  const done: number[] = [];
  const waits = Array.from({ length: 15 }, async (_, i) => {
    await producer.send({ payload: String.fromCharCode(65 + i) + "m" });
    done.push(i);
  });
  await node.until(sendMessages, 1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  sends.letGo();
  await Promise.all(waits);
  await producer.flush();
  expect(done).toEqual(Array.from({ length: 15 }, (_, i) => i));
  const payloads = requestsOf(node).flatMap(({ payloads }) => payloads);
  expect(payloads).toEqual([...payloads].sort());
  expect(payloads).toHaveLength(15);
});

test("a full buffer fails sends that shall not wait, at once or after their time", async () => {
  const { node, client } = setUp();
  holdSends(node);
  const fill = async (options: Partial<ProducerOptions>) => {
    const producer = client.producer({ ...background, linger: 0, maxBufferSize: room, ...options });
    await producer.init();
    for (let i = 0; i < 10; i++) await producer.send(message);
    return producer;
  };
  const failing = await fill({ onFull: "fail" });
  await expect(failing.send(message)).rejects.toMatchObject({ code: 4055, name: "ProducerError" });
  const patient = await fill({ onFull: { timeout: 20 } });
  await expect(patient.send(message)).rejects.toMatchObject({ code: 4052, name: "ProducerError" });
  const blocked = await fill({});
  const stop = new AbortController();
  const send = blocked.send(message, { signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(send).rejects.toThrow("enough");
});

test("a send above the whole buffer fails, whatever else; without a bound nothing does", async () => {
  const { client } = setUp();
  const bounded = client.producer({ ...background, maxBufferSize: room });
  await expect(bounded.send(texts(100))).rejects.toMatchObject({
    code: 4055,
    message: expect.stringContaining("maxBufferSize") as string,
  });
  const unbounded = client.producer({ ...background, maxBufferSize: 0 });
  await unbounded.send(texts(5000));
  await unbounded.close();
});

test("sends that nobody waits for are refused once too many wait: the buffer of a stopped server stays bounded", async () => {
  const { node, client } = setUp();
  const sends = holdSends(node);
  const producer = client.producer({ ...background, linger: 0, maxBufferSize: room });
  await producer.init();
  const outcomes: (number | "queued")[] = [];
  const settled = Array.from({ length: 500 }, () =>
    producer.send(message).then(
      () => outcomes.push("queued"),
      (error: unknown) => outcomes.push(IggyError.is(error) ? error.code : 0),
    ),
  );
  await node.until(sendMessages, 1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  // 10 have room, 40 wait, 450 were told at once.
  expect(outcomes.filter((outcome) => outcome === 4055)).toHaveLength(450);
  expect(outcomes.filter((outcome) => outcome === "queued")).toHaveLength(10);
  sends.letGo();
  await Promise.all(settled);
  await producer.close();
  expect(outcomes.filter((outcome) => outcome === "queued")).toHaveLength(50);
  expect(node.partitions[0]?.next).toBe(50);
});

test("closing sends what is queued, waits for it and for the callbacks, and refuses the rest", async () => {
  const { node, client } = setUp();
  let told = false;
  node.handler = (received) => {
    if (received.code === sendMessages.code && requestOf(received).payloads.includes("bad")) node.refuse(received, 41);
    else node.serve(received);
  };
  const producer = client.producer({
    ...background,
    linger: "1h",
    onError: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      told = true;
    },
  });
  void producer.send(texts(20));
  void producer.send({ payload: "bad" }, { partitioning: Partitioning.PartitionId(0) });
  const closing = producer.close();
  await expect(producer.send(texts(1))).rejects.toBeInstanceOf(ProducerClosedError);
  await closing;
  expect(node.partitions[0]?.next).toBe(20);
  expect(told).toBe(true);
});

test("closing the client flushes its producers; ending it tells what was not sent", async () => {
  const first = setUp();
  await first.client.producer({ ...background, linger: "1h" }).send(texts(5));
  await first.client.close();
  expect(first.node.partitions[0]?.next).toBe(5);
  const second = setUp();
  const failures: SendFailure[] = [];
  const producer = second.client.producer({
    ...background,
    linger: "1h",
    onError: (failure) => void failures.push(failure),
  });
  await producer.send(texts(5));
  await second.client.destroy();
  await producer.flush();
  expect(failures).toMatchObject([{ error: { cause: { code: 4057 } } }]);
  expect(failures[0]?.error.failed).toHaveLength(5);
});

test("requests on the way at once: one per queue, and no more than allowed over all", async () => {
  const { node, client } = setUp(8);
  const sends = holdSends(node);
  const send = async (options: Partial<ProducerOptions>) => {
    const producer = client.producer({ ...background, linger: 0, ...options });
    await producer.init();
    for (let i = 0; i < 8; i++) {
      await producer.sendOne({ payload: "m" }, { partitioning: Partitioning.PartitionId(i) });
    }
    await node.until(sendMessages, 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    const { length } = sends.held;
    sends.letGo();
    await producer.close();
    return length;
  };
  expect(await send({ maxInFlight: 8 })).toBe(1);
  const other = setUp(8);
  const otherSends = holdSends(other.node);
  const producer = other.client.producer({
    ...background,
    linger: 0,
    numShards: 8,
    sharding: "partition",
    maxInFlight: 3,
  });
  await producer.init();
  for (let i = 0; i < 8; i++) {
    await producer.sendOne({ payload: "m" }, { partitioning: Partitioning.PartitionId(i) });
  }
  await other.node.until(sendMessages, 3);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(otherSends.held).toHaveLength(3);
  otherSends.letGo();
  await producer.close();
  expect(other.node.of(sendMessages)).toHaveLength(8);
});

test("a function chooses the queue, and a wrong answer is the error of that send", async () => {
  const { client } = setUp(2);
  const seen: unknown[] = [];
  const producer = client.producer({
    ...background,
    numShards: 2,
    sharding: (send) => {
      seen.push(send);
      return send.partitionId ?? -1;
    },
  });
  await producer.send(texts(1), { partitioning: Partitioning.PartitionId(1) });
  expect(seen).toEqual([{ streamId: "s", topicId: "t", partitionId: 1 }]);
  await expect(producer.send(texts(1))).rejects.toThrow(/sharding/);
  await producer.close();
});

test("a slow codec, a slow cipher and a slow partitioner change no order", async () => {
  const { node, client } = setUp(1);
  let delay = 8;
  const slowly = async <T>(value: T): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, (delay = (delay * 5) % 9)));
    return value;
  };
  const producer = client.producer({
    ...background,
    payload: { encode: (value: number) => slowly(`v${String(value)}`), decode: () => 0 },
    encryptor: { encrypt: slowly, decrypt: slowly },
    partitioner: () => slowly(0),
  });
  await Promise.all(Array.from({ length: 20 }, (_, i) => producer.sendOne({ payload: i })));
  await producer.close();
  const payloads = requestsOf(node).flatMap((request) => request.payloads);
  expect(payloads).toEqual(Array.from({ length: 20 }, (_, i) => `v${String(i)}`));
});

test("what can not be encoded, encrypted or placed rejects its send alone and gives its room back", async () => {
  const { node, client } = setUp(1);
  const producer = client.producer({
    ...background,
    maxBufferSize: 200,
    payload: jsonPayload(),
    encryptor: {
      encrypt: (data) => {
        if (data.length === 3) throw new Error("no");
        return data;
      },
      decrypt: (data) => data,
    },
    partitioner: ({ messages }) => (messages.length === 2 ? -1 : 0),
  });
  for (let round = 0; round < 5; round++) {
    await expect(producer.send({ payload: 5n })).rejects.toMatchObject({ name: "InvalidPayloadError" });
    await expect(producer.send({ payload: 100 })).rejects.toMatchObject({ code: 71 });
    await expect(producer.send([{ payload: 1 }, { payload: 2 }])).rejects.toBeInstanceOf(RangeError);
  }
  await producer.send({ payload: 7 });
  await producer.close();
  expect(requestsOf(node).map(({ payloads }) => payloads)).toEqual([["7"]]);
});

test("failed messages are the encrypted ones", async () => {
  const encryptor = new Aes256GcmEncryptor(new Uint8Array(32));
  const { node, client } = setUp(1, { encryptor });
  node.handler = (received) => {
    if (received.code === sendMessages.code) node.refuse(received, 41);
    else node.serve(received);
  };
  const failures: SendFailure[] = [];
  const producer = client.producer({ ...background, onError: (failure) => void failures.push(failure) });
  await producer.send({ payload: "secret", headers: { a: "b" } });
  await producer.close();
  const [failed] = failures[0]?.error.failed ?? [];
  expect(new TextDecoder().decode(await encryptor.decrypt(failed?.payload as Uint8Array))).toBe("secret");
  expect(failed?.rawUserHeaders).toHaveLength(28 + 12);
});

test("keys are placed anew when the topic turns out to be smaller", async () => {
  const { node, client } = setUp(4);
  const producer = client.producer({ ...background, linger: "1h" });
  await producer.init();
  await client.cluster.getRoute({ streamId: "s", topicId: "t", partitionId: 0 });
  const keys = Array.from({ length: 20 }, (_, i) => `key-${String(i)}`);
  node.handler = (received) => {
    if (received.code === sendMessages.code && requestOf(received).partitionId >= 2) node.refuse(received, 3007);
    else node.serve(received);
  };
  node.partitions.length = 2;
  node.partitionsCount = 2;
  for (const key of keys) await producer.sendOne({ payload: key }, { partitioning: Partitioning.MessageKey(key) });
  await producer.close();
  const stored = requestsOf(node)
    .filter(({ partitionId }) => partitionId < 2)
    .flatMap(({ payloads }) => payloads);
  expect(stored.sort()).toEqual([...keys].sort());
  expect(node.partitions.reduce((sum, { next }) => sum + next, 0)).toBe(keys.length);
});
