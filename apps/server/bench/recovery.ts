import { mkdtemp, open, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, createTopic, numericId } from "@iggy/protocol";
import { eventually, last, outcome, RawPartition, RawSession, ServerProcess } from "../test/raw-client/index.js";

/**
 * How long a server needs after a kill: fills a number of GB, kills the server, starts it again, and measures until the
 * first login and until every partition gave its last message.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/recovery.ts [gigabytes] [partitions] [directory]
 *
 * 1 GB in 100 partitions without arguments. IGGY_BENCH_PROGRAM names a built main.js to run in place of the sources.
 * The files are still in the operating system's memory when they are read, as after the end of a process.
 */
const gigabytes = Number(process.argv[2] ?? 1);
const partitionsCount = Number(process.argv[3] ?? 100);
const program = process.env["IGGY_BENCH_PROGRAM"];
const dataDirectory = await mkdtemp(join(process.argv[4] ?? tmpdir(), "iggy-recovery-"));

const MESSAGES = 250;
const PAYLOAD_BYTES = 1000;
const SESSIONS = 4;
const IN_FLIGHT = 4;
const SERVED_WITHIN_MILLIS = 600_000;

const messages = Array.from({ length: MESSAGES }, () => ({
  payload: Buffer.alloc(PAYLOAD_BYTES, "recovery"),
  originTimestamp: 1,
}));

/** Sends round robin to the partitions, with some requests of every session under way. */
async function fill(port: number): Promise<void> {
  const admin = await RawSession.open(port);
  const streamId = numericId((await admin.call(createStream, { name: "filled", options: [] })).id);
  const { topic } = await admin.call(createTopic, { streamId, name: "filled", partitionsCount, options: [] });
  let batches = Math.ceil((gigabytes * 1e9) / (MESSAGES * PAYLOAD_BYTES));
  let turn = 0;
  const work = async (partitions: readonly RawPartition[]): Promise<void> => {
    while (batches-- > 0) await partitions[turn++ % partitionsCount]?.send(messages);
  };
  const working: Promise<void>[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const session = await RawSession.open(port);
    const partitions: RawPartition[] = [];
    for (let id = 0; id < partitionsCount; id++)
      partitions.push(await RawPartition.of(session, streamId, numericId(topic.id), id));
    for (let slot = 0; slot < IN_FLIGHT; slot++) working.push(work(partitions));
  }
  await Promise.all(working);
}

interface Stored {
  readonly logBytes: number;
  readonly journalBytes: number;
  /** Bytes of logs that no checkpoint counts: what a start reads and verifies. */
  readonly aboveCheckpoints: number;
}

async function measureFiles(): Promise<Stored> {
  let logBytes = 0;
  let journalBytes = 0;
  let counted = 0;
  for (const entry of await readdir(join(dataDirectory, "streams"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { size } = await stat(path);
    if (entry.name.endsWith(".log")) logBytes += size;
    else if (entry.name.endsWith(".wal")) journalBytes += size;
    else if (entry.name === "checkpoint") counted += await bytesCountedBy(path, size);
  }
  return { logBytes, journalBytes, aboveCheckpoints: logBytes - counted };
}

/** A checkpoint's table of segments begins 64 bytes into the record, 48 bytes a row; the third field is the size. */
async function bytesCountedBy(path: string, size: number): Promise<number> {
  await using file = await open(path);
  const bytes = Buffer.alloc(size);
  await file.read(bytes, 0, size, 0);
  let counted = 0;
  for (let row = 0; row < bytes.readUInt32LE(64); row++) counted += Number(bytes.readBigUInt64LE(68 + row * 48 + 16));
  return counted;
}

const seconds = (millis: number): string => (millis / 1000).toFixed(2);

let server = await ServerProcess.start({ dataDirectory, program });
try {
  const filledAt = performance.now();
  await fill(server.port);
  console.log(`filled in ${seconds(performance.now() - filledAt)} s`);
  await server.kill();
  const { logBytes, journalBytes, aboveCheckpoints } = await measureFiles();
  console.log(
    `${(logBytes / 1e9).toFixed(2)} GB stored in ${partitionsCount} partitions, ${(aboveCheckpoints / 1e9).toFixed(2)} GB above checkpoints, ${(journalBytes / 1e6).toFixed(1)} MB of journals`,
  );

  const startedAt = performance.now();
  server = ServerProcess.spawn({ dataDirectory, program });
  await server.ready();
  const session = await RawSession.open(server.port);
  const loginMillis = performance.now() - startedAt;
  const streamId = numericId(0);
  await Promise.all(
    Array.from({ length: partitionsCount }, async (_, id) => {
      const partition = await RawPartition.of(session, streamId, numericId(0), id);
      await eventually(
        `partition ${id} serves`,
        // A start that keeps the machine busy may leave a request without an answer for too long.
        async () => (await partition.tryPoll(last, { count: 1 }).then(outcome, () => "late")) === "ok",
        SERVED_WITHIN_MILLIS,
      );
    }),
  );
  const servedMillis = performance.now() - startedAt;
  console.log(`first login after ${seconds(loginMillis)} s, every partition served after ${seconds(servedMillis)} s`);
  console.log(`${Math.round(server.peakResidentBytes / 1024 / 1024)} MiB resident at most`);
  await session.close();
} finally {
  await server.kill();
  await rm(dataDirectory, { recursive: true });
}
