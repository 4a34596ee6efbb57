import {
  cancelDeferredRequest,
  createConsumerGroup,
  decodeRequest,
  fetchMessages,
  joinConsumerGroup,
  leaveConsumerGroup,
  pollMessagesDeferred,
} from "@iggy/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import {
  CommitPolicy,
  type ConsumerGroupOptions,
  type ConsumerOptions,
  DeserializeError,
  PartitionHistoryError,
  PollingStrategy,
  ReadError,
  type Received,
  UnauthorizedError,
} from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedBroker } from "./support/scripted-broker.js";

let clients: ClientCore[] = [];
afterEach(async () => {
  await Promise.all(clients.map((client) => client.destroy()));
  clients = [];
});

function setUp(partitionsCount = 1) {
  const node = new ScriptedBroker(partitionsCount);
  const network = new MemoryNetwork(node);
  const client = network.client();
  clients.push(client);
  const consumer = (options: Partial<ConsumerOptions> = {}) =>
    client.consumer({
      name: "c",
      streamId: "s",
      topicId: "t",
      partitions: node.partitions.map(({ partitionId }) => partitionId),
      pollingRetryInterval: 5,
      ...options,
    });
  const group = (options: Partial<ConsumerGroupOptions> = {}) =>
    client.consumerGroup({ name: "group", streamId: "s", topicId: "t", pollingRetryInterval: 5, ...options });
  return { node, network, client, consumer, group };
}

type Source = AsyncIterable<Received>;

async function take(source: Source, count: number): Promise<string[]> {
  const texts: string[] = [];
  for await (const { message } of source) {
    texts.push(message.text());
    if (texts.length === count) break;
  }
  return texts;
}

