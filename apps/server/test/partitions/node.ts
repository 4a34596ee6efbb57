import {
  type AckLevel,
  decodeExact,
  encodeBatch,
  fetchMessages,
  getConsumerOffset,
  MessageCursor,
  pollMessages,
  type PollingStrategy,
  type ProducerSection,
  sendMessages,
} from "@iggy/protocol";
import { type DataDirectory, type Io, MemoryIo, openDataDirectory } from "@iggy/storage";
import {
  type FetchTarget,
  type OffsetKey,
  openPartitionPlane,
  type PartitionAddress,
  type PartitionLimits,
  type PartitionPlane,
  type ReadWait,
} from "../../src/partitions/index.js";
import { TestCatalog } from "./catalog.js";
import { ManualClock, settle } from "./clock.js";
import { type Answer, type Sender, TestRequest } from "./requests.js";

export const partition: PartitionAddress = { streamId: 1, topicId: 2, partitionId: 0 };
export const incarnation = 41;
export const consumer: OffsetKey = { kind: "consumer", id: 9 };
export const group: OffsetKey = { kind: "consumer_group", id: 5 };
export const [alice, bob] = [
  { client: 11n, session: 110 },
  { client: 22n, session: 220 },
];

export const testLimits: PartitionLimits = {
  prepareQueueDepth: 4,
  dedupClientsMax: 64,
  consumerOffsetsMax: 16,
  walBytesMax: 64 * 1024 * 1024,
  walGroupCommitDelayMicros: 0,
  validateChecksum: true,
  partitionIoCapacity: 4,
  pollCompletionCapacity: 8,
  deferredPollMaxWaitMicros: 30_000_000,
  deferredPollMaxPending: 8,
  deferredPollMaxPendingPerSession: 4,
  deferredPollMaxReadBytes: 16 * 1024 * 1024,
  deferredPollMaxInflightBytes: 64 * 1024 * 1024,
  maxMessageSizeBytes: 1024,
  residentBytesMax: 1024 * 1024,
  offsetReservationLease: 1000,
};

export interface Batch {
  readonly count: number;
  /** First text of the payloads, so that a test can tell batches apart. */
  readonly text?: string;
  readonly payloadBytes?: number;
  readonly producer?: ProducerSection;
}

export interface PollOptions {
  readonly strategy?: PollingStrategy;
  readonly count?: number;
  readonly autoCommit?: boolean;
  readonly consumer?: OffsetKey;
  readonly address?: PartitionAddress;
  readonly wait?: Partial<ReadWait>;
}

export const offsetAt = (offset: number): PollingStrategy => ({ kind: "offset", value: BigInt(offset) });
export const next: PollingStrategy = { kind: "next", value: 0n };

/** One node with partitions on a memory disk, under a clock that the test moves. */
export class TestNode {
  readonly clock: ManualClock;
  readonly catalog: TestCatalog;
  readonly logged: { readonly level: string; readonly message: string; readonly fields: object }[] = [];
  readonly drained: number[] = [];
  readonly ended: number[] = [];
  readonly plane: PartitionPlane;
  readonly io: Io;
  readonly requests: TestRequest[] = [];

  private readonly directory: DataDirectory;

  private constructor(
    io: Io,
    directory: DataDirectory,
    clock: ManualClock,
    catalog: TestCatalog,
    limits: Partial<PartitionLimits>,
  ) {
    this.io = io;
    this.directory = directory;
    this.clock = clock;
    this.catalog = catalog;
    const log =
      (level: string) =>
      (fields: object, message: string): void => {
        this.logged.push({ level, message, fields });
      };
    this.plane = openPartitionPlane({
      io,
      dataDirectory: directory.path,
      identity: { clusterId: 1n, replicaId: 0, replicaCount: 1 },
      environment: {
        cluster: 1n,
        replica: 0,
        clock,
        timers: clock,
        catalog,
        cipherOf: () => Promise.resolve(undefined),
        events: {
          groupDrained: (_address, groupId) => this.drained.push(groupId),
          historyEnded: (_address, ended) => this.ended.push(ended),
        },
        log: { info: log("info"), warn: log("warn"), error: log("error") },
        limits: { ...testLimits, ...limits },
      },
    });
  }

