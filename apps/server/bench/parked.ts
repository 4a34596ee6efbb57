import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, createTopic, numericId } from "@iggy/protocol";
import {
  atOffset,
  developmentEnvironment,
  RawPartition,
  RawSession,
  ServerProcess,
  sleep,
} from "../test/raw-client/index.js";

/**
 * What reads that wait cost: parks 64 polls per session until there are so many, measures resident memory and CPU time
 * while nothing happens, then how long a message takes from its producer to a poll that waits for it, with all the others
 * still parked.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/parked.ts [polls] [messages]
 *
 * 10,000 polls and 500 messages without arguments. IGGY_BENCH_PROGRAM names a built main.js to run in place of the
 * sources.
 */
const polls = Number(process.argv[2] ?? 10_000);
const deliveries = Number(process.argv[3] ?? 500);
const program = process.env["IGGY_BENCH_PROGRAM"];

const PER_SESSION = 64;
const PARTITIONS = 100;
const IDLE_SECONDS = 5;
/** Longer than the measurement: no parked poll ends by itself. */
const WAIT_MILLIS = 600_000;
const message = { payload: Buffer.alloc(1000, "parked"), originTimestamp: 1 };

const dataDirectory = await mkdtemp(join(tmpdir(), "iggy-parked-"));
const server = await ServerProcess.start({
  dataDirectory,
  program,
  environment: {
    ...developmentEnvironment,
    IGGY_SHARDING_DEFERRED_POLL_MAX_PENDING: String(polls + PER_SESSION),
    IGGY_SHARDING_DEFERRED_POLL_MAX_WAIT: "10m",
  },
});
try {
  const admin = await RawSession.open(server.port);
  const streamId = numericId((await admin.call(createStream, { name: "parked", options: [] })).id);
  const { topic } = await admin.call(createTopic, {
    streamId,
    name: "parked",
    partitionsCount: PARTITIONS + 1,
    options: [],
  });
  const partition = (session: RawSession, id: number): Promise<RawPartition> =>
    RawPartition.of(session, streamId, numericId(topic.id), id);

  const sessions: RawPartition[] = [];
  for (let at = 0; at < Math.ceil(polls / PER_SESSION); at++) {
    sessions.push(await partition(await RawSession.open(server.port), at % PARTITIONS));
  }
  await sleep(1000);
  const before = server.residentBytes;
  for (let at = 0; at < polls; at++) {
    // Nobody awaits them: they end with the server.
    void sessions[at % sessions.length]?.tryPoll(atOffset(0), { waitMillis: WAIT_MILLIS }).catch(() => undefined);
  }
  // A later request on each connection is answered behind the polls that it carried.
  await Promise.all(sessions.map((parked) => parked.tryPoll(atOffset(0), {})));
  await sleep(1000);
  const added = server.residentBytes - before;
  console.log(
    `${polls} parked polls: ${(added / 1024 / 1024).toFixed(1)} MiB resident, ${(added / polls / 1024).toFixed(1)} KiB each`,
  );
  const cpuBefore = server.cpuSeconds;
  await sleep(IDLE_SECONDS * 1000);
  const share = (server.cpuSeconds - cpuBefore) / IDLE_SECONDS;
  console.log(`${(share * 100).toFixed(1)} % of a core while nothing happens`);

  const producer = await partition(await RawSession.open(server.port), PARTITIONS);
  const consumer = await partition(await RawSession.open(server.port), PARTITIONS);
  const latencies: number[] = [];
  for (let offset = 0; offset < deliveries; offset++) {
    const delivered = consumer.poll(atOffset(offset), { waitMillis: WAIT_MILLIS });
    await sleep(2);
    const sentAt = performance.now();
    void producer.send([message]);
    const { messages } = await delivered;
    if (messages[0]?.offset !== offset) throw new Error(`asked for ${offset}, got ${messages[0]?.offset}`);
    latencies.push(performance.now() - sentAt);
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number): string => (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(2);
  console.log(`from a send to its delivery: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
} finally {
  await server.kill();
  await rm(dataDirectory, { recursive: true });
}
