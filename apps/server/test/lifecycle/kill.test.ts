import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, createTopic, getTopic, numericId } from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  developmentEnvironment,
  outcome,
  persisted,
  RawLink,
  RawPartition,
  RawSession,
  Seeded,
  segmentSize,
  ServerProcess,
  sleep,
} from "../raw-client/index.js";
import { ChurnLane, MetadataLane, OffsetLane, SenderLane } from "./kill-workload.js";

const ROUNDS = Number(process.env["IGGY_TEST_KILL_ROUNDS"] ?? 25);
const SEED = Number(process.env["IGGY_TEST_SEED"] ?? Date.now() % 1_000_000);
const WORK_MILLIS_MAX = 250;
/** Small segments, so that kills fall into rotations too. */
const SEGMENT_BYTES = 1024 * 1024;
const PLAIN_PARTITIONS = 3;

let dataDirectory: string;
let server: ServerProcess;

/** Few slots in the metadata journal, so that kills fall into checkpoints as well. */
const startServer = (): Promise<ServerProcess> =>
  ServerProcess.start({
    dataDirectory,
    environment: { ...developmentEnvironment, IGGY_METADATA_JOURNAL_SLOTS: "256" },
  });

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-kill-"));
});
afterAll(async () => {
  await server.kill();
  await rm(dataDirectory, { recursive: true });
});

it(
  `${ROUNDS} kills at any moment lose nothing that was acknowledged and repeat nothing (seed ${SEED})`,
  { timeout: 60_000 + ROUNDS * 15_000 },
  async () => {
    const random = new Seeded(SEED);
    server = await startServer();
    const session = await RawSession.open(server.port);
    const streamId = numericId((await session.call(createStream, { name: "kept", options: [] })).id);
    const topic = (name: string, partitionsCount: number, durability: typeof persisted) => {
      const options = [...durability, segmentSize(SEGMENT_BYTES)];
      return session.call(createTopic, { streamId, name, partitionsCount, options });
    };
    const plain = (await topic("plain", PLAIN_PARTITIONS, [])).topic;
    const safe = (await topic("safe", 2, persisted)).topic;
    const partition = (topicId: number, id: number): Promise<RawPartition> =>
      RawPartition.of(session, streamId, numericId(topicId), id);

    const senders: SenderLane[] = [];
    for (let id = 0; id < PLAIN_PARTITIONS; id++) {
      senders.push(new SenderLane(random, await partition(plain.id, id), `plain ${id}`, id === 0 ? 77n : undefined));
    }
    senders.push(new SenderLane(random, await partition(safe.id, 0), "safe 0"));
    senders.push(new SenderLane(random, await partition(safe.id, 1), "safe 1", 78n));
    const offsets = new OffsetLane(random, await partition(plain.id, 1), senders[1]!);
    const metadata = new MetadataLane(random, await partition(plain.id, 0));
    // A lane of metadata of its own takes a session of its own.
    const other = await RawSession.open(server.port);
    const churn = new ChurnLane(random, other, streamId);
    const lanes = [...senders, offsets, metadata, churn];

    let answered = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const working = Promise.all(lanes.map((lane) => lane.run()));
      // A fault is reported when all have ended.
      working.catch(() => undefined);
      await sleep(random.integer(WORK_MILLIS_MAX));
      await server.kill();
      for (const count of await working) answered += count;

      server = await startServer();
      for (const each of [session, other]) {
        expect(outcome(await each.bind(await RawLink.connect(server.port))), `round ${round}`).toBe("ok");
      }
      for (const lane of lanes) await lane.settle();
      const faults = (await Promise.all(lanes.map((lane) => lane.faults()))).flat();
      expect(faults, `after round ${round}`).toEqual([]);
      expect(server.stdout.split("\n").filter((line) => line.includes('"level":"error"'))).toEqual([]);
    }

    expect(answered).toBeGreaterThan(ROUNDS * 10);
    // A producer's sequence is known from before: one that was stored is not stored again.
    expect(await senders[0]!.resendLast()).toMatch(/^(ok|status 92)$/);
    for (const { topic: found } of [
      await session.call(getTopic, { streamId, topicId: numericId(plain.id) }),
      await session.call(getTopic, { streamId, topicId: numericId(safe.id) }),
    ].filter((details) => details !== null)) {
      const own = senders.filter((_, index) => index < PLAIN_PARTITIONS === (found.id === plain.id));
      expect(found.messagesCount).toBe(BigInt(own.reduce((sum, sender) => sum + sender.acknowledged, 0)));
    }
    expect(await server.stop()).toBe(0);
  },
);
