import {
  encodeBatch,
  MessageCursor,
  Operation,
  type ProducerSection,
  stampBatch,
  storedChecksum,
  writePrepareHeader,
} from "@iggy/protocol";
import {
  type Io,
  MemoryIo,
  openPartitionStore,
  partitionDirectory,
  type PartitionId,
  type PartitionOptions,
  type PartitionStore,
  type ReadResult,
  type RecoveredPartition,
  StorageShard,
  type StorageShardOptions,
} from "../src/index.js";
import { expect } from "vitest";
import type { TestPool } from "./pooled-memory.js";

/** Reads that are looked at later, when what they were read from may be gone. */
const HELD_READS = 3;

interface HeldRead {
  readonly result: ReadResult;
  readonly messages: readonly StoredMessage[];
}

export const DATA = "/data";
export const ID: PartitionId = { streamId: 1, topicId: 2, partitionId: 3 };
export const DIRECTORY = partitionDirectory(DATA, ID);
export const JOURNAL = `${DIRECTORY}/prepares-7`;

/** How many histories a crash property tries; `RUNS=10000` searches longer. */
export const PROPERTY_RUNS = Number(process.env["RUNS"] ?? 150);

/** Disks that write and read at once where that is possible, and one that always takes its time. */
export const SPEEDS = {
  "at once": (random: () => number) => ({ immediate: { wouldBlock: () => random() < 0.2 } }),
  "in its own time": () => ({}),
};

/** A generator that repeats (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A new disk that writes and reads at once. */
export function quickDisk(): Promise<MemoryIo> {
  return memoryDisk({ immediate: { wouldBlock: () => false } });
}

export async function memoryDisk(options: ConstructorParameters<typeof MemoryIo>[0] = {}): Promise<MemoryIo> {
  const io = new MemoryIo({ random: seeded(1), ...options });
  for (const name of ["", "streams", "partition-initialization"]) {
    await io.makeDirectory(`${DATA}/${name}`);
    await io.syncDirectory(`${DATA}/${name}`);
  }
  await io.syncDirectory(DATA);
  await io.syncDirectory("/");
  return io;
}

export type Settings = Partial<Omit<PartitionOptions, "onJournaled" | "onRejected" | "onFailed" | "onWarning">> &
  Partial<StorageShardOptions>;

/** A partition in a group of one: what is journaled is committed, and its offsets and times are stamped here. */
export class TestPartition {
  store!: PartitionStore;
  recovered!: RecoveredPartition;
  op = 0;
  nextOffset = 0;
  /** Operations that were reported as journaled. */
  journaledOp = 0;
  identity = 0n;
  readonly warnings: string[] = [];
  readonly rejections: { fromOp: number; error: Error }[] = [];
  readonly failures: Error[] = [];
  clockMicros = 1_000_000;
  /** Where received bodies lie, and what is read from files. */
  pool: TestPool | undefined;
  shard!: StorageShard;
  private readonly held: HeldRead[] = [];
  private waiters: (() => void)[] = [];
  /** Where the log stood behind each op that was queued. */
  private readonly past = new Map<number, { nextOffset: number; identity: bigint }>();

  static async open(io: Io, settings: Settings = {}, pool?: TestPool): Promise<TestPartition> {
    const partition = new TestPartition();
    partition.pool = pool;
    partition.shard =
      settings.shard ?? new StorageShard({ residentBytesMax: 8 * 1024 * 1024, readMemory: pool, ...settings });
    const opened = await openPartitionStore(io, DATA, {
      ...ID,
      clusterId: 9n,
      replicaId: 0,
      replicaCount: 1,
      incarnation: 7,
      createdView: 0,
      retryCapacity: 0,
      segmentSizeBytes: 1024 * 1024,
      preallocate: false,
      persisted: false,
      validateChecksums: true,
      journalBytesMax: 256 * 1024 * 1024,
      offsetReservationLease: 1000,
      ...settings,
      shard: partition.shard,
      onJournaled: (op) => {
        partition.journaledOp = op;
        partition.store.commit(op);
        partition.wake();
      },
      onRejected: (fromOp, error) => {
        partition.rejections.push({ fromOp, error });
        partition.op = fromOp - 1;
        Object.assign(partition, partition.past.get(partition.op));
        partition.wake();
      },
      onFailed: (error) => {
        partition.failures.push(error);
        partition.wake();
      },
      onWarning: (message) => partition.warnings.push(message),
    });
    partition.store = opened.store;
    const { recovered } = opened;
    partition.recovered = recovered;
    partition.op = recovered.entries.at(-1)?.entry.op ?? recovered.frontier.checkpointOp;
    const head = recovered.entries.at(-1)?.entry.header;
    partition.identity = head === undefined ? recovered.frontier.checkpointChecksum : storedChecksum(head);
    partition.journaledOp = partition.op;
    partition.store.commit(partition.op);
    partition.nextOffset = recovered.nextOffset;
    partition.clockMicros = Math.max(partition.clockMicros, recovered.lastTimestampMicros);
    partition.remember();
    return partition;
  }

  /** Queues a batch with these payloads; undefined when the store takes nothing now. */
  queue(payloads: readonly (string | Uint8Array)[], durable = false, producer?: ProducerSection): number | undefined {
    const record = batchOf(payloads, producer);
    const timestampMicros = (this.clockMicros += 10);
    stampBatch(record, 0, { partitionId: ID.partitionId, baseOffset: this.nextOffset, baseTimestamp: timestampMicros });
    const op = this.put(Operation.SendMessages, record, "batch", timestampMicros, durable);
    if (op !== undefined) this.nextOffset += payloads.length;
    this.remember();
    return op;
  }

