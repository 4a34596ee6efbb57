import {
  decodeRequest,
  fetchMessages,
  joinConsumerGroup,
  leaveConsumerGroup,
  pollMessagesDeferred,
} from "@iggy/protocol";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import {
  Aes256GcmEncryptor,
  CommitPolicy,
  Consumer,
  type Encryptor,
  type PartitionReader,
  type PartitionReaderOptions,
  type PolledMessages,
  PollingStrategy,
  ReadError,
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
  const reader = (options: Partial<PartitionReaderOptions> = {}) =>
    client.reader({
      streamId: "s",
      topicId: "t",
      consumer: Consumer.Named("r"),
      partitions: node.partitions.map(({ partitionId }) => partitionId),
      retryInterval: 5,
      ...options,
    });
  const group = (options: Partial<PartitionReaderOptions> = {}) =>
    client.message.reader({
      streamId: "s",
      topicId: "t",
      consumer: Consumer.Group("group"),
      retryInterval: 5,
      ...options,
    });
  return { node, network, client, reader, group };
}

const textsOf = (polled: PolledMessages) => polled.messages.map((message) => message.text());
const fetches = (node: ScriptedBroker) => node.of(fetchMessages).map(({ body }) => decodeRequest(fetchMessages, body));

/** Batches until that many messages came. */
async function read(reader: PartitionReader, count: number): Promise<PolledMessages[]> {
  const batches: PolledMessages[] = [];
  for (let seen = 0; seen < count;) {
    const { value } = await reader.next();
    if (value === undefined) throw new Error("the reader ended");
    batches.push(value);
    seen += value.count;
  }
  return batches;
}

