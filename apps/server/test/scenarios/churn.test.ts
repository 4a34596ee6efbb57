import {
  createPartitions,
  createStream,
  createTopic,
  deletePartitions,
  deleteStream,
  deleteTopic,
  getPartitionRoute,
  getStats,
  getTopic,
  numericId,
  sendMessages,
} from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  eventually,
  first,
  freshName,
  message,
  messages,
  outcome,
  RawPartition,
  RawSession,
  sleep,
  textOf,
} from "../raw-client/index.js";

/** Up to 1000, what one request may ask for. */
const PARTITIONS = Number(process.env["IGGY_TEST_PARTITIONS"] ?? 200);

let server: RunningServer;
let admin: RawSession;

beforeAll(async () => {
  server = await startServer();
  admin = await RawSession.open(server.port);
});
afterAll(async () => {
  await admin.close();
  await server.close();
});

it("a topic that is deleted and made again under load keeps nothing of the old one", { timeout: 60_000 }, async () => {
  const SENDERS = 3;
  const CYCLES = 12;
  const { id } = await admin.call(createStream, { name: "churn", options: [] });
  const place = { streamId: numericId(id), topicId: numericId(0) };
  /** Acknowledged texts by the incarnation that took them, in order of their offsets. */
  const acknowledged = new Map<bigint, Map<number, string>>();
  const refusals = new Set<string>();
  const load = { isOver: false };
  const goesOn = (): boolean => !load.isOver;

  const sendOn = async (name: string): Promise<void> => {
    const session = await RawSession.open(server.port);
    for (let number = 0; !load.isOver;) {
      const route = await session.ask(getPartitionRoute, { ...place, partitionId: 0 });
      if (route.kind !== "ok") {
        refusals.add(outcome(route));
        await sleep(2);
        continue;
      }
      const { incarnation, metadataOp } = session.decoded(getPartitionRoute, route);
      const partition = RawPartition.routed(session, place, 0, { incarnation, metadataOp });
      for (let ok = true; ok && goesOn(); number++) {
        const text = `${name} ${number}`;
        const answer = await partition.trySend([message(text)]);
        ok = answer.kind === "ok";
        if (answer.kind !== "ok") refusals.add(outcome(answer));
        else {
          const [confirmation] = session.decoded(sendMessages, answer).confirmations;
          const texts = acknowledged.get(incarnation) ?? new Map<number, string>();
          acknowledged.set(incarnation, texts.set(Number(confirmation?.baseOffset), text));
        }
      }
    }
    await session.close();
  };

  const sending = Array.from({ length: SENDERS }, (_, index) => sendOn(`sender ${index}`));
  let used = 0;
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    await admin.call(createTopic, { streamId: place.streamId, partitionsCount: 1, name: "topic", options: [] });
    // Some go before they were ever used.
    if (cycle % 3 > 0) await eventually("it takes messages", () => acknowledged.size > used);
    used = acknowledged.size;
    if (cycle < CYCLES - 1) await admin.call(deleteTopic, place);
  }
  await eventually("the last one is filled", async () => {
    const topic = await admin.call(getTopic, place);
    return Number(topic?.topic.messagesCount ?? 0) > 20;
  });
  load.isOver = true;
  await Promise.all(sending);

  // Not there, not there any more, not there yet; 57 for what was being written when its partition ended.
  expect([...refusals].filter((each) => !/^status (57|58|87|2010|3007)$/.test(each))).toEqual([]);
  const partition = await RawPartition.of(admin, place.streamId, place.topicId);
  const stored = await partition.readAll();
  expect(stored.map(({ offset }) => offset)).toEqual(stored.map((_, index) => index));
  const texts = acknowledged.get(partition.incarnation) ?? new Map<number, string>();
  expect(texts.size).toBe(stored.length);
  expect(stored.every((each) => texts.get(each.offset) === textOf(each))).toBe(true);
  expect(acknowledged.size).toBeGreaterThan(2);
  await admin.call(deleteStream, { streamId: place.streamId });
});

it(`${PARTITIONS} partitions at once are there, serve, and go again`, { timeout: 120_000 }, async () => {
  const { id } = await admin.call(createStream, { name: freshName("wide"), options: [] });
  const streamId = numericId(id);
  await admin.call(createTopic, { streamId, partitionsCount: PARTITIONS, name: "wide", options: [] });
  const topicId = numericId(0);
  const open = async (partitionId: number): Promise<RawPartition> =>
    RawPartition.of(admin, streamId, topicId, partitionId);
  const last = await open(PARTITIONS - 1);
  expect(await last.send(messages(1))).toBe(0);
  for (const partitionId of [0, 1, PARTITIONS - 2]) expect(await (await open(partitionId)).send(messages(2))).toBe(0);
  expect((await admin.call(getStats, {})).partitionsCount).toBe(PARTITIONS);
  expect(await admin.try(createPartitions, { streamId, topicId, partitionsCount: 1001 })).toBe("status 2015");
  await admin.call(deletePartitions, { streamId, topicId, partitionsCount: PARTITIONS - 10 });
  expect(outcome(await last.tryPoll(first))).toBe("status 3007");
  expect((await (await open(1)).poll(first)).messages).toHaveLength(2);
  await admin.call(createPartitions, { streamId, topicId, partitionsCount: PARTITIONS - 10 });
  // The same number is another partition now.
  expect(outcome(await last.tryPoll(first))).toBe("status 87");
  const again = await open(PARTITIONS - 1);
  await eventually("it is ready", async () => outcome(await again.tryPoll(first)) === "ok", 30_000);
  expect((await again.poll(first)).messages).toEqual([]);
  await admin.call(deleteStream, { streamId });
  expect((await admin.call(getStats, {})).partitionsCount).toBe(0);
});
