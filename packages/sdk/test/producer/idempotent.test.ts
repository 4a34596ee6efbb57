import { bindSession, sendMessages } from "@iggy/protocol";
import { afterEach, expect, test, vi } from "vitest";
import type { ClientCore } from "../../src/client/client.js";
import {
  type IdempotentOptions,
  IggyError,
  Partitioning,
  type ProducerIdentity,
  ProducerSendFailedError,
  type SendResult,
} from "../../src/index.js";
import { MemoryNetwork } from "../support/memory-network.js";
import { ProducerLedger } from "../support/producer-ledger.js";
import type { Received } from "../support/scripted-node.js";

let clients: ClientCore[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(clients.map((client) => client.destroy()));
  clients = [];
});

function setUp(partitionsCount = 1) {
  const node = new ProducerLedger(partitionsCount);
  const network = new MemoryNetwork(node);
  const client = network.client();
  clients.push(client);
  return { node, network, client };
}

const topic = { streamId: "s", topicId: "t" } as const;
const to = (partitionId: number) => ({ partitioning: Partitioning.PartitionId(partitionId) });
const codeOf = (send: Promise<SendResult>): Promise<number> =>
  send.then(
    () => 0,
    (error: unknown) => {
      if (!(error instanceof ProducerSendFailedError)) throw error;
      return IggyError.is(error.cause) ? error.cause.code : -1;
    },
  );

test("batches are numbered per partition, under one id and epoch", async () => {
  const { node, client } = setUp(2);
  const producer = client.producer({ ...topic, idempotent: true, batchLength: 2 });
  await producer.send([{ payload: "a" }, { payload: "b" }, { payload: "c" }], to(0));
  await producer.send({ payload: "d" }, to(1));
  await producer.send({ payload: "e" }, to(0));
  const id = 4711n << 20n;
  expect(node.sections).toEqual([
    { partitionId: 0, id, epoch: 0, baseSequence: 0, count: 2 },
    { partitionId: 0, id, epoch: 0, baseSequence: 2, count: 1 },
    { partitionId: 1, id, epoch: 0, baseSequence: 0, count: 1 },
    { partitionId: 0, id, epoch: 0, baseSequence: 3, count: 1 },
  ]);
});

test("two producers of a client have ids of their own, and so has each topic", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...topic, idempotent: true });
  await producer.send({ payload: "a" });
  await producer.sendTo({ streamId: "s", topicId: "other", messages: [{ payload: "b" }] });
  await client.producer({ ...topic, idempotent: true }).send({ payload: "c" });
  expect(new Set(node.sections.map(({ id }) => id)).size).toBe(3);
});

test("concurrent sends are stored once each, in the order of the calls", async () => {
  const { node, client } = setUp(4);
  const producer = client.producer({ ...topic, idempotent: true });
  await Promise.all(Array.from({ length: 200 }, (_, i) => producer.send({ payload: `m${String(i)}` }, to(i % 4))));
  for (let partition = 0; partition < 4; partition++) {
    expect(node.textsOf(partition)).toEqual(Array.from({ length: 50 }, (_, i) => `m${String(4 * i + partition)}`));
  }
});

test("a batch of unknown outcome goes out again under its number, and is stored once", async () => {
  const { node, client } = setUp();
  let lost = 2;
  node.handler = (received) => {
    if (received.code !== sendMessages.code || lost === 0) node.serve(received);
    // Stored, and the reply is lost.
    else if (lost-- > 0) node.serveSilently(received);
  };
  const producer = client.producer({ ...topic, idempotent: true, timeout: 1000 });
  await producer.init();
  vi.useFakeTimers();
  const send = producer.send([{ payload: "a" }, { payload: "b" }]);
  await vi.advanceTimersByTimeAsync(2100);
  const { confirmations } = await send;
  vi.useRealTimers();
  expect(confirmations).toMatchObject([{ baseOffset: 0n }]);
  await producer.send({ payload: "c" });
  expect(node.textsOf(0)).toEqual(["a", "b", "c"]);
  expect(client.operation.list()).toEqual([]);
  expect(node.sections.map(({ baseSequence }) => baseSequence)).toEqual([0, 0, 0, 2]);
});

