import { createStream, sendMessages } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import {
  AlreadyExistsError,
  Consumer,
  InvalidCredentialsError,
  NotFoundError,
  Partitioning,
  PartitionHistoryError,
  type PollMessages,
  PollingStrategy,
  UnauthorizedError,
} from "../src/index.js";
import { FakeServer } from "../src/testing/index.js";

let server: FakeServer;
let client: ClientCore;
beforeEach(() => {
  server = new FakeServer();
  client = server.client();
});
afterEach(() => server.close());

const place = { streamId: "shop", topicId: "orders" };

async function makeTopic(partitionCount = 1): Promise<void> {
  await client.stream.create({ name: "shop" });
  await client.topic.create({ streamId: "shop", name: "orders", partitionCount });
}

const sendTexts = (partitionId: number, ...texts: string[]): Promise<unknown> =>
  client.message.send({
    ...place,
    partition: Partitioning.PartitionId(partitionId),
    messages: texts.map((payload) => ({ payload, headers: { kind: "test" } })),
  });

const poll = (options: Partial<PollMessages> = {}, by = client) =>
  by.message.poll({
    ...place,
    partitionId: 0,
    consumer: Consumer.Named("app"),
    pollingStrategy: PollingStrategy.First,
    options: {},
    ...options,
  });

const textsOf = (polled: Awaited<ReturnType<typeof poll>>): string[] =>
  polled.messages.map((message) => message.text());

test("streams, topics, users and permissions behave as on a server", async () => {
  await makeTopic(3);
  await expect(client.stream.create({ name: "shop" })).rejects.toBeInstanceOf(AlreadyExistsError);
  const topic = await client.topic.get(place);
  expect(topic?.partitions).toHaveLength(3);
  await expect(client.topic.get({ ...place, topicId: "none" })).resolves.toBeNull();
  await client.user.create({ username: "reader", password: "secret" });
  const reader = server.client({ credentials: { username: "reader", password: "secret" } });
  await expect(reader.stream.create({ name: "other" })).rejects.toBeInstanceOf(UnauthorizedError);
  const { token } = await client.token.create({ name: "ci-token" });
  const byToken = server.client({ credentials: { token } });
  await expect(byToken.stream.list()).resolves.toHaveLength(1);
  const wrong = server.client({ credentials: { username: "iggy", password: "wrong" } });
  await expect(wrong.connect()).rejects.toBeInstanceOf(InvalidCredentialsError);
  await expect(
    client.message.send({ ...place, streamId: "none", messages: [{ payload: "x" }] }),
  ).rejects.toBeInstanceOf(NotFoundError);
});