describe("a partition reader", () => {
  test("a thousand partitions wait in one request; what comes in any of them is delivered", async () => {
    const { node, reader } = setUp(1000);
    node.append(700, "first");
    await using reading = await reader();
    expect(reading.partitions).toHaveLength(1000);
    const [batch] = await read(reading, 1);
    expect([batch?.partitionId, batch && textsOf(batch)]).toEqual([700, ["first"]]);
    await vi.waitFor(() => expect(node.waiting).toBeGreaterThan(0));
    node.append(3, "second");
    expect((await read(reading, 1)).map(textsOf)).toEqual([["second"]]);
    expect(node.of(pollMessagesDeferred)).toHaveLength(0);
    // Once every primary is known: before that, those that are known need not wait for the others.
    node.append(999, "third");
    expect((await read(reading, 1)).map(textsOf)).toEqual([["third"]]);
    expect(Math.max(...fetches(node).map(({ targets }) => targets.length))).toBeGreaterThan(900);
    expect(fetches(node).length).toBeLessThan(60);
  });

  test("batches are never empty, each of one partition, in the order of that partition", async () => {
    const { node, reader } = setUp(5);
    for (let i = 0; i < 40; i++) node.append(i % 5, `${String(i % 5)}/${String(i)}`, `${String(i % 5)}/${String(i)}b`);
    await using reading = await reader({ options: { count: 7, maxWait: 1000 } });
    const batches = await read(reading, 80);
    for (const id of [0, 1, 2, 3, 4]) {
      const offsets = batches.filter(({ partitionId }) => partitionId === id).flatMap(({ messages }) => messages);
      expect(offsets.map(({ offset }) => Number(offset))).toEqual(Array.from({ length: 16 }, (_, i) => i));
    }
    expect(batches.every(({ count }) => count > 0 && count <= 7)).toBe(true);
  });

  test("partitions with more to read share the slots; those that delivered last come last", async () => {
    const { node, reader } = setUp(3);
    for (const partition of [0, 1, 2]) node.append(partition, ...Array.from({ length: 30 }, (_, i) => String(i)));
    await using reading = await reader({ options: { count: 10 }, prefetchMessages: 40 });
    const order = (await read(reading, 90)).map(({ partitionId }) => partitionId);
    // Nobody waits until another partition is through.
    expect(new Set(order.slice(0, 4)).size).toBe(3);
    expect(order).toHaveLength(9);
  });

  test("reads ahead no further than its budget while nobody takes", async () => {
    const { node, reader } = setUp(2);
    for (let i = 0; i < 100; i++) node.append(i % 2, `m${String(i)}`);
    await using reading = await reader({ options: { count: 1 }, prefetchMessages: 4 });
    await vi.waitFor(() => expect(node.reads.length).toBeGreaterThanOrEqual(4));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(node.reads.length).toBeLessThanOrEqual(6);
    expect(await read(reading, 100)).toHaveLength(100);
  });

  test("an aborted next keeps the batch for the next call", async () => {
    const { node, reader } = setUp();
    await using reading = await reader();
    const abort = new AbortController();
    const waiting = reading.next({ signal: abort.signal });
    setTimeout(() => abort.abort(), 5);
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    node.append(0, "x");
    expect((await read(reading, 1)).map(textsOf)).toEqual([["x"]]);
  });

  test("seek drops what was read ahead and goes on from there", async () => {
    const { node, reader } = setUp();
    node.append(0, "a", "b");
    node.append(0, "c");
    await using reading = await reader({ options: { count: 1 } });
    await read(reading, 2);
    await reading.seek(0, PollingStrategy.First);
    expect((await read(reading, 3)).flatMap(textsOf)).toEqual(["a", "b", "c"]);
  });

  test("commits what it handed over, never back, and nothing of others", async () => {
    const { node, reader } = setUp();
    node.append(0, "a", "b", "c");
    await using reading = await reader();
    await using other = await reader();
    const [batch] = await read(reading, 3);
    if (batch === undefined) throw new Error("no batch");
    // Both at once: the later one wins, whatever the order.
    await Promise.all([reading.commit(batch.checkpointAt(2)), reading.commit(batch.checkpointAt(0))]);
    expect(node.stores).toEqual([{ partitionId: 0, offset: 2 }]);
    await expect(other.commit(batch.checkpointAt(0))).rejects.toMatchObject({ code: 3 });
    expect(() => reading.mark(batch.checkpointAt(0))).toThrow(/CommitPolicy\.Auto/);
  });

  test("auto: a batch counts when the next one is asked for, and on close", async () => {
    const { node, reader } = setUp();
    node.append(0, "a", "b");
    node.append(0, "c");
    const commit = CommitPolicy.Auto({ interval: null, every: "message" });
    const reading = await reader({ options: { count: 2, commit } });
    await read(reading, 2);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(node.stores).toEqual([]);
    await read(reading, 1);
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(1));
    await reading.close();
    expect(node.stored.get(0)).toBe(2);
  });

  test("on read: reads when it is asked to, and gives back on close what nobody got", async () => {
    const { node, reader } = setUp(2);
    node.append(0, "a");
    node.append(1, "b");
    const reading = await reader({ options: { count: 2, commit: CommitPolicy.OnRead, maxWait: 1000 } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(node.reads).toEqual([]);
    const [first] = await read(reading, 1);
    expect([...node.stored].sort()).toEqual([
      [0, 0],
      [1, 0],
    ]);
    await reading.close();
    expect([...node.stored.keys()]).toEqual([first?.partitionId]);
  });

  test("on read: a wait that close cancels stores nothing", async () => {
    const { node, reader } = setUp();
    const reading = await reader({ options: { commit: CommitPolicy.OnRead, maxWait: 60_000 } });
    const next = reading.next();
    await vi.waitFor(() => expect(node.waiting).toBe(1));
    const started = performance.now();
    await reading.close();
    expect(performance.now() - started).toBeLessThan(1000);
    expect(await next).toEqual({ done: true, value: undefined });
    expect(node.stored.size).toBe(0);
  });

  test("a refusal of one partition leaves the others alone; too many in a row stop it", async () => {
    const { node, reader } = setUp(2);
    node.append(0, "a");
    node.append(1, "b");
    node.refusals.set(0, [41, 41, 41, 41, 41, 41]);
    await using reading = await reader({ retryInterval: 1 });
    expect((await read(reading, 1)).map(textsOf)).toEqual([["b"]]);
    await expect(reading.next()).rejects.toMatchObject({
      name: "ReadError",
      partitionId: 0,
      code: 41,
      isLastingRefusal: true,
    });
    expect(reading.figures(0)?.state).toBe("stopped");
    await reading.seek(0, PollingStrategy.First);
    expect((await read(reading, 1)).map(textsOf)).toEqual([["a"]]);
  });

  test("a refusal of the whole request is traced to the partition that it is about", async () => {
    const { node, reader } = setUp(3);
    for (const partition of [0, 1, 2]) node.append(partition, `a${String(partition)}`);
    await using reading = await reader();
    await read(reading, 3);
    const serve = node.handler;
    node.handler = (received, self) => {
      const isAbout1 =
        (received.code === fetchMessages.code &&
          decodeRequest(fetchMessages, received.body).targets.some(({ partitionId }) => partitionId === 1)) ||
        (received.code === pollMessagesDeferred.code &&
          decodeRequest(pollMessagesDeferred, received.body).poll.partitionId === 1);
      if (isAbout1) node.refuse(received, 87);
      else serve?.(received, self);
    };
    // Ends the wait that is under way.
    node.append(0, "b0");
    expect((await read(reading, 1)).map(textsOf)).toEqual([["b0"]]);
    await expect(reading.next()).rejects.toMatchObject({ name: "ReadError", partitionId: 1, code: 87 });
    node.append(2, "b2");
    expect((await read(reading, 1)).map(textsOf)).toEqual([["b2"]]);
  });

  test("messages that can not be decrypted are named with the way past them", async () => {
    const { node, client, reader } = setUp();
    const encryptor = new Aes256GcmEncryptor(new Uint8Array(32).fill(7));
    const encoded = async (text: string) => new Uint8Array(await encryptor.encrypt(new TextEncoder().encode(text)));
    const payloads = [await encoded("secret"), new TextEncoder().encode("in clear"), await encoded("more")];
    node.partitions[0]?.append(payloads.map((payload, i) => ({ id: BigInt(i + 1), payload, originTimestamp: 1 })));
    await using reading = await reader({ encryptor });
    expect((await read(reading, 1)).map(textsOf)).toEqual([["secret"]]);
    const error = await reading.next().catch((reason: unknown) => reason);
    if (!(error instanceof ReadError) || error.skip === undefined) throw new Error("no ReadError with a way on");
    expect(error).toMatchObject({ code: 72, partitionId: 0, record: { offset: 1n } });
    await reading.seek(0, error.skip);
    expect((await read(reading, 1)).map(textsOf)).toEqual([["more"]]);
    expect(client).toBeDefined();
  });

  test("a gap that retention made is told, from a known position and from a stored one", async () => {
    const { node, reader } = setUp(2);
    for (const partition of node.partitions) {
      partition.next = 1000;
      partition.appendTexts("a", "b");
    }
    node.stored.set(0, 5);
    await using reading = await reader({ partitions: [0, 1], start: PollingStrategy.Next });
    const gaps: unknown[] = [];
    reading.on("gap", (gap) => gaps.push(gap));
    await read(reading, 4);
    await vi.waitFor(() => expect(gaps).toEqual([{ partitionId: 0, from: 6n, to: 1000n }]));
    await reading.seek(1, PollingStrategy.Offset(7));
    await read(reading, 2);
    expect(gaps.at(-1)).toEqual({ partitionId: 1, from: 7n, to: 1000n });
    // The lag counts what exists.
    expect(reading.figures(1)).toMatchObject({ lagMessages: 0n, end: 1002n });
  });

  test("tells how it stands: lag in messages and time, and when a server answered last", async () => {
    const { node, reader } = setUp();
    node.append(0, "a", "b");
    node.append(0, "c");
    await using reading = await reader({ options: { count: 2 } });
    await read(reading, 2);
    await vi.waitFor(() => expect(reading.figures(0)?.lagMessages).toBe(1n));
    const figures = reading.figures(0);
    expect(figures).toMatchObject({ state: "reading", lastOffset: 1n, end: 3n });
    // The scripted messages are from 1970.
    expect(figures?.lagMs).toBeGreaterThan(1e12);
    expect(Date.now() - Number(figures?.answeredAt)).toBeLessThan(5000);
    expect(reading.figures(9)).toBeUndefined();
  });
});

describe("a reader in a group", () => {
  test("joins before it resolves, creates nothing, reads what it is given, and leaves", async () => {
    const { node, group } = setUp(2);
    node.append(1, "b");
    const reading = await group();
    expect(node.of(joinConsumerGroup)).toHaveLength(1);
    expect(reading.partitions).toEqual([0, 1]);
    expect((await read(reading, 1)).map(textsOf)).toEqual([["b"]]);
    await reading.close();
    expect(node.of(leaveConsumerGroup)).toHaveLength(1);
    expect(node.waiting).toBe(0);
  });

  test("gives partitions up and takes them over; a late commit is refused as lost ownership", async () => {
    const { node, group } = setUp(2);
    node.assign([0]);
    node.append(0, "a0");
    await using reading = await group({ options: { maxWait: 500 } });
    const [batch] = await read(reading, 1);
    if (batch === undefined) throw new Error("no batch");
    const revoked: unknown[] = [];
    reading.on("revoked", ({ partitions }) => revoked.push(partitions));
    node.assign([1]);
    await vi.waitFor(() => expect(revoked).toEqual([[0]]), { timeout: 3000 });
    await expect(reading.commit(batch.checkpointAt(0))).rejects.toMatchObject({
      name: "PartitionHistoryError",
      code: 5009,
    });
    node.append(1, "b0");
    expect((await read(reading, 1)).map(textsOf)).toEqual([["b0"]]);
  });
});

describe("options of a reader", () => {
  const cases: [string, Partial<PartitionReaderOptions>, RegExp][] = [
    ["no partitions", { partitions: [] }, /partitions/],
    ["a partition that is none", { partitions: [-1] }, /partitions/],
    ["partitions of a group", { consumer: Consumer.Group("g"), partitions: [1] }, /partitions/],
    ["an external group", { consumer: Consumer.ExternalGroup("g") }, /external group/],
    ["prefetchBytes", { prefetchBytes: 0 }, /prefetchBytes/],
    ["prefetchMessages", { prefetchMessages: 1.5 }, /prefetchMessages/],
    ["retryInterval", { retryInterval: "soon" }, /retryInterval/],
    ["start", { start: 5 as unknown as PollingStrategy }, /start/],
    ["count", { options: { count: 0 } }, /count/],
    ["commit", { options: { commit: CommitPolicy.Auto as unknown as CommitPolicy } }, /commit/],
    ["encryptor", { encryptor: {} as Encryptor }, /encryptor/],
    ["streamId", { streamId: "" }, /streamId/],
  ];
  test.each(cases)("%s: refused by name before anything is sent", async (_what, options, message) => {
    const { node, reader } = setUp();
    await expect(reader(options)).rejects.toThrow(message);
    expect(node.received).toEqual([]);
  });

  test("an encryptor does not go with a server that stores what it returns", async () => {
    const { reader } = setUp();
    const encryptor = new Aes256GcmEncryptor(new Uint8Array(32));
    await expect(reader({ encryptor, options: { commit: CommitPolicy.OnRead } })).rejects.toMatchObject({ code: 2 });
  });

  test("a continuation is no start", async () => {
    const { node, reader } = setUp();
    node.append(0, "a");
    await using reading = await reader();
    const [batch] = await read(reading, 1);
    if (batch === undefined) throw new Error("no batch");
    await expect(reader({ start: batch.continuation })).rejects.toMatchObject({ code: 3 });
  });
});
