/**
 * What idle partitions hold: opens many and tells memory and descriptors of each; then writes to each once, and gives
 * the files back. With the door of another version of this package the same for that one. One version per process, so
 * that they do not share a heap.
 *
 *     node --expose-gc --conditions=@iggy/source --import tsx bench/idle.ts [partitions] [index.ts of another version]
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { encodeBatch, Operation, stampBatch, writePrepareHeader } from "@iggy/protocol";
import * as ours from "../src/index.js";

const count = Number(process.argv[2] ?? 10_000);
const storage = process.argv[3] === undefined ? ours : ((await import(resolve(process.argv[3]))) as typeof ours);
const MIB = 1024 * 1024;
const path = await mkdtemp(join(tmpdir(), "iggy-idle-"));
const io = new storage.LibuvIo();
const shard = "StorageShard" in storage ? new storage.StorageShard({ residentBytesMax: 0 }) : undefined;

async function report(what: string, before: NodeJS.MemoryUsage): Promise<void> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await new Promise((done) => setTimeout(done, 50));
  }
  const now = process.memoryUsage();
  const held = now.heapUsed - before.heapUsed + now.external - before.external;
  const descriptors = (await readdir("/proc/self/fd")).length;
  console.log(
    `${what}: ${Math.round(held / count)} bytes a partition on the heap and beside it, ` +
      `${Math.round((now.rss - before.rss) / count)} resident, ${descriptors} descriptors in all`,
  );
}

try {
  for (const name of ["streams", "partition-initialization"]) await io.makeDirectory(`${path}/${name}`);
  globalThis.gc?.();
  const before = process.memoryUsage();
  const stores: ours.PartitionStore[] = [];
  const started = performance.now();
  let journaled = 0;
  for (let at = 0; at < count; at += 16) {
    const ids = Array.from({ length: Math.min(16, count - at) }, (_, i) => at + i);
    const opened = await Promise.all(
      ids.map((partitionId) => {
        const options = {
          ...{ streamId: 0, topicId: 0, partitionId, clusterId: 1n, replicaId: 0, replicaCount: 1, incarnation: 1 },
          createdView: 0,
          retryCapacity: 0,
          segmentSizeBytes: 1024 * MIB,
          preallocate: false,
          persisted: false,
          validateChecksums: true,
          journalBytesMax: 256 * MIB,
          residentBytesMax: 0,
          shard: shard ?? new ours.StorageShard({ residentBytesMax: 0 }),
          offsetReservationLease: 65_536,
          onJournaled: (op: number) => {
            stores[partitionId]?.commit(op);
            journaled++;
          },
          onRejected: (_: number, error: Error) => {
            throw error;
          },
          onFailed: (error: Error) => {
            throw error;
          },
          onWarning: (message: string) => console.warn(message),
        };
        return storage.openPartitionStore(io, path, options);
      }),
    );
    for (const { store } of opened) stores.push(store);
  }
  console.log(`${count} partitions opened in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  await report("opened, never written", before);

  const template = encodeBatch([{ payload: new Uint8Array(700), originTimestamp: 1 }]);
  for (const [partitionId, store] of stores.entries()) {
    const body = new Uint8Array(template);
    stampBatch(body, 0, { partitionId, baseOffset: 0, baseTimestamp: 1_000_000 });
    const header = new Uint8Array(256);
    const group = BigInt(partitionId);
    writePrepareHeader(header, 0, {
      ...{ bodyLength: body.length, cluster: 1n, view: 0, replica: 0, client: 1n, parent: 0n, op: 1 },
      ...{ timestamp: 1_000_000, operation: Operation.SendMessages, group },
    });
    store.append({ op: 1, header, body }, "batch", false);
    while (partitionId - journaled > 64) await new Promise((done) => setImmediate(done));
  }
  while (journaled < count) await new Promise((done) => setImmediate(done));
  await report("written once", before);
  if (shard !== undefined) {
    for (let i = 0; i < 2; i++) shard.closeIdleFiles();
    await new Promise((done) => setTimeout(done, 1000));
    await report("idle again", before);
  }
} finally {
  await rm(path, { recursive: true });
}
process.exit();