  /** A node with one partition; a prepared catalog and disk continue an earlier one. */
  static async start(
    options: {
      readonly io?: Io;
      readonly path?: string;
      readonly clock?: ManualClock;
      readonly catalog?: TestCatalog;
      readonly limits?: Partial<PartitionLimits>;
    } = {},
  ): Promise<TestNode> {
    const io = options.io ?? new MemoryIo();
    const catalog = options.catalog ?? new TestCatalog();
    if (options.catalog === undefined) catalog.put(partition, incarnation);
    const directory = await openDataDirectory(io, options.path ?? "/data");
    const node = new TestNode(io, directory, options.clock ?? new ManualClock(), catalog, options.limits ?? {});
    await node.plane.start({ removeUnknown: true });
    return node;
  }

  /** The memory disk of the node. */
  get disk(): MemoryIo {
    if (!(this.io instanceof MemoryIo)) throw new Error("the node runs on a real disk");
    return this.io;
  }

  /** The process is killed; the operating system keeps what was written. */
  killed(limits?: Partial<PartitionLimits>): Promise<TestNode> {
    return this.again(this.disk.kill(), limits);
  }

  /** The machine loses power; only what was synced is sure to stay. */
  powerLost(limits?: Partial<PartitionLimits>): Promise<TestNode> {
    return this.again(this.disk.losePower(), limits);
  }

  /** A graceful stop and a new start. */
  async restarted(limits?: Partial<PartitionLimits>): Promise<TestNode> {
    await this.stop();
    return this.again(this.io instanceof MemoryIo ? this.io.kill() : this.io, limits);
  }

  async stop(): Promise<void> {
    await this.plane.close();
    await this.directory.release();
  }

  private again(io: Io, limits: Partial<PartitionLimits> = {}): Promise<TestNode> {
    const { clock, catalog, directory } = this;
    return TestNode.start({ io, path: directory.path, clock, catalog, limits });
  }

  request(sender: Sender = {}): TestRequest {
    const request = new TestRequest(sender, incarnation);
    this.requests.push(request);
    return request;
  }

  send(batch: Batch, sender: Sender = {}, address = partition): TestRequest {
    return this.sendBytes(batchOf(batch), batch.count, sender, address);
  }

  sendBytes(
    bytes: Uint8Array,
    messagesCount: number,
    sender: Sender = {},
    address = partition,
    partitionNamed = true,
  ): TestRequest {
    const request = this.request(sender);
    this.plane.send(request, { address, partitionNamed, messagesCount, batch: bytes });
    return request;
  }

  poll(options: PollOptions = {}, sender: Sender = {}): TestRequest {
    const request = this.request(sender);
    const { strategy = offsetAt(0), count = 100, autoCommit = false, address = partition, wait } = options;
    const command = { address, consumer: options.consumer ?? consumer, strategy, count, autoCommit };
    this.plane.poll(request, wait === undefined ? command : { ...command, wait: waitOf(wait) });
    return request;
  }

  fetch(
    targets: readonly (Partial<FetchTarget> & { readonly partitionId: number })[],
    options: Omit<PollOptions, "strategy" | "address"> = {},
    sender: Sender = {},
  ): TestRequest {
    const request = this.request(sender);
    const wait = waitOf(options.wait ?? {});
    this.plane.fetch(request, {
      streamId: partition.streamId,
      topicId: partition.topicId,
      consumer: options.consumer ?? consumer,
      count: options.count ?? 100,
      autoCommit: options.autoCommit ?? false,
      wait,
      targets: targets.map((target) => ({
        strategy: offsetAt(0),
        maxBytes: wait.maxBytes,
        incarnation,
        ownerGeneration: 0,
        ...target,
      })),
    });
    return request;
  }

  store(key: OffsetKey, offset: bigint | number, sender: Sender = {}, ack: AckLevel = "quorum"): TestRequest {
    const request = this.request(sender);
    this.plane.storeOffset(request, { address: partition, consumer: key, offset: BigInt(offset), ack });
    return request;
  }

  deleteOffset(key: OffsetKey, sender: Sender = {}, ack: AckLevel = "quorum"): TestRequest {
    const request = this.request(sender);
    this.plane.deleteOffset(request, { address: partition, consumer: key, ack });
    return request;
  }

  getOffset(key: OffsetKey, sender: Sender = {}): TestRequest {
    const request = this.request(sender);
    this.plane.getOffset(request, { address: partition, consumer: key });
    return request;
  }

  /** Decides an owner in metadata and waits until it is installed. */
  async own(owner: { readonly client: bigint; readonly session: number }, generation: number): Promise<void> {
    this.catalog.decide(partition, { groupId: group.id, ...owner, generation, revoking: false });
    this.plane.reconcile(partition);
    await this.plane.settled();
  }

