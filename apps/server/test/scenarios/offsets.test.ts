import {
  type Consumer,
  createConsumerGroup,
  deleteConsumerGroup,
  encodeUtf8,
  getClients,
  getMe,
  namedId,
  numericId,
  storeConsumerOffset,
  xxh32,
} from "@iggy/protocol";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  consumer,
  eventually,
  first,
  freshPartition,
  message,
  messages,
  next,
  outcome,
  RawLink,
  type RawPartition,
  RawSession,
  textOf,
} from "../raw-client/index.js";

const OFFSETS_MAX = 8;
/** Request numbers below the highest one of which a partition knows whether they were used. */
const NUMBERS_TOLD_APART = 128;

let server: RunningServer;
let session: RawSession;
let partition: RawPartition;

beforeAll(async () => {
  server = await startServer({ config: { "partition.consumer_offsets_max": OFFSETS_MAX } });
  session = await RawSession.open(server.port);
});
afterAll(async () => {
  await session.close();
  await server.close();
});
beforeEach(async () => {
  partition = await freshPartition(session);
  await partition.send(messages(10));
});

const storedOf = async (who: Consumer): Promise<number | undefined> => {
  const found = await partition.stored(who);
  return found === null ? undefined : Number(found.storedOffset);
};

it("a committing read shows its offset to the next read at once, whoever makes it", async () => {
  const other = await RawSession.open(server.port);
  const theirs = partition.by(other);
  for (let round = 0; round < 5; round++) {
    const reader = round % 2 === 0 ? partition : theirs;
    const polled = await reader.poll(next, { count: 2, autoCommit: true });
    expect(polled.messages.map(({ offset }) => offset)).toEqual([2 * round, 2 * round + 1]);
    expect(await storedOf(consumer(1))).toBe(2 * round + 1);
  }
  expect((await partition.poll(next, { autoCommit: true })).messages).toEqual([]);
  expect(await storedOf(consumer(1))).toBe(9);
  await other.close();
});

it("a committing read moves forward only, a store anywhere", async () => {
  await partition.store(7);
  expect((await partition.poll(first, { count: 3, autoCommit: true })).messages).toHaveLength(3);
  expect(await storedOf(consumer(1))).toBe(7);
  await partition.store(2);
  expect(await storedOf(consumer(1))).toBe(2);
  expect((await partition.poll(next, { count: 1 })).messages.map(({ offset }) => offset)).toEqual([3]);
});

it("committing reads of one consumer at the same time never give a message twice", async () => {
  for (let i = 0; i < 20; i++) await partition.send(messages(10, `more ${i},`));
  const readers = await Promise.all(Array.from({ length: 4 }, () => RawSession.open(server.port)));
  const seen: string[] = [];
  const readOn = async (reader: RawPartition): Promise<void> => {
    for (;;) {
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => reader.tryPoll(next, { count: 7, autoCommit: true })),
      );
      let found = 0;
      for (const answer of answers) {
        // The stored offset moved since this read began: it gives nothing.
        if (answer.kind !== "ok") expect(outcome(answer)).toBe("status 58");
        else {
          const texts = reader.polled(answer).messages.map(textOf);
          seen.push(...texts);
          found += texts.length;
        }
      }
      if (found === 0 && answers.every(({ kind }) => kind === "ok")) return;
    }
  };
  await Promise.all(readers.map((reader) => readOn(partition.by(reader))));
  expect(seen).toHaveLength(210);
  expect(new Set(seen).size).toBe(210);
  await Promise.all(readers.map((reader) => reader.close()));
});

it("a consumer by name and by the number of its name are one, kinds and partitions are not", async () => {
  const named: Consumer = { kind: "consumer", id: namedId("reports") };
  const numbered = consumer(xxh32(encodeUtf8("reports")));
  await partition.store(4, named);
  expect(await storedOf(numbered)).toBe(4);
  await partition.store(6, numbered);
  expect(await storedOf(named)).toBe(6);
  expect(await storedOf(consumer(4))).toBeUndefined();
});

it("stores without acknowledgement are there for the next read", async () => {
  const { streamId, topicId, context } = partition;
  const request = { consumer: consumer(2), streamId, topicId, partitionId: 0, offset: 3n, ack: "no_ack" as const };
  expect(await session.try(storeConsumerOffset, request, context)).toBe("ok");
  expect(await storedOf(consumer(2))).toBe(3);
});