const turn = (ms = 10) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a consumer of named partitions", () => {
  test("reads every partition in its order, and what arrives later", async () => {
    const { node, consumer } = setUp(3);
    node.append(0, "a0", "a1");
    node.append(1, "b0");
    await using reading = consumer();
    const first = await take(reading, 3);
    expect(first.filter((text) => text.startsWith("a"))).toEqual(["a0", "a1"]);
    expect(first).toContain("b0");
    setTimeout(() => node.append(2, "c0"), 5);
    setTimeout(() => node.append(0, "a2"), 10);
    expect(await take(reading, 2)).toEqual(["c0", "a2"]);
  });

  test("tells offset, lag and checkpoint of each message", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b", "c");
    await using reading = consumer();
    const { value } = await reading.next();
    expect(value).toMatchObject({ partitionId: 0, currentOffset: 2n, lag: 2n });
    expect(value?.checkpoint).toMatchObject({ partitionId: 0, offset: 0n });
    expect(reading.lastConsumedOffset(0)).toBe(0n);
    expect(reading.partitionId).toBe(0);
  });

  test("waits on the server: no busy loop while nothing comes", async () => {
    const { node, consumer } = setUp(2);
    await using reading = consumer();
    const next = reading.next();
    await turn(100);
    // One read resolves the starts, one waits for both partitions.
    expect(node.reads).toHaveLength(2);
    expect(node.waiting).toBe(1);
    node.append(1, "x");
    expect((await next).value?.message.text()).toBe("x");
  });

  test("polls that do not wait are spaced by the client", async () => {
    const { node, consumer } = setUp();
    await using reading = consumer({ pollOptions: { maxWait: 0 }, pollingRetryInterval: 50 });
    const next = reading.next();
    await turn(200);
    expect(node.reads.length).toBeLessThan(7);
    node.append(0, "x");
    expect((await next).value?.message.text()).toBe("x");
  });

  test("reads ahead no further than its budget", async () => {
    const { node, consumer } = setUp();
    for (let i = 0; i < 100; i++) node.append(0, `m${String(i)}`);
    await using reading = consumer({ pollOptions: { count: 1 }, prefetchMessages: 4 });
    await reading.next();
    await turn(30);
    // One in hand, four slots.
    expect(node.reads.length).toBeLessThanOrEqual(6);
    expect(await take(reading, 50)).toHaveLength(50);
    const requests = node.of(fetchMessages).map(({ body }) => decodeRequest(fetchMessages, body));
    expect(requests.slice(1).every(({ targets }) => targets[0]?.strategy.kind === "offset")).toBe(true);
  });

  test("partitions that start at a time are read alone: with more of them than slots each has its part of the wait", async () => {
    const { node, consumer } = setUp(8);
    await using reading = consumer({
      pollingStrategy: PollingStrategy.Timestamp(1),
      pollOptions: { maxWait: 400 },
      prefetchBytes: 2 * 1_048_576,
    });
    const next = reading.next();
    await turn(20);
    expect(node.waiting).toBe(2);
    node.append(7, "last");
    expect((await next).value?.message.text()).toBe("last");
    const waits = node
      .of(pollMessagesDeferred)
      .map(({ body }) => Number(decodeRequest(pollMessagesDeferred, body).waitUs) / 1000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(100);
  });

  test.each([
    ["first", PollingStrategy.First, ["a", "b", "c"]],
    ["an offset", PollingStrategy.Offset(1), ["b", "c"]],
    ["the stored offset", PollingStrategy.Next, ["c"]],
  ])("starts at %s", async (_what, pollingStrategy, expected) => {
    const { node, consumer } = setUp();
    for (const text of ["a", "b", "c"]) node.append(0, text);
    node.stored.set(0, 1);
    await using reading = consumer({ pollingStrategy });
    expect(await take(reading, expected.length)).toEqual(expected);
  });

  test("a passing refusal is an event; reading goes on where it was", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a");
    await using reading = consumer({ pollOptions: { maxWait: 50 } });
    const errors: unknown[] = [];
    reading.on("error", ({ error }) => errors.push(error));
    expect(await take(reading, 1)).toEqual(["a"]);
    node.refusals.set(0, [57, 11_001]);
    node.append(0, "b");
    expect(await take(reading, 1)).toEqual(["b"]);
    expect(errors.length).toBeGreaterThan(0);
  });

  test("a lasting refusal stops the partition after six and is thrown once; a seek starts it again", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a");
    node.refusals.set(0, [41, 41, 41, 41, 41, 41]);
    await using reading = consumer({ pollingRetryInterval: 1 });
    await expect(reading.next()).rejects.toMatchObject({
      name: "ReadError",
      partitionId: 0,
      isLastingRefusal: true,
      error: expect.any(UnauthorizedError) as UnauthorizedError,
    });
    await reading.seek(0, PollingStrategy.First);
    expect((await reading.next()).value?.message.text()).toBe("a");
  });

  test("a history that is gone stops the partition until it is sought", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a");
    await using reading = consumer({ pollOptions: { maxWait: 20 } });
    expect(await take(reading, 1)).toEqual(["a"]);
    node.refusals.set(0, [87]);
    await expect(reading.next()).rejects.toMatchObject({
      name: "ReadError",
      error: expect.any(PartitionHistoryError) as PartitionHistoryError,
    });
    node.append(0, "b");
    await reading.seek(0, PollingStrategy.Offset(1));
    expect((await reading.next()).value?.message.text()).toBe("b");
  });

  test("a damaged message is an error that names it, never data; what is before and behind it can be read", async () => {
    const { node, consumer } = setUp(2);
    node.append(0, "good", "bad");
    node.append(0, "behind");
    node.append(1, "other");
    const bytes = node.partitions[0]?.batches[0]?.bytes;
    if (bytes !== undefined) bytes[bytes.length - 1] = 0;
    await using reading = consumer();
    expect((await take(reading, 2)).sort()).toEqual(["good", "other"]);
    const error = await reading.next().catch((reason: unknown) => reason);
    if (!(error instanceof ReadError) || error.skip === undefined) throw new Error("no ReadError with a way on");
    expect(error.error).toBeInstanceOf(DeserializeError);
    expect(error).toMatchObject({ partitionId: 0, record: { offset: 1n } });
    // It is said again until somebody goes past it.
    await expect(reading.next()).rejects.toBeInstanceOf(ReadError);
    await reading.seek(0, error.skip);
    expect(await take(reading, 1)).toEqual(["behind"]);
  });

  test("replays are filtered, unless they are wanted or asked for by a seek", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a");
    node.append(0, "b");
    await using reading = consumer();
    expect(await take(reading, 2)).toEqual(["a", "b"]);
    await reading.seek(0, PollingStrategy.Offset(0));
    expect(await take(reading, 2)).toEqual(["a", "b"]);
  });

  test("paused partitions are not read, and what was read of them waits", async () => {
    const { node, consumer } = setUp(2);
    await using reading = consumer();
    await reading.init();
    reading.pause([0]);
    node.append(0, "paused");
    node.append(1, "read");
    expect(await take(reading, 1)).toEqual(["read"]);
    reading.resume([0]);
    expect(await take(reading, 1)).toEqual(["paused"]);
  });

  test("init repeats while the topic is missing, as often as it was asked to", async () => {
    const { node, consumer } = setUp();
    node.topicExists = false;
    await expect(consumer().init()).rejects.toMatchObject({ code: 2010 });
    await using patient = consumer({ init: { retries: 5, interval: 5 } });
    setTimeout(() => (node.topicExists = true), 12);
    await patient.init();
  });

  test("an aborted next keeps the message for the next call", async () => {
    const { node, consumer } = setUp();
    await using reading = consumer();
    const abort = new AbortController();
    const waiting = reading.next({ signal: abort.signal });
    await turn();
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    node.append(0, "x");
    expect((await reading.next()).value?.message.text()).toBe("x");
  });
});