describe("messages", () => {
  beforeEach(() => makeTopic());

  test("are read back from every start, with their headers and checksums", async () => {
    await sendTexts(0, "a", "b", "c");
    await sendTexts(0, "d");
    expect(textsOf(await poll())).toEqual(["a", "b", "c", "d"]);
    expect(textsOf(await poll({ pollingStrategy: PollingStrategy.Offset(1n), options: { count: 2 } }))).toEqual([
      "b",
      "c",
    ]);
    expect(textsOf(await poll({ pollingStrategy: PollingStrategy.Last, options: { count: 1 } }))).toEqual(["d"]);
    expect(textsOf(await poll({ options: { maxBytes: 344 } }))).toEqual(["a"]);
    const [first] = (await poll()).messages;
    expect(first?.userHeadersMap.get("kind")).toBeDefined();
    expect((await client.topic.get(place))?.messagesCount).toBe(4n);
  });

  test("from a time, by the clock that the test gives", async () => {
    let now = 1_000_000n;
    await using timed = new FakeServer({ clock: () => now });
    const by = timed.client();
    await by.stream.create({ name: "shop" });
    await by.topic.create({ streamId: "shop", name: "orders" });
    for (const payload of ["a", "b"]) {
      await by.message.send({ ...place, partition: Partitioning.PartitionId(0), messages: [{ payload }] });
      now += 1_000_000n;
    }
    expect(textsOf(await poll({ pollingStrategy: PollingStrategy.Timestamp(1_500_000n) }, by))).toEqual(["b"]);
  });

  test("a read waits until there is something, or its time is over", async () => {
    const waiting = poll({ pollingStrategy: PollingStrategy.Offset(0n), options: { maxWait: 10_000 } });
    await sendTexts(0, "a");
    expect(textsOf(await waiting)).toEqual(["a"]);
    expect(textsOf(await poll({ pollingStrategy: PollingStrategy.Offset(1n), options: { maxWait: 10 } }))).toEqual([]);
    const abort = new AbortController();
    const aborted = client.message.poll(
      {
        ...place,
        partitionId: 0,
        consumer: Consumer.Named("app"),
        pollingStrategy: PollingStrategy.Offset(9n),
        options: { maxWait: 10_000 },
      },
      { signal: abort.signal },
    );
    abort.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
  });

  test("offsets are stored, and the next read goes on behind them", async () => {
    await sendTexts(0, "a", "b");
    const polled = await poll({ options: { count: 1 } });
    if (polled.checkpoint === null) throw new Error("no checkpoint");
    await client.offset.commit({ ...place, consumer: Consumer.Named("app"), checkpoint: polled.checkpoint });
    expect(textsOf(await poll({ pollingStrategy: PollingStrategy.Next }))).toEqual(["b"]);
    const target = { ...place, consumer: Consumer.Named("app"), partitionId: 0 };
    await expect(client.offset.get(target)).resolves.toMatchObject({ storedOffset: 0n, currentOffset: 1n });
    await client.offset.delete(target);
    await expect(client.offset.get(target)).resolves.toBeNull();
  });

  test("of a topic that was made anew are gone, and old checkpoints are refused", async () => {
    await sendTexts(0, "a");
    const polled = await poll();
    await client.topic.delete(place);
    await client.topic.create({ streamId: "shop", name: "orders" });
    expect(textsOf(await poll())).toEqual([]);
    await expect(poll({ pollingStrategy: polled.continuation })).rejects.toBeInstanceOf(PartitionHistoryError);
  });

  test("producers and fetches work on it", async () => {
    await client.partition.create({ ...place, partitionCount: 1 });
    const producer = client.producer({ ...place, partitioning: Partitioning.PartitionId(1) });
    await producer.send([{ payload: "a" }, { payload: "b" }]);
    const { sections } = await client.message.fetch({
      ...place,
      consumer: Consumer.Named("app"),
      targets: [
        { partitionId: 0, pollingStrategy: PollingStrategy.Offset(0n) },
        { partitionId: 1, pollingStrategy: PollingStrategy.Offset(0n) },
      ],
      options: {},
    });
    expect(sections.map((section) => section.messages?.count)).toEqual([0, 2]);
  });
});

test("a group divides its partitions among members, and hands them over once they are committed", async () => {
  await makeTopic(2);
  const other = server.client();
  const group = { ...place, groupId: "workers" };
  await client.group.create({ ...place, name: "workers" });
  await client.group.join(group);
  expect((await client.group.sync(group))?.partitions).toEqual([0, 1]);
  await sendTexts(1, "a");
  const consumer = Consumer.Group("workers");
  const polled = await poll({ consumer, partitionId: 1 });
  await other.group.join(group);
  // The partition is given back when what was read is committed.
  expect((await other.group.sync(group))?.partitions).toEqual([]);
  if (polled.checkpoint === null) throw new Error("no checkpoint");
  await client.offset.commit({ ...place, consumer, checkpoint: polled.checkpoint });
  expect((await client.group.sync(group))?.partitions).toEqual([0]);
  expect((await other.group.sync(group))?.partitions).toEqual([1]);
  await expect(poll({ consumer, partitionId: 1 })).rejects.toMatchObject({ code: 5009 });
  await other.close();
  expect((await client.group.sync(group))?.partitions).toEqual([0, 1]);
});

describe("failures that a test asks for", () => {
  test("a refusal of the next request of a command", async () => {
    server.refuseNext(createStream, 41);
    await expect(client.stream.create({ name: "shop" })).rejects.toBeInstanceOf(UnauthorizedError);
    await expect(client.stream.create({ name: "shop" })).resolves.toBeDefined();
    // What the client repeats by itself shows in nothing.
    await client.topic.create({ streamId: "shop", name: "orders" });
    server.refuseNext(sendMessages, 58, 2);
    await sendTexts(0, "a");
    expect(textsOf(await poll())).toEqual(["a"]);
  });

  test("connections that break, sessions that end, a server that is away", async () => {
    await makeTopic();
    server.dropConnections();
    await sendTexts(0, "a");
    server.endSessions();
    expect(textsOf(await poll())).toEqual(["a"]);
    server.suspend();
    await expect(client.stream.list({ timeout: 50 })).rejects.toMatchObject({ code: 58 });
    server.resume();
    await expect(client.stream.list()).resolves.toHaveLength(1);
  });

  test("what it lacks says so", async () => {
    await expect(client.system.getStats()).rejects.toMatchObject({ code: 5 });
  });
});