it("an external group holds any offset for anybody, and loses all with its group", async () => {
  const { streamId, topicId } = partition;
  const made = await session.call(createConsumerGroup, { streamId, topicId, name: "kafka" });
  const external: Consumer = { kind: "external_group", id: namedId("kafka") };
  await partition.store(1_000_000, external);
  expect(await storedOf(external)).toBe(1_000_000);
  expect(await storedOf({ kind: "external_group", id: numericId(made.group.id) })).toBe(1_000_000);
  expect(outcome(await partition.tryStore(1, { kind: "consumer_group", id: namedId("kafka") }))).toBe("status 5009");
  await session.call(deleteConsumerGroup, { streamId, topicId, groupId: namedId("kafka") });
  await session.call(createConsumerGroup, { streamId, topicId, name: "kafka" });
  expect(await storedOf(external)).toBeUndefined();
});

it("a new offset above the limit is refused with 3024, stored or committed by a read; what is there goes on", async () => {
  for (let id = 0; id < OFFSETS_MAX; id++) await partition.store(1, consumer(100 + id));
  expect(outcome(await partition.tryStore(1, consumer(200)))).toBe("status 3024");
  expect(outcome(await partition.tryPoll(next, { consumer: consumer(200), autoCommit: true }))).toBe("status 3024");
  expect((await partition.poll(next, { consumer: consumer(200) })).messages).toHaveLength(10);
  await partition.store(5, consumer(100));
  expect((await partition.poll(next, { consumer: consumer(101), autoCommit: true })).messages).toHaveLength(8);
  expect(outcome(await partition.tryDeleteOffset(consumer(102)))).toBe("ok");
  expect(outcome(await partition.tryDeleteOffset(consumer(102)))).toBe("status 3021");
  await partition.store(1, consumer(200));
});

it("a committing read that is cancelled or cut off while it waits has stored nothing", async () => {
  const reader = await RawSession.open(server.port);
  const theirs = partition.by(reader);
  await partition.store(9, consumer(5));
  const waiting = reader.link.ask(
    theirs.pollFrame(next, { consumer: consumer(5), autoCommit: true, waitMillis: 10_000 }),
  );
  // The poll is parked once something sent after it is answered.
  expect(Number((await theirs.stored(consumer(5)))?.storedOffset)).toBe(9);
  const { clientId } = (await reader.call(getMe, {})).client;
  await reader.link.reset();
  expect((await waiting).kind).toBe("closed");
  // The server learns of it when it can, and the owner of the partition beside other requests.
  const isListed = async (): Promise<boolean> =>
    (await session.call(getClients, {})).clients.some((client) => client.clientId === clientId);
  await eventually("the server knows that the connection is gone", async () => !(await isListed()));
  expect(await storedOf(consumer(5))).toBe(9);
  await partition.send([message("after")]);
  expect(await storedOf(consumer(5))).toBe(9);
  expect(outcome(await reader.bind(await RawLink.connect(server.port)))).toBe("ok");
  expect((await theirs.poll(next, { consumer: consumer(5) })).messages.map(textOf)).toEqual(["after"]);
  await reader.close();
});

it("far more sends at once than a partition takes: each is stored once or refused as not admitted", async () => {
  const frames = Array.from({ length: 600 }, (_, index) => partition.sendFrame([message(`burst ${index}`)]));
  const answers = frames.map((frame) => session.deliver(frame));
  const outcomes = (await Promise.all(answers)).map(outcome);
  for (const each of outcomes) expect(each).toMatch(/^(ok|status 58)$/);
  const stored = (await partition.readAll()).slice(10).map(textOf);
  const acknowledged = outcomes.flatMap((each, index) => (each === "ok" ? [`burst ${index}`] : []));
  expect(stored).toEqual(acknowledged);
  // What was refused may be sent again, under the same number while that is among the last ones.
  let again = 0;
  for (let index = frames.length - NUMBERS_TOLD_APART; index < frames.length; index++) {
    if (outcomes[index] === "ok") continue;
    await eventually("it is admitted", async () => outcome(await session.deliver(frames[index]!)) === "ok");
    again++;
  }
  const texts = (await partition.readAll()).map(textOf);
  expect(texts).toHaveLength(10 + acknowledged.length + again);
  expect(new Set(texts).size).toBe(texts.length);
});
