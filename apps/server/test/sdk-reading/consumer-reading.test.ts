import { once } from "node:events";
import {
  Client,
  Consumer,
  groupConsumerStream,
  Partitioning,
  type PolledMessages,
  PollingStrategy,
  singleConsumerStream,
} from "@iggy/sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";

/* Readers and consumers at a server: everything in order whatever the sizes, streams, bounded reading ahead, metadata. */

let server: RunningServer;
let client: Client;
let topics = 0;
beforeAll(async () => {
  server = await startServer();
  client = new Client(server.connectionString);
  await client.stream.create({ name: "reading" });
});
afterAll(async () => {
  await client.close();
  await server.close();
});

async function freshTopic(partitionCount: number, segmentSize?: string) {
  const name = `topic-${String(topics++)}`;
  await client.topic.create({
    streamId: "reading",
    name,
    partitionCount,
    ...(segmentSize === undefined ? {} : { segmentSize }),
  });
  return { streamId: "reading", topicId: name } as const;
}

const fill = (place: { streamId: string; topicId: string }, partition: number, count: number, size = 20) =>
  client.message.send({
    ...place,
    partition: Partitioning.PartitionId(partition),
    messages: Array.from({ length: count }, (_, i) => ({ payload: String(i).padEnd(size, ".") })),
  });

test(
  "fresh consumers read many small segments without a gap while a producer goes on",
  { timeout: 60_000 },
  async () => {
    const place = await freshTopic(1, "1MiB");
    for (let i = 0; i < 10; i++) await fill(place, 0, 1000, 900);
    const over = new AbortController();
    const producing = (async () => {
      while (!over.signal.aborted) await fill(place, 0, 100, 900);
    })();
    for (let round = 0; round < 3; round++) {
      await using reading = client.consumer({ ...place, name: `fresh-${String(round)}`, partitions: [0] });
      const gaps: unknown[] = [];
      reading.on("gap", (gap) => gaps.push(gap));
      let expected = 0n;
      for await (const { message } of reading) {
        if (message.offset !== expected)
          throw new Error(`${String(message.offset)} came after ${String(expected - 1n)}`);
        expected++;
        if (expected === 10_000n) break;
      }
      expect(gaps).toEqual([]);
    }
    over.abort();
    await producing;
  },
);

test("a reader of 300 partitions gets everything, in the order of each", { timeout: 60_000 }, async () => {
  const place = await freshTopic(300);
  for (let partition = 0; partition < 300; partition += 3) await fill(place, partition, 25);
  await using reader = await client.reader({
    ...place,
    consumer: Consumer.Named("many"),
    partitions: Array.from({ length: 300 }, (_, id) => id),
    options: { count: 10 },
  });
  const next = new Map<number, bigint>();
  for (let seen = 0; seen < 2500;) {
    const { value } = await reader.next();
    for (const { offset } of value?.messages ?? []) {
      expect(offset).toBe(next.get(value?.partitionId ?? -1) ?? 0n);
      next.set(value?.partitionId ?? -1, offset + 1n);
      seen++;
    }
  }
  expect(next.size).toBe(100);
  // It waits for whatever comes next, wherever it comes.
  await fill(place, 299, 1);
  expect((await reader.next()).value?.partitionId).toBe(299);
});

test("a message larger than a read asks for comes alone, among others that are small", async () => {
  const place = await freshTopic(2);
  await fill(place, 0, 1, 2_000_000);
  await fill(place, 0, 1);
  await fill(place, 1, 1);
  await using reading = client.consumer({
    ...place,
    name: "large",
    partitions: [0, 1],
    pollOptions: { maxBytes: 1000 },
    pollingRetryInterval: 50,
  });
  const sizes: number[] = [];
  for await (const { message } of reading) {
    sizes.push(message.payload.length);
    if (sizes.length === 3) break;
  }
  expect(sizes.sort((a, b) => a - b)).toEqual([20, 20, 2_000_000]);
});

test("a slow consumer reads ahead by its budget in bytes and no further", async () => {
  const place = await freshTopic(1);
  for (let i = 0; i < 40; i++) await fill(place, 0, 100, 5000);
  let received = 0;
  await using slow = new Client({
    options: { host: server.host, port: server.port },
    credentials: { username: "iggy", password: "iggy" },
    instrumentation: {
      onResponse: ({ name }) => {
        if (name === "message.fetch") received++;
      },
    },
  });
  await using reading = slow.consumer({
    ...place,
    name: "slow",
    partitions: [0],
    pollOptions: { maxBytes: 500_000 },
    prefetchBytes: 2_000_000,
  });
  await reading.next();
  await new Promise((resolve) => setTimeout(resolve, 300));
  // 20 MB are there; four replies of half a megabyte are read ahead.
  expect(reading.figures(0)?.lagMessages).toBe(3999n);
  expect(received).toBeLessThanOrEqual(8);
});

