/**
 * What the storage costs: publishing batches of 250 KB and of 1 KB into 1 and into 64 partitions, to a disk that takes
 * everything at once and to the real one, and reading recent batches. With the door of another version of this package
 * (its `src/index.ts`) every case runs on both in turns, and the ratio is what counts: this machine's noise is in both.
 *
 *     node --conditions=@iggy/source --import tsx bench/compare.ts [--against <index.ts>] [--seconds 1] [--rounds 3]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { encodeBatch, Operation, stampBatch, storedChecksum, writePrepareHeader } from "@iggy/protocol";
import * as ours from "../src/index.js";
import { NullIo } from "./null-io.js";

type Storage = typeof ours;

const { values } = parseArgs({
  options: {
    against: { type: "string" },
    seconds: { type: "string", default: "1" },
    rounds: { type: "string", default: "3" },
    directory: { type: "string" },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const MIB = 1024 * 1024;
/** Batches under way together, however many partitions take them. */
const IN_FLIGHT = 64;

interface Shape {
  readonly name: string;
  readonly messages: number;
  readonly template: Uint8Array;
  /** Recycled as a receiver's blocks are; more than are under way and resident together. */
  readonly buffers: readonly Uint8Array[];
}

function shape(name: string, messages: number, payloadBytes: number): Shape {
  const payload = new Uint8Array(payloadBytes).fill(7);
  const template = encodeBatch(Array.from({ length: messages }, () => ({ payload, originTimestamp: 1 })));
  const count = Math.max(2 * IN_FLIGHT, Math.ceil((2 * RESIDENT_BYTES) / template.length));
  return { name, messages, template, buffers: Array.from({ length: count }, () => new Uint8Array(template)) };
}

const RESIDENT_BYTES = 16 * MIB;
const LARGE = shape("250 KB", 250, 1000);
const SMALL = shape("1 KB", 1, 696);

class Partition {
  readonly partitionId: number;
  store!: ours.PartitionStore;
  op = 0;
  journaled = 0;
  private parent = 0n;
  private checkpoint: Promise<void> | undefined;

  constructor(partitionId: number) {
    this.partitionId = partitionId;
  }

  send({ messages, buffers }: Shape, buffer: number): void {
    const { partitionId } = this;
    const body = buffers[buffer % buffers.length];
    if (body === undefined) throw new RangeError("no buffers");
    const timestamp = 1_000_000 + this.op;
    stampBatch(body, 0, { partitionId, baseOffset: this.op * messages, baseTimestamp: timestamp });
    const op = ++this.op;
    const header = new Uint8Array(256);
    writePrepareHeader(header, 0, {
      bodyLength: body.length,
      cluster: 1n,
      view: 0,
      replica: 0,
      client: 1n,
      parent: this.parent,
      op,
      timestamp,
      operation: Operation.SendMessages,
      group: BigInt(partitionId),
      // Hashing a body again is what the storage spares: the batch has its own checksums.
      checksumBody: 1n,
    });
    this.parent = storedChecksum(header);
    if (!this.store.append({ op, header, body }, "batch", false)) throw new Error("no room in the journal");
  }

  keepUp(): void {
    if (!this.store.checkpointDue || this.checkpoint !== undefined) return;
    this.checkpoint = this.store
      .checkpoint(this.journaled, this.parent, new Uint8Array(100))
      .finally(() => (this.checkpoint = undefined));
  }

  async close(): Promise<void> {
    await this.checkpoint;
    await this.store.close();
  }
}

async function open(
  storage: Storage,
  io: ours.Io,
  path: string,
  count: number,
  wake: () => void,
): Promise<Partition[]> {
  // An earlier version has a fixed share for each partition instead of a shard.
  const shared =
    "StorageShard" in storage ? { shard: new storage.StorageShard({ residentBytesMax: RESIDENT_BYTES }) } : {};
  const partitions = Array.from({ length: count }, (_, partitionId) => new Partition(partitionId));
  for (const partition of partitions) {
    const { partitionId } = partition;
    const options = {
      ...{ streamId: 0, topicId: 0, partitionId, clusterId: 1n, replicaId: 0, replicaCount: 1, incarnation: 1 },
      createdView: 0,
      retryCapacity: 0,
      segmentSizeBytes: 1024 * MIB,
      preallocate: false,
      persisted: false,
      validateChecksums: true,
      journalBytesMax: 4096 * MIB,
      residentBytesMax: RESIDENT_BYTES / count,
      shard: new ours.StorageShard({ residentBytesMax: RESIDENT_BYTES }),
      ...shared,
      offsetReservationLease: 1_000_000_000,
      onJournaled: (op: number) => {
        partition.journaled = op;
        partition.store.commit(op);
        wake();
      },
      onRejected: (_: number, error: Error) => {
        throw error;
      },
      onFailed: (error: Error) => {
        throw error;
      },
      onWarning: (message: string) => console.warn(message),
    };
    partition.store = (await storage.openPartitionStore(io, path, options)).store;
  }
  return partitions;
}