describe("committing", () => {
  test("by hand: a checkpoint stores its offset under its history, and never moves back", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b");
    await using reading = consumer();
    const { value: first } = await reading.next();
    const { value: second } = await reading.next();
    await second?.commit();
    await first?.commit();
    expect(node.stores).toEqual([{ partitionId: 0, offset: 1 }]);
    expect(reading.lastStoredOffset(0)).toBe(1n);
    await reading.storeOffset(0);
    expect(node.stores.at(-1)).toEqual({ partitionId: 0, offset: 0 });
    await reading.deleteOffset();
    expect(node.stored.size).toBe(0);
  });

  test("a checkpoint of somebody else is refused", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b");
    await using one = consumer();
    await using other = consumer();
    const { value } = await one.next();
    if (value === undefined) throw new Error("no message");
    await expect(other.commit(value.checkpoint)).rejects.toMatchObject({ code: 3 });
    expect(() => one.mark(value.checkpoint)).toThrow(expect.objectContaining({ code: 3 }));
  });

  test("auto after processing: a message counts when the next one is asked for", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b", "c");
    const reading = consumer({ pollOptions: { commit: CommitPolicy.Auto({ interval: null, every: "message" }) } });
    await reading.next();
    await turn();
    expect(node.stores).toEqual([]);
    await reading.next();
    await turn();
    expect(node.stores).toEqual([{ partitionId: 0, offset: 0 }]);
    // What is in hand counts when the consumer is closed.
    await reading.close();
    expect(node.stored.get(0)).toBe(1);
  });

  test("auto by time stores the last counted offset once per interval", async () => {
    const { node, consumer } = setUp();
    node.append(0, ...Array.from({ length: 50 }, (_, i) => String(i)));
    await using reading = consumer({ pollOptions: { commit: CommitPolicy.Auto({ interval: 20, every: null }) } });
    expect(await take(reading, 10)).toHaveLength(10);
    await turn(60);
    expect(node.stores).toEqual([{ partitionId: 0, offset: 8 }]);
  });

  test("auto by batch, and only what is marked", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b");
    node.append(0, "c");
    const byBatch = consumer({
      pollOptions: { count: 2, commit: CommitPolicy.Auto({ interval: null, every: "batch" }) },
    });
    await byBatch.next();
    await byBatch.next();
    await byBatch.next();
    await turn();
    expect(node.stores).toEqual([{ partitionId: 0, offset: 1 }]);
    await byBatch.close();
    node.stored.clear();
    node.stores.length = 0;
    const marked = consumer({
      pollOptions: { commit: CommitPolicy.Auto({ interval: null, every: "message", after: "marked" }) },
    });
    const { value } = await marked.next();
    await marked.next();
    await turn();
    expect(node.stores).toEqual([]);
    value?.mark();
    await turn();
    expect(node.stores).toEqual([{ partitionId: 0, offset: 0 }]);
    await marked.close();
  });

  test("an error inside the loop leaves its message uncounted", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "bad", "c");
    const work = async (): Promise<void> => {
      await using reading = consumer({ pollOptions: { commit: CommitPolicy.Auto() } });
      for await (const { message } of reading) if (message.text() === "bad") throw new Error("handler failed");
    };
    await expect(work()).rejects.toThrow("handler failed");
    expect(node.stored.get(0)).toBe(0);
  });

  test("on read: the server stores, nothing is read ahead, and close gives back what nobody got", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b", "c");
    const reading = consumer({ pollOptions: { commit: CommitPolicy.OnRead } });
    const { value } = await reading.next();
    await turn(20);
    expect(node.reads).toHaveLength(1);
    expect(node.stored.get(0)).toBe(2);
    await expect(value?.commit()).rejects.toMatchObject({ code: 3 });
    await reading.close();
    expect(node.stored.get(0)).toBe(0);
  });

  test("on read: an outcome that nobody knows is abandoned, and reading goes on behind the last message", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a");
    await using reading = consumer({ pollOptions: { commit: CommitPolicy.OnRead, maxWait: 1000 } });
    expect((await reading.next()).value?.message.text()).toBe("a");
    // The read takes effect and its answer is lost.
    let isLost = false;
    node.handler = (received) => {
      if (received.code !== fetchMessages.code || isLost) {
        node.serve(received);
        return;
      }
      isLost = true;
      node.append(0, "b");
      node.stored.set(0, 1);
      received.wire.reset();
    };
    expect((await reading.next()).value?.message.text()).toBe("b");
  });
});

