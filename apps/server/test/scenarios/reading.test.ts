import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getTopic } from "@iggy/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  atOffset,
  consumer,
  first,
  flushAfter,
  freshPartition,
  last,
  message,
  messages,
  next,
  outcome,
  RawPartition,
  RawSession,
  segmentSize,
  since,
  sleep,
  textOf,
} from "../raw-client/index.js";

const MIB = 1024 * 1024;

let dataDirectory: string;
let server: RunningServer;
let session: RawSession;

beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-reading-"));
  await begin();
});
afterEach(async () => {
  await session.close();
  await server.close();
  await rm(dataDirectory, { recursive: true });
});

async function begin(): Promise<void> {
  server = await startServer({ dataDirectory });
  session = await RawSession.open(server.port);
}

/** Restarts the server and looks at the partition with a new session. */
async function restarted(partition: RawPartition): Promise<RawPartition> {
  await session.close();
  await server.close();
  await begin();
  return RawPartition.of(session, partition.streamId, partition.topicId, partition.partitionId);
}

const segmentsOf = async ({ streamId, topicId, partitionId }: RawPartition): Promise<number> => {
  const topic = await session.call(getTopic, { streamId, topicId });
  return topic?.partitions[partitionId]?.segmentsCount ?? 0;
};

it(
  "a consumer that reads on and on, over many segments and while they grow, sees every offset once",
  { timeout: 60_000 },
  async () => {
    const COUNT = 24_000;
    const PER_BATCH = 200;
    let partition = await freshPartition(session, { options: [segmentSize(MIB)] });
    const payload = Buffer.alloc(500, 7);
    const produce = async (count: number): Promise<void> => {
      const batch = Array.from({ length: PER_BATCH }, () => ({ payload, originTimestamp: 1 }));
      for (let sent = 0; sent < count; sent += PER_BATCH) await partition.send(batch);
    };
    /** Reads with `next` and commit on read until it has seen so many; every offset must follow the one before. */
    const consume = async (reader: RawPartition, id: number, until: number): Promise<void> => {
      let expected = 0;
      while (expected < until) {
        const polled = await reader.poll(next, {
          consumer: consumer(id),
          count: 1000,
          autoCommit: true,
          waitMillis: 1000,
        });
        for (const { offset } of polled.messages) {
          if (offset !== expected) throw new Error(`offset ${offset} after ${expected - 1}`);
          expected++;
        }
      }
    };
    await produce(COUNT / 2);
    expect(await segmentsOf(partition)).toBeGreaterThan(5);
    // Three readers from the start, while the second half is written.
    const readers = await Promise.all([1, 2, 3].map(() => RawSession.open(server.port)));
    const reading = readers.map((reader, id) => consume(partition.by(reader), id, COUNT));
    await Promise.all([produce(COUNT / 2), ...reading]);
    for (const reader of readers) await reader.close();
    // Nothing is in memory after a restart.
    partition = await restarted(partition);
    expect(await segmentsOf(partition)).toBeGreaterThan(10);
    await consume(partition, 9, COUNT);
    expect(Number((await partition.stored(consumer(2)))?.storedOffset)).toBe(COUNT - 1);
  },
);