test("after its resends a batch fails with the unknown outcome; the next one starts a new epoch behind it", async () => {
  const { node, client } = setUp();
  let silent = true;
  node.handler = (received) => {
    if (received.code !== sendMessages.code || !silent) node.serve(received);
  };
  const producer = client.producer({ ...topic, idempotent: true, timeout: 1000 });
  await producer.init();
  vi.useFakeTimers();
  const send = producer.send({ payload: "lost" }).catch((e: unknown) => e);
  await vi.advanceTimersByTimeAsync(4100);
  const error = await send;
  vi.useRealTimers();
  expect(error).toMatchObject({ uncertain: 1, cause: { code: 14006 } });
  expect(node.of(sendMessages)).toHaveLength(4);
  silent = false;
  await producer.send({ payload: "next" });
  // What blocked the lane was resolved first: it is stored now, under its own number, and never twice.
  expect(node.textsOf(0)).toEqual(["lost", "next"]);
  expect(node.sections.at(-1)).toMatchObject({ epoch: 1, baseSequence: 0 });
  expect(client.operation.list()).toEqual([]);
});

test("a timeout in the middle of many sends costs its own messages alone, and no order", async () => {
  const { node, client } = setUp(4);
  let isDead = false;
  node.handler = (received) => {
    if (received.code === sendMessages.code && isDead && node.partitionOf(received) === 2) return;
    node.serve(received);
  };
  const producer = client.producer({ ...topic, idempotent: true });
  await producer.init();
  const outcomes: Promise<number>[] = [];
  for (let i = 0; i < 200; i++) {
    if (i === 80) isDead = true;
    outcomes.push(
      codeOf(producer.send({ payload: `m${String(i)}` }, { ...to(i % 4), timeout: i % 4 === 2 ? 60 : 15_000 })),
    );
    if (i % 20 === 19) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const codes = await Promise.all(outcomes);
  isDead = false;
  for (let partition = 0; partition < 4; partition++) {
    const mine = codes.map((code, i) => ({ code, i })).filter(({ i }) => i % 4 === partition);
    const stored = node.textsOf(partition).map((text) => Number(text.slice(1)));
    expect(stored).toEqual([...stored].sort((a, b) => a - b));
    expect(new Set(stored).size).toBe(stored.length);
    for (const { code, i } of mine) {
      if (code === 0) expect(stored).toContain(i);
      if (partition !== 2) expect(code).toBe(0);
      // Nothing sent, or sent and unknown.
      else expect([0, 58, 14006, 14007]).toContain(code);
    }
  }
  await producer.send({ payload: "m999" }, { ...to(2), timeout: 5000 });
  expect(node.textsOf(2).at(-1)).toBe("m999");
});

test("a producer that the server forgot goes on in a new epoch, without an error and without a second copy", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...topic, idempotent: true });
  await producer.send([{ payload: "a" }, { payload: "b" }]);
  node.forgetProducers();
  await producer.send({ payload: "c" });
  expect(node.textsOf(0)).toEqual(["a", "b", "c"]);
  expect(node.sections.map(({ epoch, baseSequence }) => [epoch, baseSequence])).toEqual([
    [0, 0],
    [0, 2],
    [1, 0],
  ]);
});

test("forgotten after an unknown outcome is one clear error, and no second copy; then it goes on", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...topic, idempotent: true, timeout: 1000 });
  await producer.send({ payload: "a" });
  let isLost = false;
  node.handler = (received) => {
    if (received.code !== sendMessages.code || isLost) {
      node.serve(received);
      return;
    }
    isLost = true;
    node.serveSilently(received);
    node.forgetProducers();
  };
  vi.useFakeTimers();
  const send = producer.send({ payload: "b" }).catch((e: unknown) => e);
  await vi.advanceTimersByTimeAsync(3000);
  const error = await send;
  vi.useRealTimers();
  expect(error).toMatchObject({ code: 4056, uncertain: 1, cause: { code: 14006 } });
  await producer.send({ payload: "c" });
  expect(node.textsOf(0)).toEqual(["a", "b", "c"]);
  expect(node.sections.at(-1)).toMatchObject({ epoch: 1, baseSequence: 0 });
});

test("behind the last epoch comes a new id", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...topic, idempotent: { id: 5n, epoch: 32_767 } });
  await producer.send({ payload: "a" });
  node.forgetProducers();
  await producer.send({ payload: "b" });
  await producer.send({ payload: "c" });
  expect(node.sections.at(-1)).toMatchObject({ id: 4711n << 20n, epoch: 0, baseSequence: 1 });
  expect(node.textsOf(0)).toEqual(["a", "b", "c"]);
});

test("a batch that failed for good leaves no hole: the next one starts a new epoch", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...topic, idempotent: true });
  await producer.send({ payload: "a" });
  node.refuseNext(41);
  expect(await codeOf(producer.send({ payload: "b" }))).toBe(41);
  await producer.send({ payload: "c" });
  await producer.send({ payload: "d" });
  expect(node.textsOf(0)).toEqual(["a", "c", "d"]);
  expect(node.sections.slice(-2)).toMatchObject([
    { epoch: 1, baseSequence: 0 },
    { epoch: 1, baseSequence: 1 },
  ]);
});

