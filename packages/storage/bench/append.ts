/**
 * Throughput of one partition on the real disk: 250 KB batches (250 messages of 1,000 bytes), 32 under way at a time,
 * appended and read back. Batches lie in recycled buffers, as in a receiver's slab. Arguments: directory (default: a temporary one), seconds (default 3).
 *
 *     node --conditions=@iggy/source --import tsx bench/append.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeBatch, Operation, stampBatch, storedChecksum, writePrepareHeader } from "@iggy/protocol";
import { LibuvIo, openDataDirectory, openPartitionStore, type PartitionStore, StorageShard } from "../src/index.js";

const directory = process.argv[2] ?? (await mkdtemp(join(tmpdir(), "iggy-bench-")));
const seconds = Number(process.argv[3] ?? 3);
const PIPELINE = 32;
const PAYLOAD = new Uint8Array(1000).fill(7);
const TEMPLATE = encodeBatch(Array.from({ length: 250 }, () => ({ payload: PAYLOAD, originTimestamp: 1 })));

/** More than are under way and resident together, so that none is rewritten while somebody may read it. */
const BUFFERS = Array.from({ length: 160 }, () => new Uint8Array(TEMPLATE));

const io = new LibuvIo();
const root = await openDataDirectory(io, directory, { fresh: true });

async function run(partitionId: number, durable: boolean): Promise<void> {
  let journaled = 0;
  let wake: () => void = () => undefined;
  const { store } = await openPartitionStore(io, directory, {
    streamId: 0,
    topicId: 0,
    partitionId,
    clusterId: 1n,
    replicaId: 0,
    replicaCount: 1,
    incarnation: 1,
    createdView: 0,
    retryCapacity: 0,
    segmentSizeBytes: 1024 * 1024 * 1024,
    preallocate: false,
    persisted: durable,
    validateChecksums: true,
    journalBytesMax: 256 * 1024 * 1024,
    shard: new StorageShard({ residentBytesMax: 16 * 1024 * 1024 }),
    offsetReservationLease: 65_536,
    onJournaled: (op) => {
      journaled = op;
      store.commit(op);
      wake();
    },
    onRejected: (_, error) => {
      throw error;
    },
    onFailed: (error) => {
      throw error;
    },
    onWarning: (message) => console.warn(message),
  });

  const end = performance.now() + seconds * 1000;
  const cpu = process.cpuUsage();
  const started = performance.now();
  let op = 0;
  let parent = 0n;
  let checkpoint: Promise<void> | undefined;
  while (performance.now() < end) {
    while (op - journaled < PIPELINE) {
      const body = BUFFERS[op % BUFFERS.length] ?? TEMPLATE;
      stampBatch(body, 0, { partitionId, baseOffset: op * 250, baseTimestamp: 1_000_000 + op });
      op++;
      const header = new Uint8Array(256);
      writePrepareHeader(header, 0, {
        bodyLength: body.length,
        cluster: 1n,
        view: 0,
        replica: 0,
        client: 1n,
        parent,
        op,
        timestamp: 1_000_000 + op,
        operation: Operation.SendMessages,
        group: BigInt(partitionId),
      });
      parent = storedChecksum(header);
      if (!store.append({ op, header, body }, "batch", durable)) throw new Error("no room in the journal");
    }
    await new Promise<void>((resolve) => (wake = resolve));
    if (store.checkpointDue && checkpoint === undefined) {
      checkpoint = store.checkpoint(journaled, parent, new Uint8Array(1000)).finally(() => (checkpoint = undefined));
    }
  }
  while (journaled < op) await new Promise<void>((resolve) => (wake = resolve));
  report(durable ? "append, synced" : "append", op, started, cpu);
  await checkpoint;
  await readBack(store, op * 250);
  await store.close();
}

async function readBack(store: PartitionStore, messages: number): Promise<void> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  let batches = 0;
  for (let startOffset = 0; startOffset < messages && performance.now() < started + seconds * 1000;) {
    const result = await store.read({
      startOffset,
      ceilingOffset: messages - 1,
      count: 1000,
      maxBytes: 4 * 1024 * 1024,
    });
    batches += result.messagesCount / 250;
    startOffset = (result.lastOffset ?? messages) + 1;
  }
  report("read from files, checksums validated", batches, started, cpu);
}

function report(what: string, batches: number, started: number, before: NodeJS.CpuUsage): void {
  const elapsed = (performance.now() - started) / 1000;
  const cpu = process.cpuUsage(before);
  const perSecond = batches / elapsed;
  const perBatch = (cpu.user + cpu.system) / batches;
  console.log(
    `${what}: ${perSecond.toFixed(0)} batches/s, ${((perSecond * TEMPLATE.length) / 1e6).toFixed(0)} MB/s, ` +
      `${perBatch.toFixed(0)} µs CPU per batch (all threads)`,
  );
}

try {
  await run(0, false);
  await run(1, true);
} finally {
  await root.release();
  if (process.argv[2] === undefined) await rm(directory, { recursive: true });
}
