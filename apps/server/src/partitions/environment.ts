import type { StorageShardOptions } from "@iggy/storage";
import type { Clock } from "../request.js";
import type { PartitionAddress } from "./address.js";
import type { PartitionCipher } from "./partition-cipher.js";
import type { PartitionStats } from "./plane.js";

/** What a partition must know of committed metadata. The plane reads it live and keeps no copy. */
export interface PartitionCatalog {
  /** Highest metadata op that this node applied. */
  readonly appliedOp: number;
  partition(address: PartitionAddress): PartitionDescription | undefined;
  /** Partitions of one topic, or of everything. */
  partitions(topic?: { readonly streamId: number; readonly topicId: number }): Iterable<PartitionDescription>;
  topic(streamId: number, topicId: number): TopicPolicy | undefined;
  /** What metadata decided about a group on a partition; undefined when the group is unknown or has no decision yet. */
  groupOwner(address: PartitionAddress, groupId: number): GroupOwnerDecision | undefined;
  /** Every decision for a partition, by which the plane installs what is missing. */
  groupOwners(address: PartitionAddress): Iterable<GroupOwnerDecision>;
  /** Group numbers of a topic: every one below `nextGroupId` that is not live is deleted for good. Ascending. */
  groupIds(streamId: number, topicId: number): { readonly nextGroupId: number; readonly live: readonly number[] };
  /** The session is registered and has not ended. A request without one has none that could end. */
  isSessionLive(client: bigint, session: number): boolean;
  /** Asked again when a parked read is served. */
  mayPoll(userId: number, streamId: number, topicId: number): boolean;
}

export interface PartitionDescription {
  readonly address: PartitionAddress;
  /** Metadata revision that created the partition. */
  readonly incarnation: number;
  readonly createdView: number;
  /** Node ids that store the partition, in member order. */
  readonly members: readonly number[];
  /** Sealed segments that lie wholly below this offset are to be deleted; 0 when none. */
  readonly truncatedBelow: number;
  /** Metadata op that began to delete this incarnation, when it is being deleted: the plane installs the final fence. */
  readonly endingOp?: number;
}

/** Effective options of a topic. */
export interface TopicPolicy {
  readonly persistMessages: boolean;
  readonly persistOffsets: boolean;
  readonly segmentSizeBytes: number;
  readonly preallocateSegments: boolean;
  /** Undefined = never. */
  readonly messageExpiryMicros: number | undefined;
  /** Undefined = unlimited. */
  readonly maxTopicSizeBytes: number | undefined;
  readonly partitionsCount: number;
}

export interface GroupOwnerDecision {
  readonly groupId: number;
  /** Zero client and session: nobody owns the partition. */
  readonly client: bigint;
  readonly session: number;
  /** Metadata op that decided it. */
  readonly generation: number;
  /** The owner must give the partition up: it may still commit, but no longer poll. */
  readonly revoking: boolean;
}

/** What the plane reports. */
export interface PartitionEvents {
  /** Everything that was served to the group's owner is committed (or nothing was served): a revocation may complete. */
  groupDrained(address: PartitionAddress, groupId: number): void;
  /** The final fence of a partition that is being deleted is committed. */
  historyEnded(address: PartitionAddress, incarnation: number): void;
  /** The figures of an open partition may have changed. Runs before whoever changed them is answered. */
  counted?(partition: CountedPartition): void;
}

export interface CountedPartition {
  readonly address: PartitionAddress;
  readonly incarnation: number;
  readonly stats: PartitionStats;
}

/** Structured log; the shape of pino. */
export interface PartitionLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** One-shot timers of the shard. Returns how to cancel. */
export interface Timers {
  after(delayMillis: number, run: () => void): () => void;
}

/** Bounds, from the configuration keys `[partition]`, `[sharding]` and `[message_bus]`. */
export interface PartitionLimits {
  readonly prepareQueueDepth: number;
  readonly dedupClientsMax: number;
  readonly consumerOffsetsMax: number;
  readonly walBytesMax: number;
  readonly walGroupCommitDelayMicros: number;
  readonly validateChecksum: boolean;
  readonly partitionIoCapacity: number;
  readonly pollCompletionCapacity: number;
  readonly deferredPollMaxWaitMicros: number;
  readonly deferredPollMaxPending: number;
  readonly deferredPollMaxPendingPerSession: number;
  readonly deferredPollMaxReadBytes: number;
  readonly deferredPollMaxInflightBytes: number;
  /** Largest frame: sealed segments may overshoot by it. */
  readonly maxMessageSizeBytes: number;
  /** Bytes of recent batches that the partitions of a shard keep in memory for readers together. */
  readonly residentBytesMax: number;
  /** Offsets reserved ahead, so that a loss of power gives none twice. */
  readonly offsetReservationLease: number;
}

/** Verifies batches of producers and stamps what is ordered. */
export interface BatchHashing {
  /** Checks layout and checksums; returns the length of the batch, or throws the protocol's error. */
  verifyBatch(bytes: Uint8Array): number;
  stampBatch(
    bytes: Uint8Array,
    offset: number,
    stamp: { readonly partitionId: number; readonly baseOffset: number; readonly baseTimestamp: number },
  ): void;
}

/** Pooled memory for reads, native hashes: what is taken from the machine, where it has that. */
export interface PartitionMachinery extends Pick<StorageShardOptions, "readMemory" | "checksums"> {
  readonly hashing?: BatchHashing;
}

/** Room for the waiting reads of a session, wherever their partitions are. */
export interface SessionParking {
  /** False, with nothing taken, when the session has as many as it may have; otherwise `release` follows exactly once. */
  take(client: bigint): boolean;
  release(client: bigint): void;
}

export interface PartitionEnvironment {
  /** Cluster id and configured id of this node, as every frame names them. */
  readonly cluster: bigint;
  readonly replica: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly catalog: PartitionCatalog;
  /** The cipher of a partition whose stream is encrypted; asked once, before the partition is opened. */
  readonly cipherOf: (address: PartitionAddress) => Promise<PartitionCipher | undefined>;
  readonly events: PartitionEvents;
  readonly log: PartitionLog;
  readonly limits: PartitionLimits;
  readonly machinery?: PartitionMachinery;
  /** Counts the waiting reads of each session over all shards. Without it all of them are here. */
  readonly sessionParking?: SessionParking | undefined;
}