it(
  "a read from a time starts with the first batch of that time or later, flushed or not, and after a restart",
  { timeout: 60_000 },
  async () => {
    const BATCHES = 12;
    for (const [state, options] of [
      ["nothing flushed", [flushAfter(1_000_000)]],
      ["flushed at once", [flushAfter(1)]],
      ["several segments", [segmentSize(MIB)]],
    ] as const) {
      let partition = await freshPartition(session, { options });
      const size = state === "several segments" ? 400_000 : 10;
      for (let batch = 0; batch < BATCHES; batch++) {
        await partition.send([message(`${batch} a`.padEnd(size)), message(`${batch} b`)]);
        await sleep(2);
      }
      for (let run = 0; run < 2; run++) {
        const stored = await partition.readAll();
        expect(stored).toHaveLength(2 * BATCHES);
        const times = stored.map(({ timestamp }) => timestamp);
        const startOf = async (micros: number): Promise<number | undefined> =>
          (await partition.poll(since(micros), { count: 1 })).messages[0]?.offset;
        for (let batch = 0; batch < BATCHES; batch++) {
          const time = times[2 * batch] ?? 0;
          expect(await startOf(time - 1), `${state}, before batch ${batch}`).toBe(2 * batch);
          expect(await startOf(time), `${state}, at batch ${batch}`).toBe(2 * batch);
          const following = batch + 1 < BATCHES ? 2 * batch + 2 : undefined;
          expect(await startOf(time + 1), `${state}, after batch ${batch}`).toBe(following);
        }
        expect(await startOf(0)).toBe(0);
        if (run === 0) partition = await restarted(partition);
      }
    }
  },
);

it("every strategy cuts batches where it has to, and one message at a time gives the same as all at once", async () => {
  const partition = await freshPartition(session);
  for (let batch = 0; batch < 5; batch++) await partition.send(messages(7, `batch ${batch},`));
  const all = (await partition.readAll()).map(textOf);
  expect(all).toHaveLength(35);
  const single: string[] = [];
  for (let offset = 0; offset < 35; offset++) {
    const polled = await partition.poll(atOffset(offset), { count: 1 });
    single.push(...polled.messages.map(textOf));
  }
  expect(single).toEqual(all);
  expect((await partition.poll(last, { count: 10 })).messages.map(textOf)).toEqual(all.slice(-10));
  expect((await partition.poll(first, { count: 10 })).messages.map(textOf)).toEqual(all.slice(0, 10));
  const small = await partition.poll(first, { maxBytes: 1000 });
  expect(small.messages.length).toBeGreaterThan(0);
  expect(small.messages.map(textOf)).toEqual(all.slice(0, small.messages.length));
});

it("a waiting poll is answered within milliseconds of the message, by message, by count and by bytes", async () => {
  const partition = await freshPartition(session);
  const reader = await RawSession.open(server.port);
  const theirs = partition.by(reader);
  const delays: number[] = [];
  for (let round = 0; round < 200; round++) {
    const waiting = theirs.poll(atOffset(round), { waitMillis: 5000 }).then(({ messages: found }) => {
      expect(found.map(({ offset }) => offset)).toEqual([round]);
      return performance.now();
    });
    await new Promise((resolve) => setImmediate(resolve));
    await partition.send(messages(1));
    const acknowledgedAt = performance.now();
    delays.push((await waiting) - acknowledgedAt);
  }
  delays.sort((a, b) => a - b);
  expect(delays[Math.floor(delays.length * 0.99)]).toBeLessThan(50);

  const byCount = theirs.poll(atOffset(200), { waitMillis: 5000, minCount: 3 });
  await partition.send(messages(1));
  await partition.send(messages(2));
  expect((await byCount).messages).toHaveLength(3);
  const byBytes = theirs.poll(atOffset(203), { waitMillis: 5000, minCount: 100, maxBytes: 2000 });
  await partition.send([message("x".repeat(3000))]);
  expect((await byBytes).messages).toHaveLength(1);
  const startedAt = performance.now();
  expect((await theirs.poll(atOffset(204), { waitMillis: 300 })).messages).toEqual([]);
  expect(performance.now() - startedAt).toBeGreaterThan(280);
  await reader.close();
});

it("of many readers that wait for one message each gets it", async () => {
  const partition = await freshPartition(session);
  const waiting = Array.from({ length: 60 }, (_, id) =>
    partition.tryPoll(next, { waitMillis: 5000, consumer: consumer(id) }),
  );
  await partition.send(messages(1));
  expect(new Set((await Promise.all(waiting)).map(outcome))).toEqual(new Set(["ok"]));
});