describe("a consumer group", () => {
  test("creates the group, joins, reads what it is given, and leaves", async () => {
    const { node, group } = setUp(2);
    node.groupExists = false;
    node.append(0, "a");
    node.append(1, "b");
    const reading = group({ pollOptions: { commit: CommitPolicy.Auto() } });
    expect((await take(reading, 2)).sort()).toEqual(["a", "b"]);
    expect(reading.partitions).toEqual([0, 1]);
    expect(node.of(createConsumerGroup)).toHaveLength(1);
    await reading.close();
    expect(node.of(leaveConsumerGroup)).toHaveLength(1);
    expect(node.isMember).toBe(false);
    expect(node.waiting).toBe(0);
  });

  test("does not create a group when it was told not to, or by number", async () => {
    const { node, group } = setUp();
    node.groupExists = false;
    node.handler = (received) => {
      if (received.code === joinConsumerGroup.code) node.reject(received, 5000, { committed: true });
      else node.serve(received);
    };
    await expect(group({ createGroup: false }).init()).rejects.toMatchObject({ code: 5000 });
    await expect(group({ name: 3 }).init()).rejects.toMatchObject({ code: 5000 });
    expect(node.of(createConsumerGroup)).toHaveLength(0);
  });

  test("a stored offset wins over the configured start; without one the start holds", async () => {
    for (const [stored, expected] of [
      [1, "c"],
      [undefined, "b"],
    ] as const) {
      const { node, group } = setUp();
      for (const text of ["a", "b", "c"]) node.append(0, text);
      if (stored !== undefined) node.stored.set(0, stored);
      await using reading = group({ pollingStrategy: PollingStrategy.Offset(1) });
      expect((await take(reading, 1))[0]).toBe(expected);
    }
  });

  test("gives a partition up: stores what is counted, drops what was read ahead, reads on elsewhere", async () => {
    const { node, group } = setUp(2);
    node.append(0, "a0", "a1", "a2");
    await using reading = group({
      pollOptions: { maxWait: 100, commit: CommitPolicy.Auto({ interval: null, every: { messages: 1000 } }) },
    });
    const revoked: unknown[] = [];
    reading.on("revoked", ({ partitions }) => revoked.push(...partitions));
    await reading.next();
    await reading.next();
    // The old owner may store until the handover is done.
    node.assigned = [1];
    node.generation++;
    while (revoked.length === 0) await turn();
    expect(revoked).toEqual([0]);
    expect(node.stored.get(0)).toBe(0);
    node.append(1, "b0");
    expect((await reading.next()).value?.message.text()).toBe("b0");
    expect(reading.partitions).toEqual([1]);
  });

  test("takes a partition over from its stored offset", async () => {
    const { node, group } = setUp(2);
    node.assigned = [0];
    node.append(1, "b0");
    node.append(1, "b1");
    node.stored.set(1, 0);
    await using reading = group();
    const assigned: unknown[] = [];
    reading.on("assigned", ({ partitions }) => assigned.push(partitions));
    const next = reading.next();
    await turn(20);
    node.assign([0, 1]);
    expect((await next).value?.message.text()).toBe("b1");
    expect(assigned.at(-1)).toEqual([1]);
  });

  test("5009 on a poll reads the assignment again at once", async () => {
    const { node, group } = setUp(2);
    node.append(0, "a");
    await using reading = group({ pollOptions: { maxWait: 50 } });
    expect(await take(reading, 1)).toEqual(["a"]);
    node.assign([1]);
    node.append(1, "b");
    const started = performance.now();
    expect(await take(reading, 1)).toEqual(["b"]);
    expect(performance.now() - started).toBeLessThan(900);
  });

  test("joins again after the membership was lost, and starts from the stored offset", async () => {
    const { node, group } = setUp();
    node.append(0, "a");
    await using reading = group({ pollOptions: { maxWait: 50 } });
    let rejoined = 0;
    reading.on("rejoined", () => rejoined++);
    const { value } = await reading.next();
    await value?.commit();
    node.isMember = false;
    const next = take(reading, 1);
    while (rejoined === 0) await turn();
    node.append(0, "b");
    const texts = await next;
    expect(texts).toEqual(["b"]);
    expect(rejoined).toBe(1);
    expect(node.of(joinConsumerGroup)).toHaveLength(2);
  });

  test("a late commit of a former owner is refused with a code that says so", async () => {
    const { node, group } = setUp();
    node.assign([0]);
    node.append(0, "a", "b");
    await using reading = group({ pollOptions: { maxWait: 5000 } });
    const { value } = await reading.next();
    node.assign([]);
    node.stored.set(0, 9);
    await expect(value?.commit()).rejects.toMatchObject({ code: 5009, name: "PartitionHistoryError" });
    expect(node.stored.get(0)).toBe(9);
  });
});

