import {
  Client,
  Consumer,
  IggyError,
  Partitioning,
  PollingStrategy,
  type ProducerOptions,
  ProducerSendFailedError,
} from "@iggy/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { type ConnectionFaults, FaultyProxy } from "./faulty-proxy.js";

/*
 * Producers of the SDK against a server, through a proxy that delays, splits, swallows and breaks. Every promise
 * settles, nothing acknowledged is lost, the order of the calls holds; with an idempotent producer nothing is there twice.
 */

let server: RunningServer;
let proxy: FaultyProxy;
let reader: Client;
beforeAll(async () => {
  server = await startServer();
  proxy = await FaultyProxy.start(server);
  reader = new Client(server.connectionString);
});
afterAll(async () => {
  await reader.close();
  await proxy[Symbol.asyncDispose]();
  await server.close();
});

const partitions = 4;
let topics = 0;

async function freshTopic() {
  const stream = await reader.stream.ensure("producers");
  const name = `topic-${String(topics++)}`;
  await reader.topic.create({ streamId: stream.id, name, partitionCount: partitions });
  return { streamId: "producers", topicId: name } as const;
}

const throughProxy = (): Client =>
  new Client({
    options: { host: "127.0.0.1", port: proxy.port },
    credentials: { username: "iggy", password: "iggy" },
    reconnect: { interval: 5, maxInterval: 20 },
  });

async function readAll(topic: { readonly streamId: string; readonly topicId: string }, partitionId: number) {
  const texts: string[] = [];
  for (;;) {
    const polled = await reader.message.poll({
      ...topic,
      partitionId,
      consumer: Consumer.Single,
      pollingStrategy: PollingStrategy.Offset(texts.length),
      options: { count: 1000 },
    });
    if (polled.count === 0) return texts;
    for (const message of polled.messages) texts.push(message.text());
  }
}

const toServer = (faults: ConnectionFaults["toServer"]): ConnectionFaults => ({ toServer: faults, toClient: {} });
const toClient = (faults: ConnectionFaults["toClient"]): ConnectionFaults => ({ toServer: {}, toClient: faults });

