import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, createTopic, numericId, ping } from "@iggy/protocol";
import { developmentEnvironment, RawPartition, RawSession, ServerProcess } from "../test/raw-client/index.js";

/**
 * Requests per second of many connections that each wait for their reply before the next: first a ping, which touches
 * nothing, then a publish of one message to a partition of the connection's own. The difference is what storing costs.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/requests.ts [connections] [seconds]
 *
 * 64 connections and 5 seconds without arguments. IGGY_BENCH_PROGRAM names a built main.js to run in place of the
 * sources. The load runs in this process, so client and server share the machine.
 */
const connections = Number(process.argv[2] ?? 64);
const seconds = Number(process.argv[3] ?? 5);
const program = process.env["IGGY_BENCH_PROGRAM"];
const WARM_UP_SECONDS = 2;
const message = { payload: Buffer.alloc(1000, "request"), originTimestamp: 1 };

const dataDirectory = await mkdtemp(join(tmpdir(), "iggy-requests-"));
const server = await ServerProcess.start({ dataDirectory, program, environment: developmentEnvironment });
try {
  const admin = await RawSession.open(server.port);
  const streamId = numericId((await admin.call(createStream, { name: "requests", options: [] })).id);
  const { topic } = await admin.call(createTopic, {
    streamId,
    name: "requests",
    partitionsCount: connections,
    options: [],
  });
  const sessions: RawSession[] = [];
  const partitions: RawPartition[] = [];
  for (let id = 0; id < connections; id++) {
    const session = await RawSession.open(server.port);
    sessions.push(session);
    partitions.push(await RawPartition.of(session, streamId, numericId(topic.id), id));
  }
  await report(
    "ping",
    sessions.map((session) => () => session.call(ping, {})),
  );
  await report(
    "publish",
    partitions.map((partition) => () => partition.send([message])),
  );
} finally {
  await server.kill();
  await rm(dataDirectory, { recursive: true });
}

async function report(what: string, actors: readonly (() => Promise<unknown>)[]): Promise<void> {
  await run(actors, WARM_UP_SECONDS);
  const cpuBefore = server.cpuSeconds;
  const latencies = await run(actors, seconds);
  const cpuMicros = ((server.cpuSeconds - cpuBefore) * 1e6) / latencies.length;
  latencies.sort((a, b) => a - b);
  const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? 0;
  console.log(
    `${what}: ${Math.round(latencies.length / seconds)} requests/s on ${connections} connections, ` +
      `p99 ${p99.toFixed(2)} ms, ${cpuMicros.toFixed(1)} µs of the server's CPU each`,
  );
}

/** Milliseconds of each request. */
async function run(actors: readonly (() => Promise<unknown>)[], forSeconds: number): Promise<number[]> {
  const until = performance.now() + forSeconds * 1000;
  const latencies: number[] = [];
  await Promise.all(
    actors.map(async (request) => {
      for (let sent = performance.now(); sent < until;) {
        await request();
        const answered = performance.now();
        latencies.push(answered - sent);
        sent = answered;
      }
    }),
  );
  return latencies;
}