  /** Queues an operation that is no batch. */
  queueOperation(body: Uint8Array, durable = false): number | undefined {
    const op = this.put(Operation.StoreConsumerOffset, body, "operation", (this.clockMicros += 10), durable);
    this.remember();
    return op;
  }

  async send(payloads: readonly (string | Uint8Array)[], durable = false): Promise<number> {
    const op = this.queue(payloads, durable);
    if (op === undefined) throw new Error("the store took nothing");
    await this.settled(op);
    return op;
  }

  async operate(body: Uint8Array, durable = false): Promise<number> {
    const op = this.queueOperation(body, durable);
    if (op === undefined) throw new Error("the store took nothing");
    await this.settled(op);
    return op;
  }

  /** Resolves when an op is journaled, or can't be any more. */
  async settled(op: number): Promise<void> {
    while (this.journaledOp < op && this.op >= op && this.failures.length === 0) {
      await new Promise<void>((resolve) => this.waiters.push(resolve));
    }
  }

  checkpoint(state: Uint8Array = new Uint8Array(0)): Promise<void> {
    return this.store.checkpoint(this.journaledOp, this.identity, state);
  }

  /** The text of every message from an offset on, read in requests of `count`. */
  async texts(from = 0, count = 1000): Promise<string[]> {
    return (await this.messages(from, count)).map(({ text }) => text);
  }

  async messages(from = 0, count = 1000): Promise<StoredMessage[]> {
    const found: StoredMessage[] = [];
    let startOffset = from;
    for (;;) {
      const result = await this.store.read({
        startOffset,
        ceilingOffset: this.nextOffset - 1,
        count,
        maxBytes: 1024 * 1024,
      });
      if (result.messagesCount === 0) return found;
      const messages = messagesOf(result);
      found.push(...messages);
      startOffset = (result.lastOffset ?? 0) + 1;
      if (this.pool === undefined) continue;
      this.held.push({ result, messages });
      this.useUp(HELD_READS);
    }
  }

  /** Looks at what was read a while ago, and gives its memory back, until so many reads are left. */
  useUp(left: number): void {
    for (const { result, messages } of this.held.splice(0, Math.max(0, this.held.length - left))) {
      expect(messagesOf(result)).toEqual(messages);
      expect(new Set(result.memory).size).toBe(result.memory.length);
      for (const memory of result.memory) memory.release();
    }
  }

  /** Everything is written, and what was read is used up: only the recent batches hold pooled memory. */
  expectNoLeak(): void {
    this.useUp(0);
    if (this.pool !== undefined) expect(this.pool.heldBytes).toBe(this.shard.resident.bytes);
  }

  private put(
    operation: number,
    body: Uint8Array,
    kind: "batch" | "operation",
    timestamp: number,
    durable: boolean,
  ): number | undefined {
    const op = this.op + 1;
    const header = prepareHeader({ op, body, timestamp, operation, parent: this.identity });
    const received = this.pool?.receive(body);
    const entry = { op, header, body: received?.bytes ?? body, memory: received?.memory };
    try {
      if (!this.store.append(entry, kind, durable)) return undefined;
    } finally {
      received?.memory.release();
    }
    this.op = op;
    this.identity = storedChecksum(header);
    return op;
  }

  private remember(): void {
    const { nextOffset, identity } = this;
    this.past.set(this.op, { nextOffset, identity });
  }

  private wake(): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const waiter of waiters) waiter();
  }
}

export interface HeaderFields {
  readonly op: number;
  readonly body: Uint8Array;
  readonly timestamp: number;
  readonly operation: number;
  readonly parent: bigint;
  readonly group?: bigint;
  readonly checksumBody?: bigint;
}

export function prepareHeader(fields: HeaderFields): Uint8Array {
  const header = new Uint8Array(256);
  const { body, op, timestamp, operation, parent, group = 5n, checksumBody } = fields;
  writePrepareHeader(header, 0, {
    bodyLength: body.length,
    cluster: 9n,
    view: 0,
    replica: 0,
    client: 1n,
    commit: op - 1,
    group,
    op,
    timestamp,
    operation,
    parent,
    ...(checksumBody === undefined ? {} : { checksumBody }),
  });
  return header;
}

export function batchOf(payloads: readonly (string | Uint8Array)[], producer?: ProducerSection): Uint8Array {
  const messages = payloads.map((payload, i) => ({
    id: BigInt(i + 1),
    payload: typeof payload === "string" ? new TextEncoder().encode(payload) : payload,
    originTimestamp: 1000 + i,
  }));
  return encodeBatch(messages, producer === undefined ? {} : { producer });
}

export interface StoredMessage {
  readonly offset: number;
  readonly text: string;
  readonly timestampMicros: number;
}

export function messagesOf(result: ReadResult): StoredMessage[] {
  const bytes = Buffer.concat(result.pieces);
  const cursor = new MessageCursor().records(bytes);
  const messages: StoredMessage[] = [];
  while (cursor.next()) {
    messages.push({
      offset: cursor.offset,
      text: new TextDecoder().decode(cursor.payload),
      timestampMicros: cursor.timestamp,
    });
  }
  return messages;
}

/** Files of the partition directory with a suffix, by name. */
export function filesOf(io: MemoryIo, suffix: string): string[] {
  return io.tree(DIRECTORY).filter((path) => path.endsWith(suffix) && !path.slice(DIRECTORY.length + 1).includes("/"));
}