test("who takes over an id shuts its predecessor out for good", async () => {
  const { node, client } = setUp(2);
  const first = client.producer({ ...topic, idempotent: { id: 5n } });
  await first.send({ payload: "a" }, to(0));
  const second = client.producer({ ...topic, idempotent: { id: 5n, epoch: 1 } });
  await second.send({ payload: "b" }, to(0));
  expect(await codeOf(first.send({ payload: "c" }, to(0)))).toBe(93);
  const sent = node.of(sendMessages).length;
  expect(await codeOf(first.send({ payload: "d" }, to(1)))).toBe(93);
  expect(node.of(sendMessages)).toHaveLength(sent);
  expect(node.textsOf(0)).toEqual(["a", "b"]);
});

test("an identity is saved before its first use, and goes on one epoch higher", async () => {
  const { node, client } = setUp();
  const saved: ProducerIdentity[] = [];
  const store: IdempotentOptions = {
    load: () => saved.at(-1),
    save: async ({ id, epoch }) => {
      const used = node.sections.length;
      await new Promise((resolve) => setTimeout(resolve, 2));
      expect(node.sections).toHaveLength(used);
      saved.push({ id, epoch });
    },
  };
  await client.producer({ ...topic, idempotent: store }).send({ payload: "a" });
  await client.producer({ ...topic, idempotent: store }).send({ payload: "b" });
  expect(saved.map(({ epoch }) => epoch)).toEqual([0, 1]);
  expect(new Set(saved.map(({ id }) => id)).size).toBe(1);
  expect(node.textsOf(0)).toEqual(["a", "b"]);
});

test("an identity that can not be saved is not used", async () => {
  const { node, client } = setUp();
  let fails = true;
  const producer = client.producer({
    ...topic,
    idempotent: {
      save: () => {
        if (fails) throw new Error("disk full");
      },
    },
  });
  await expect(producer.send({ payload: "a" })).rejects.toMatchObject({ cause: { message: "disk full" } });
  expect(node.sections).toEqual([]);
  fails = false;
  await producer.send({ payload: "a" });
  expect(node.textsOf(0)).toEqual(["a"]);
});

test("an abort ends the wait; the number stays with its message", async () => {
  const { node, client } = setUp();
  let held: Received | undefined;
  node.handler = (received) => {
    if (received.code === sendMessages.code && held === undefined) held = received;
    else node.serve(received);
  };
  const producer = client.producer({ ...topic, idempotent: true });
  const stop = new AbortController();
  const send = producer.send({ payload: "a" }, { signal: stop.signal });
  await node.until(sendMessages, 1);
  const next = producer.send({ payload: "b" });
  const waiting = producer.send({ payload: "never" }, { signal: stop.signal });
  await new Promise((resolve) => setTimeout(resolve, 2));
  stop.abort(new Error("enough"));
  await expect(send).rejects.toMatchObject({ uncertain: 1, cause: { message: "enough" } });
  await expect(waiting).rejects.toMatchObject({ cause: { message: "enough" } });
  if (held !== undefined) node.serve(held);
  await next;
  expect(node.textsOf(0)).toEqual(["a", "b"]);
  expect(node.sections.map(({ baseSequence }) => baseSequence)).toEqual([0, 1]);
});

test("a background producer numbers its batches, too, whatever queue they are in", async () => {
  const { node, client } = setUp(2);
  const producer = client.producer({
    ...topic,
    mode: "background",
    idempotent: true,
    linger: 0,
    numShards: 4,
    sharding: "balanced",
    maxInFlight: 4,
  });
  for (let i = 0; i < 40; i++) await producer.send({ payload: `m${String(i)}` }, to(i % 2));
  await producer.close();
  expect(node.refused).toEqual([]);
  expect([...node.textsOf(0), ...node.textsOf(1)]).toHaveLength(40);
});

test("a lost session changes nothing: the batch goes out again in the next one", async () => {
  const { node, client } = setUp();
  const producer = client.producer({ ...topic, idempotent: true });
  await producer.send({ payload: "a" });
  let isLost = false;
  node.handler = (received) => {
    // The server does not know the session any more.
    if (received.code === bindSession.code) {
      node.refuse(received, 40);
      return;
    }
    if (received.code !== sendMessages.code || isLost) {
      node.serve(received);
      return;
    }
    isLost = true;
    node.serveSilently(received);
    node.session = 9000n;
    received.wire.reset();
  };
  await producer.send({ payload: "b" });
  await producer.send({ payload: "c" });
  expect(node.textsOf(0)).toEqual(["a", "b", "c"]);
});