  async stored(key: OffsetKey): Promise<number | undefined> {
    const answer = await this.getOffset(key).answered;
    if (answer.kind !== "ok") throw new Error(`the offset was refused: ${JSON.stringify(answer)}`);
    return answer.body.length === 0
      ? undefined
      : Number(decodeExact(getConsumerOffset.response, answer.body).storedOffset);
  }

  /** Offsets of every message from the start. */
  async offsets(): Promise<number[]> {
    const all: number[] = [];
    for (;;) {
      const read = polled(await this.poll({ strategy: offsetAt((all.at(-1) ?? -1) + 1), count: 1000 }).answered);
      if (read.offsets.length === 0) return all;
      all.push(...read.offsets);
    }
  }
}

function waitOf(wait: Partial<ReadWait>): ReadWait {
  const waitMicros = wait.waitMicros ?? 0;
  return { waitMicros, minCount: 1, maxBytes: 1024 * 1024, requestTimeoutMicros: waitMicros + 10_000_000, ...wait };
}

export function batchOf({ count, text = "m", payloadBytes = 0, producer }: Batch): Uint8Array {
  const messages = Array.from({ length: count }, (_, i) => {
    const payload = new TextEncoder().encode(`${text}${String(i)}`.padEnd(payloadBytes, "."));
    return { id: BigInt(i + 1), payload, originTimestamp: 1_600_000_000_000_000 + i };
  });
  return encodeBatch(messages, producer === undefined ? {} : { producer });
}

export const second = 1_000_000;

/** Code of a refusal, 0 for any other answer. */
export const codeOf = (answer: Answer | undefined): number | undefined =>
  answer === undefined ? undefined : answer.kind === "denied" ? answer.code : 0;

/** First offset of a confirmed send. */
export function confirmed(answer: Answer): number {
  if (answer.kind !== "committed") throw new Error(`not committed: ${JSON.stringify(answer)}`);
  const { confirmations } = decodeExact(sendMessages.response, answer.body);
  return Number(confirmations[0]?.baseOffset);
}

export interface Polled {
  readonly partitionId: number;
  readonly currentOffset: number;
  readonly offsets: readonly number[];
  readonly texts: readonly string[];
  readonly timestamps: readonly number[];
  readonly context: readonly [incarnation: number, ownerGeneration: number, metadataOp: number];
  readonly bytes: number;
}

export function polled(answer: Answer): Polled {
  if (answer.kind !== "ok") throw new Error(`not read: ${JSON.stringify(answer)}`);
  const { partitionId, currentOffset, messagesCount, context, records } = decodeExact(
    pollMessages.response,
    answer.body,
  );
  const messages = messagesIn(records);
  if (messages.offsets.length !== messagesCount) throw new Error("another number of messages than stated");
  const fences = [context.incarnation, context.ownerGeneration, context.metadataOp].map(Number);
  return {
    partitionId,
    currentOffset: Number(currentOffset),
    ...messages,
    context: [fences[0] ?? 0, fences[1] ?? 0, fences[2] ?? 0],
    bytes: answer.body.length,
  };
}

export interface Section {
  readonly partitionId: number;
  readonly status: number;
  readonly currentOffset: number;
  readonly nextOffset: number;
  readonly offsets: readonly number[];
  readonly ownerGeneration: number;
  readonly bytes: number;
}

export function fetched(answer: Answer): Section[] {
  if (answer.kind !== "ok") throw new Error(`not fetched: ${JSON.stringify(answer)}`);
  const { sections, records } = decodeExact(fetchMessages.response, answer.body);
  let at = 0;
  return sections.map((section) => {
    const { offsets } = messagesIn(records.subarray(at, at + section.recordsLen));
    at += section.recordsLen;
    if (offsets.length !== section.messagesCount) throw new Error("another number of messages than stated");
    return {
      partitionId: section.partitionId,
      status: section.status,
      currentOffset: Number(section.currentOffset),
      nextOffset: Number(section.nextOffset),
      offsets,
      ownerGeneration: Number(section.context.ownerGeneration),
      bytes: section.recordsLen,
    };
  });
}

function messagesIn(records: Uint8Array) {
  const [offsets, texts, timestamps]: [number[], string[], number[]] = [[], [], []];
  const cursor = new MessageCursor().records(records);
  while (cursor.next()) {
    offsets.push(cursor.offset);
    texts.push(new TextDecoder().decode(cursor.payload).replace(/\.+$/, ""));
    timestamps.push(cursor.timestamp);
  }
  return { offsets, texts, timestamps };
}

export { settle };
