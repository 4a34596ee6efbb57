import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeBatch } from "@iggy/protocol";
import { type Io, LibuvIo, openDataDirectory } from "@iggy/storage";
import { openPartitionPlane, type PartitionCatalog, type PartitionPlane } from "../src/partitions/index.js";
import type { ClientRequest } from "../src/request.js";

/**
 * One partition without sockets: batches of 250 messages with 1000 bytes each are sent with some in flight, then polled.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/partition.ts [batches] [in flight]
 */
const batches = Number(process.argv[2] ?? 2000);
const inFlight = Number(process.argv[3] ?? 4);
const MESSAGES = 250;
const PAYLOAD_BYTES = 1000;
const GIB = 1024 ** 3;

const address = { streamId: 0, topicId: 0, partitionId: 0 };
const incarnation = 1;

const policy = {
  persistMessages: false,
  persistOffsets: false,
  segmentSizeBytes: GIB,
  preallocateSegments: false,
  messageExpiryMicros: undefined,
  maxTopicSizeBytes: undefined,
  partitionsCount: 1,
};
const description = { address, incarnation, createdView: 0, members: [0], truncatedBelow: 0 };
const catalog: PartitionCatalog = {
  appliedOp: 1,
  partition: () => description,
  partitions: () => [description],
  topic: () => policy,
  groupOwner: () => undefined,
  groupOwners: () => [],
  groupIds: () => ({ nextGroupId: 0, live: [] }),
  isSessionLive: () => true,
  mayPoll: () => true,
};

async function open(io: Io, path: string): Promise<PartitionPlane> {
  await openDataDirectory(io, path);
  const silent = () => undefined;
  const plane = openPartitionPlane({
    io,
    dataDirectory: path,
    identity: { clusterId: 1n, replicaId: 0, replicaCount: 1 },
    environment: {
      cluster: 1n,
      replica: 0,
      clock: { nowMicros: () => Date.now() * 1000, monotonicMillis: () => performance.now() },
      timers: {
        after: (delayMillis, run) => {
          const timer = setTimeout(run, delayMillis);
          return () => {
            clearTimeout(timer);
          };
        },
      },
      catalog,
      cipherOf: () => Promise.resolve(undefined),
      events: { groupDrained: silent, historyEnded: silent },
      log: { info: silent, warn: console.warn, error: console.error },
      limits: {
        prepareQueueDepth: 32,
        dedupClientsMax: 4096,
        consumerOffsetsMax: 4096,
        walBytesMax: 256 * 1024 * 1024,
        walGroupCommitDelayMicros: 0,
        validateChecksum: true,
        partitionIoCapacity: 16,
        pollCompletionCapacity: 1024,
        deferredPollMaxWaitMicros: 30_000_000,
        deferredPollMaxPending: 1024,
        deferredPollMaxPendingPerSession: 64,
        deferredPollMaxReadBytes: 16 * 1024 * 1024,
        deferredPollMaxInflightBytes: 64 * 1024 * 1024,
        maxMessageSizeBytes: 64 * 1024 * 1024,
        residentBytesMax: 512 * 1024 * 1024,
        offsetReservationLease: 65_536,
      },
    },
  });
  await plane.start({ removeUnknown: false });
  return plane;
}

let nextRequest = 1;

class BenchRequest implements ClientRequest {
  readonly client: bigint;
  readonly session = 1;
  readonly userId = 0;
  readonly request = nextRequest++;
  readonly requestChecksum = 0n;
  readonly operation = 160;
  readonly partitionIncarnation = incarnation;
  readonly ownerGeneration = 0;
  readonly minimumMetadataOp = 0;
  readonly memory = undefined;
  readonly body = new Uint8Array(0);
  private readonly done: (bytes: number) => void;

  constructor(client: bigint, done: (bytes: number) => void) {
    this.client = client;
    this.done = done;
  }

  ok(body: readonly Uint8Array[]): void {
    this.done(body.reduce((sum, piece) => sum + piece.length, 0));
  }
  deny(code: number): void {
    throw new Error(`denied with ${code}`);
  }
  committed(): void {
    this.done(0);
  }
  onCancel(): void {
    // Nobody cancels.
  }
}

async function measure(io: Io, path: string): Promise<void> {
  const plane = await open(io, path);
  const template = encodeBatch(
    Array.from({ length: MESSAGES }, (_, i) => ({
      id: BigInt(i + 1),
      payload: new Uint8Array(PAYLOAD_BYTES).fill(i),
      originTimestamp: 1_700_000_000_000_000 + i,
    })),
  );
  const bytes = batches * template.length;
  const sendSeconds = await timed((resolve) => {
    let started = 0;
    let finished = 0;
    const next = (): void => {
      if (started === batches) return;
      started++;
      // A server receives each batch into memory of its own.
      const batch = new Uint8Array(template);
      const request = new BenchRequest(BigInt(1 + (started % inFlight)), () => {
        if (++finished === batches) resolve();
        else next();
      });
      plane.send(request, { address, partitionNamed: true, messagesCount: MESSAGES, batch });
    };
    for (let i = 0; i < inFlight; i++) next();
  });
  report("send", bytes, sendSeconds);

  const pollSeconds = await timed((resolve) => {
    let offset = 0;
    const next = (): void => {
      if (offset >= batches * MESSAGES) {
        resolve();
        return;
      }
      const command = {
        address,
        consumer: { kind: "consumer", id: 1 },
        strategy: { kind: "offset", value: BigInt(offset) },
        count: MESSAGES,
        autoCommit: false,
        wait: { waitMicros: 0, minCount: 1, maxBytes: 1024 * 1024, requestTimeoutMicros: 10_000_000 },
      } as const;
      offset += MESSAGES;
      plane.poll(new BenchRequest(1n, () => setImmediate(next)), command);
    };
    next();
  });
  report("poll, mostly from disk", bytes, pollSeconds);

  const rounds = 20_000;
  const residentSeconds = await timed((resolve) => {
    for (let i = 0; i < rounds; i++) {
      plane.poll(new BenchRequest(1n, () => undefined), {
        address,
        consumer: { kind: "consumer", id: 1 },
        strategy: { kind: "last", value: 0n },
        count: MESSAGES,
        autoCommit: false,
      });
    }
    resolve();
  });
  report("poll, resident", rounds * template.length, residentSeconds);
  await plane.close();
}

async function timed(run: (resolve: () => void) => void): Promise<number> {
  const start = performance.now();
  await new Promise<void>(run);
  return (performance.now() - start) / 1000;
}

function report(name: string, bytes: number, seconds: number): void {
  const batchCount = bytes / (256 + MESSAGES * (48 + PAYLOAD_BYTES));
  const rate = `${(bytes / 1e9 / seconds).toFixed(2)} GB/s`;
  console.log(`${name.padEnd(36)} ${rate.padStart(12)} ${((seconds / batchCount) * 1e6).toFixed(1)} us per batch`);
}

const path = await mkdtemp(join(tmpdir(), "iggy-bench-"));
try {
  await measure(new LibuvIo(), path);
} finally {
  await rm(path, { recursive: true });
}