/** A reproducible number below `limit`. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const cuts: Readonly<Record<string, (connection: number) => ConnectionFaults>> = {
  "requests in small pieces": () => toServer({ pieceBytes: 97, delayMs: 0 }),
  "replies late, in pieces": () => toClient({ pieceBytes: 61, delayMs: 1 }),
  "requests cut": (connection) => {
    const next = numbers(connection + 1);
    return connection < 12 ? toServer({ resetAfter: 1200 + next(6000) }) : toServer({});
  },
  "replies cut": (connection) => {
    const next = numbers(connection + 100);
    return connection < 12 ? toClient({ resetAfter: 900 + next(4000) }) : toClient({});
  },
  "replies swallowed, then cut": (connection) => {
    const next = numbers(connection + 200);
    return connection < 8 ? toClient({ swallowAfter: 900 + next(4000), swallowMs: 20 }) : toClient({});
  },
};

const producers: Readonly<Record<string, Partial<ProducerOptions>>> = {
  idempotent: { idempotent: true },
  "idempotent, in the background": { idempotent: true, mode: "background", linger: 0, batchLength: 7 },
  direct: {},
  background: { mode: "background", linger: 0, batchLength: 7 },
};

describe.each(Object.entries(producers))("200 sends at once to 4 partitions, %s", (_kind, options) => {
  test.each(Object.entries(cuts))("%s", { timeout: 60_000 }, async (what, faultsOf) => {
    const topic = await freshTopic();
    const first = proxy.connections;
    const { resets } = proxy;
    proxy.faultsOf = (connection) => faultsOf(connection - first);
    await using client = throughProxy();
    const failures: unknown[] = [];
    const producer = client.producer({
      ...topic,
      ...options,
      ...(options.mode === "background" ? { onError: ({ error }) => void failures.push(error) } : {}),
    });
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        producer.sendOne({ payload: `m${String(i)}` }, { partitioning: Partitioning.PartitionId(i % partitions) }).then(
          () => "sent",
          (error: unknown) => error,
        ),
      ),
    );
    await producer.close();
    // The faults took place.
    if (what.includes("cut")) expect(proxy.resets).toBeGreaterThan(resets);
    expect(failures).toEqual([]);
    expect(outcomes.filter((outcome) => outcome !== "sent")).toEqual([]);
    proxy.faultsOf = () => ({ toServer: {}, toClient: {} });
    for (let partition = 0; partition < partitions; partition++) {
      const expected = Array.from({ length: 50 }, (_, i) => `m${String(partitions * i + partition)}`);
      expect(await readAll(topic, partition)).toEqual(expected);
    }
  });
});

test(
  "unknown outcomes one after the other: each message once, in order, and the errors say what is unknown",
  { timeout: 60_000 },
  async () => {
    const topic = await freshTopic();
    await using client = throughProxy();
    const producer = client.producer({ ...topic, idempotent: true, timeout: 150 });
    await producer.init();
    const first = proxy.connections;
    // Replies never arrive, and the connection seems to live: only the deadlines of requests end their wait.
    proxy.faultsOf = (connection) =>
      connection - first < 6 ? toClient({ swallowAfter: 1100, swallowMs: 60_000 }) : toClient({});
    proxy.resetAll();
    const acknowledged: string[] = [];
    const uncertain: string[] = [];
    for (let i = 0; i < 30; i++) {
      const payload = `m${String(i)}`;
      try {
        await producer.sendOne({ payload }, { partitioning: Partitioning.PartitionId(0) });
        acknowledged.push(payload);
      } catch (error) {
        if (!(error instanceof ProducerSendFailedError) || !IggyError.is(error.cause)) throw error;
        expect([57, 58, 14006, 14007]).toContain(error.cause.code);
        if (error.uncertain > 0) uncertain.push(payload);
        proxy.resetAll();
      }
    }
    proxy.faultsOf = () => ({ toServer: {}, toClient: {} });
    const stored = await readAll(topic, 0);
    expect(new Set(stored).size).toBe(stored.length);
    expect(stored).toEqual([...stored].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1))));
    for (const payload of acknowledged) expect(stored).toContain(payload);
    for (const payload of stored) expect([...acknowledged, ...uncertain]).toContain(payload);
  },
);

test("a connection that breaks over and over loses and repeats nothing", { timeout: 60_000 }, async () => {
  const topic = await freshTopic();
  await using client = throughProxy();
  const producer = client.producer({ ...topic, idempotent: true, mode: "background", linger: 1 });
  await producer.init();
  for (let i = 0; i < 600; i++) {
    await producer.sendOne({ payload: `m${String(i)}` }, { partitioning: Partitioning.PartitionId(i % partitions) });
    if (i % 100 === 50) proxy.resetAll();
    if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await producer.close();
  for (let partition = 0; partition < partitions; partition++) {
    const expected = Array.from({ length: 150 }, (_, i) => `m${String(partitions * i + partition)}`);
    expect(await readAll(topic, partition)).toEqual(expected);
  }
});

test("a large batch goes through whole, keys and all", { timeout: 60_000 }, async () => {
  const topic = await freshTopic();
  await using client = throughProxy();
  proxy.faultsOf = () => toServer({ pieceBytes: 50_000 });
  const producer = client.producer({ ...topic, mode: "background", idempotent: true });
  const payload = "x".repeat(1000);
  for (let i = 0; i < 5000; i++) {
    await producer.sendOne(
      { payload: `${String(i)} ${payload}` },
      { partitioning: Partitioning.MessageKey(`key-${String(i % 50)}`) },
    );
  }
  await producer.close();
  proxy.faultsOf = () => ({ toServer: {}, toClient: {} });
  let count = 0;
  for (let partition = 0; partition < partitions; partition++) {
    const stored = (await readAll(topic, partition)).map((text) => parseInt(text, 10));
    expect(stored).toEqual([...stored].sort((a, b) => a - b));
    count += stored.length;
  }
  expect(count).toBe(5000);
});