interface Figures {
  readonly perSecond: number;
  /** Microseconds of processor time for each, of all threads: what other work on the machine disturbs least. */
  readonly cpuMicros: number;
}

function measured(count: number, started: number, cpu: NodeJS.CpuUsage): Figures {
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (count * 1000) / (performance.now() - started), cpuMicros: (user + system) / count };
}

async function publish(storage: Storage, isNull: boolean, shape: Shape, count: number): Promise<Figures> {
  const path = isNull ? "/data" : await mkdtemp(join(values.directory ?? tmpdir(), "iggy-bench-"));
  const io = isNull ? await NullIo.open(path) : new storage.LibuvIo();
  if (!isNull) {
    for (const name of ["streams", "partition-initialization"]) await io.makeDirectory(`${path}/${name}`);
  }
  let wake: () => void = () => undefined;
  const partitions = await open(storage, io, path, count, () => wake());
  const depth = Math.max(1, IN_FLIGHT / count);
  let sent = 0;
  const cpu = process.cpuUsage();
  const started = performance.now();
  while (performance.now() - started < seconds * 1000) {
    for (const partition of partitions) {
      while (partition.op - partition.journaled < depth) partition.send(shape, sent++);
      partition.keepUp();
    }
    await new Promise<void>((done) => (wake = done));
    // Requests come with another turn of the event loop.
    await new Promise((done) => setImmediate(done));
  }
  const figures = measured(sent, started, cpu);
  for (const partition of partitions) await partition.close();
  if (!isNull) await rm(path, { recursive: true });
  return figures;
}

/** Recent batches, one for each read. */
async function readCached(storage: Storage, shape: Shape): Promise<Figures> {
  const io = await NullIo.open("/data");
  const partitions = await open(storage, io, "/data", 1, () => undefined);
  const [partition] = partitions;
  if (partition === undefined) throw new RangeError("no partition");
  const kept = Math.floor(RESIDENT_BYTES / shape.template.length / 2);
  for (let i = 0; i < kept; i++) partition.send(shape, i);
  while (partition.journaled < kept) await new Promise((done) => setImmediate(done));
  const messages = kept * shape.messages;
  let reads = 0;
  let startOffset = 0;
  const cpu = process.cpuUsage();
  const started = performance.now();
  while (performance.now() - started < seconds * 1000) {
    for (let i = 0; i < 100; i++, reads++) {
      const request = { startOffset, ceilingOffset: messages - 1, count: shape.messages, maxBytes: 1024 * MIB };
      const result = partition.store.read(request);
      if (result instanceof Promise || result.messagesCount !== shape.messages) throw new Error("not cached");
      startOffset = (startOffset + shape.messages) % messages;
    }
  }
  const figures = measured(reads, started, cpu);
  await partition.close();
  return figures;
}

const cases: [name: string, run: (storage: Storage) => Promise<Figures>][] = [];
for (const shape of [LARGE, SMALL]) {
  for (const count of [1, 64]) {
    for (const isNull of [true, false]) {
      const where = isNull ? "no disk" : "disk";
      cases.push([
        `publish ${shape.name} into ${count}, ${where}`,
        (storage) => publish(storage, isNull, shape, count),
      ]);
    }
  }
  cases.push([`read ${shape.name}, cached`, (storage) => readCached(storage, shape)]);
}

const theirs = values.against === undefined ? undefined : ((await import(resolve(values.against))) as Storage);
for (const [name, run] of cases) {
  const mine: Figures[] = [];
  const before: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    if (theirs !== undefined) before.push(await run(theirs));
    mine.push(await run(ours));
  }
  const now = best(mine);
  console.log(`${name}: ${now.perSecond.toFixed(0)}/s, ${now.cpuMicros.toFixed(1)} µs CPU`);
  if (theirs === undefined) continue;
  const then = best(before);
  console.log(
    `    before: ${then.perSecond.toFixed(0)}/s, ${then.cpuMicros.toFixed(1)} µs CPU; ` +
      `${(now.perSecond / then.perSecond).toFixed(2)} times as many, ` +
      `${(now.cpuMicros / then.cpuMicros).toFixed(2)} of the CPU`,
  );
}

function best(figures: readonly Figures[]): Figures {
  return {
    perSecond: Math.max(...figures.map(({ perSecond }) => perSecond)),
    cpuMicros: Math.min(...figures.map(({ cpuMicros }) => cpuMicros)),
  };
}