describe("streams", () => {
  test("of Node.js and of the web: what is not asked for is not taken", async () => {
    const place = await freshTopic(1);
    await fill(place, 0, 20);
    const readable = client.consumer({ ...place, name: "node", partitions: [0] }).readable();
    const texts: string[] = [];
    for await (const received of readable) {
      texts.push((received as { message: { text(): string } }).message.text());
      if (texts.length === 20) break;
    }
    expect(texts).toHaveLength(20);
    expect(readable.destroyed).toBe(true);
    const consumer = client.consumer({ ...place, name: "web", partitions: [0] });
    const reader = consumer.toReadableStream().getReader();
    const first = await reader.read();
    expect(first.value?.message.offset).toBe(0n);
    expect(consumer.lastConsumedOffset(0)).toBe(0n);
    await reader.cancel();
    expect(await consumer.next()).toEqual({ done: true, value: undefined });
  });

  test("destroying a stream closes its consumer", async () => {
    const place = await freshTopic(1);
    const consumer = client.consumer({ ...place, name: "gone", partitions: [0] });
    const readable = consumer.readable();
    readable.resume();
    readable.destroy();
    await once(readable, "close");
    expect(await consumer.next()).toEqual({ done: true, value: undefined });
  });

  test("of polls, as earlier clients had them: they end at the offsets of their start, and keep no client", async () => {
    const place = await freshTopic(2);
    await fill(place, 0, 25);
    await fill(place, 1, 5);
    const count = async (readable: AsyncIterable<unknown>): Promise<number> => {
      let messages = 0;
      for await (const polled of readable) messages += (polled as PolledMessages).count;
      return messages;
    };
    const options = {
      ...place,
      pollingStrategy: PollingStrategy.Next,
      count: 10,
      interval: 100,
      endOnLastOffset: true,
    };
    const single = singleConsumerStream(server.connectionString);
    expect(await count(single({ ...options, partitionId: 0 }))).toBe(25);
    // The server stored how far that came.
    expect(await count(single({ ...options, partitionId: 0 }))).toBe(0);
    expect(await count(groupConsumerStream(server.connectionString)({ ...options, groupName: "old" }))).toBe(30);
  });

  test("batches hand over what is there, each of one partition", async () => {
    const place = await freshTopic(1);
    await fill(place, 0, 25);
    await using consumer = client.consumer({ ...place, name: "batches", partitions: [0] });
    const sizes: number[] = [];
    for await (const batch of consumer.batches({ maxMessages: 10 })) {
      sizes.push(batch.length);
      if (sizes.reduce((sum, size) => sum + size, 0) === 25) break;
    }
    expect(sizes).toEqual([10, 10, 5]);
  });
});

test("metadata: a feed tells every change, a mirror shows what there is", { timeout: 30_000 }, async () => {
  await using mirror = client.metadata.mirror({ interval: 20 });
  await mirror.ready();
  expect([...mirror.streams.values()].map(({ name }) => name)).toContain("reading");
  const kinds: string[] = [];
  const abort = new AbortController();
  const following = (async () => {
    for await (const event of client.metadata.changes({ interval: 20, signal: abort.signal })) {
      if (event.type === "change" && event.record.change !== undefined) kinds.push(event.record.change.kind);
    }
  })();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const stream = await client.stream.create({ name: "mirrored" });
  await client.topic.create({ streamId: stream.id, name: "t", partitionCount: 2 });
  await client.partition.create({ streamId: stream.id, topicId: "t", partitionCount: 1 });
  await client.group.create({ streamId: stream.id, topicId: "t", name: "g" });
  await vi.waitFor(() => {
    const [topic] = [...(mirror.streams.get(stream.id)?.topics.values() ?? [])];
    expect(topic).toMatchObject({ name: "t", partitionsCount: 3 });
    expect([...(topic?.groups.values() ?? [])].map(({ name }) => name)).toEqual(["g"]);
  });
  await client.stream.delete({ streamId: stream.id });
  await vi.waitFor(() => expect(mirror.streams.has(stream.id)).toBe(false));
  await vi.waitFor(() => expect(kinds).toContain("stream_deleted"));
  expect(kinds.filter((kind) => kind.startsWith("stream_"))).toEqual(["stream_created", "stream_deleted"]);
  abort.abort();
  await following;
});

test("a start position of every kind reads what it should", async () => {
  const place = await freshTopic(1);
  await fill(place, 0, 5);
  const firstOf = async (pollingStrategy: PollingStrategy) => {
    await using reading = client.consumer({ ...place, name: "start", partitions: [0], pollingStrategy });
    return (await reading.next()).value?.message.offset;
  };
  expect(await firstOf(PollingStrategy.First)).toBe(0n);
  expect(await firstOf(PollingStrategy.Offset(3))).toBe(3n);
  expect(await firstOf(PollingStrategy.Timestamp(1))).toBe(0n);
});