describe("the end", () => {
  test("close ends a loop that waits, and cancels the polls behind it", async () => {
    const { node, consumer } = setUp(2);
    const reading = consumer({ pollOptions: { maxWait: 60_000 } });
    const loop = take(reading, 1);
    await turn(20);
    expect(node.waiting).toBe(1);
    await reading.close();
    expect(await loop).toEqual([]);
    await node.until(cancelDeferredRequest, 1);
    expect(node.waiting).toBe(0);
    expect(await reading.next()).toEqual({ done: true, value: undefined });
  });

  test("close from inside the loop ends it without a deadlock, and no message comes after", async () => {
    const { node, group } = setUp();
    node.append(0, "a", "b", "c");
    const reading = group({ pollOptions: { commit: CommitPolicy.Auto() } });
    const texts: string[] = [];
    for await (const { message } of reading) {
      texts.push(message.text());
      if (texts.length === 2) await reading.close();
    }
    expect(texts).toEqual(["a", "b"]);
    expect(node.stored.get(0)).toBe(1);
  });

  test("open, iterate and close in the same turn", async () => {
    const { node, group } = setUp();
    node.append(0, "a");
    const reading = group();
    const loop = take(reading, 1);
    const closing = reading.close();
    await Promise.all([loop, closing]);
    await turn(20);
    expect(node.isMember).toBe(false);
    expect(node.waiting).toBe(0);
  });

  test("a signal closes", async () => {
    const { node, consumer } = setUp();
    const abort = new AbortController();
    const reading = consumer({ signal: abort.signal });
    const loop = take(reading, 1);
    await turn();
    abort.abort();
    expect(await loop).toEqual([]);
    expect(await take(consumer({ signal: AbortSignal.abort() }), 1)).toEqual([]);
    await node.until(cancelDeferredRequest, 1);
    expect(node.waiting).toBe(0);
  });

  test("closing the client closes its consumers first: offsets stored, group left", async () => {
    const { node, client, group } = setUp();
    node.append(0, "a");
    const reading = group({ pollOptions: { commit: CommitPolicy.Auto() } });
    const { value } = await reading.next();
    expect(value?.message.text()).toBe("a");
    await client.close();
    expect(node.stored.get(0)).toBe(0);
    expect(node.isMember).toBe(false);
    expect(await reading.next()).toEqual({ done: true, value: undefined });
  });

  test("a destroyed client ends loops at once", async () => {
    const { client, group } = setUp();
    const reading = group();
    const loop = take(reading, 1);
    await turn(20);
    await client.destroy();
    expect(await loop).toEqual([]);
  });

  test("a dead server does not hold close up for longer than the drain", async () => {
    const { node, network, group } = setUp();
    node.append(0, "a");
    const reading = group({ pollOptions: { commit: CommitPolicy.Auto() }, offsetDrainTimeout: 50 });
    await reading.next();
    network.isDown = true;
    node.dropAll();
    const started = performance.now();
    await reading.close();
    expect(performance.now() - started).toBeLessThan(500);
  });
});
