import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchMessages, getStats, getTopic, type FetchMessagesRequest } from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RunningServer } from "../../src/index.js";
import { startServerOn } from "../../src/start-server.js";
import { thisMachine } from "../../src/system/index.js";
import {
  atOffset,
  consumer,
  freshTopic,
  messages,
  outcome,
  RawLink,
  RawSession,
  type RawTopic,
  sleep,
} from "../raw-client/index.js";

const PARTITIONS = 8;
/** Of a session, by default. */
const WAITING_READS_MAX = 64;

const start = (dataDirectory: string, shards: number): Promise<RunningServer> =>
  startServerOn(
    { ...thisMachine({}), allowedCores: [0, 1, 2, 3] },
    { dataDirectory, config: { "sharding.cpu_allocation": shards } },
  );

let dataDirectory: string;
let server: RunningServer;
let session: RawSession;
let topic: RawTopic;

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-shards-"));
  server = await start(dataDirectory, 3);
  session = await RawSession.open(server.port);
  topic = await freshTopic(session, { partitions: PARTITIONS });
}, 60_000);

afterAll(async () => {
  await session.close();
  await server.close();
  await rm(dataDirectory, { recursive: true });
});

/** One fetch of every partition from an offset on. */
function fetchAll(offset: bigint, more: Partial<FetchMessagesRequest>) {
  const targets = topic.partitions.map(({ partitionId, incarnation }) => ({
    partitionId,
    strategy: { kind: "offset" as const, value: offset },
    maxBytes: 1_000_000,
    incarnation,
    ownerGeneration: 0n,
  }));
  const { streamId, topicId } = topic.partitions[0]!;
  return session.call(fetchMessages, {
    consumer: consumer(7),
    streamId,
    topicId,
    waitUs: 0n,
    requestTimeoutUs: 8_000_000n,
    minCount: 1,
    count: 100,
    maxBytes: 1_000_000,
    autoCommit: false,
    targets,
    ...more,
  });
}

it("a fetch over several shards gives the sections in order, out of one budget of messages", async () => {
  for (const partition of topic.partitions) await partition.send(messages(3));
  const all = await fetchAll(0n, {});
  expect(all.sections.map(({ partitionId }) => partitionId)).toEqual(topic.partitions.map((_, id) => id));
  expect(all.sections.map(({ status, messagesCount }) => [status, messagesCount])).toEqual(
    topic.partitions.map(() => [0, 3]),
  );
  const some = await fetchAll(0n, { count: 10 });
  expect(some.sections.map(({ messagesCount }) => messagesCount)).toEqual([3, 3, 3, 1, 0, 0, 0, 0]);
});

it("a fetch that waits counts what comes to any of its shards, and ends when its time is over", async () => {
  const waiting = fetchAll(3n, { waitUs: 6_000_000n, minCount: 5 });
  await sleep(50);
  for (const id of [0, 3, 5, 6]) await topic.partitions[id]!.send(messages(1));
  expect(await Promise.race([waiting.then(() => "early"), sleep(200).then(() => "waits")])).toBe("waits");
  await topic.partitions[7]!.send(messages(1));
  const { sections } = await waiting;
  expect(sections.reduce((sum, { messagesCount }) => sum + messagesCount, 0)).toBe(5);
  const late = await fetchAll(4n, { waitUs: 300_000n, minCount: 1 });
  expect(late.sections.map(({ status, messagesCount }) => [status, messagesCount])).toEqual(
    topic.partitions.map(() => [0, 0]),
  );
});

it("a session has so many waiting reads on all shards together, and a fetch over several is one of them", async () => {
  const each = WAITING_READS_MAX / 2 + 10;
  const fetches = Array.from({ length: each }, () =>
    fetchAll(1000n, { waitUs: 5_000_000n }).then(
      () => "ok",
      (error: unknown) => String(error),
    ),
  );
  const polls = Array.from({ length: each }, async (_, at) =>
    outcome(await topic.partitions[at % PARTITIONS]!.tryPoll(atOffset(1000), { waitMillis: 5_000 })),
  );
  // One that need not wait is served all the same.
  expect((await fetchAll(0n, { waitUs: 5_000_000n })).sections).toHaveLength(PARTITIONS);
  const outcomes = await Promise.all([...fetches, ...polls]);
  expect(outcomes.filter((text) => text === "ok")).toHaveLength(WAITING_READS_MAX);
  expect(outcomes.filter((text) => text.includes("status 90"))).toHaveLength(20);
  // Their places are free again.
  expect(outcome(await topic.partitions[0]!.tryPoll(atOffset(1000), { waitMillis: 300 }))).toBe("ok");
});

it("figures of every shard show as soon as a send is answered", async () => {
  const { streamId, topicId } = topic.partitions[0]!;
  for (const partition of topic.partitions) {
    const count = async (): Promise<bigint> =>
      (await session.call(getTopic, { streamId, topicId }))!.topic.messagesCount;
    const before = await count();
    await partition.send(messages(2));
    expect(await count()).toBe(before + 2n);
  }
  expect((await session.call(getStats, {})).messagesCount).toBe(45n);
});

it("another number of shards finds everything, and goes on", { timeout: 60_000 }, async () => {
  const before = await Promise.all(topic.partitions.map((partition) => partition.readAll()));
  for (const shards of [1, 2, 4]) {
    await session.close();
    await server.close();
    server = await start(dataDirectory, shards);
    expect((await session.bind(await RawLink.connect(server.port))).kind).toBe("ok");
    const after = await Promise.all(topic.partitions.map((partition) => partition.readAll()));
    expect(after).toEqual(before);
    for (const [id, partition] of topic.partitions.entries()) {
      const offset = await partition.send(messages(1));
      before[id]?.push(...(await partition.poll(atOffset(offset))).messages);
    }
  }
});
