import type { PartitionId } from "./layout.js";
import type { StorageShard } from "./shard/storage-shard.js";

/**
 * Pooled memory, counted by its holders. Whoever keeps bytes of it past the call that brought them retains it, and
 * releases it once per `retain`; when the last holder lets go, the bytes may change at once. Memory of the garbage
 * collector has none of this and is spoken of as `undefined`.
 */
export interface Memory {
  /** All of it, of which a holder may use a part only. */
  readonly bytes: Uint8Array;
  retain(): void;
  release(): void;
}

/** One journaled operation: the 256-byte prepare header and its body. */
export interface JournalEntry {
  readonly op: number;
  readonly header: Uint8Array;
  readonly body: Uint8Array;
  /** What holds the body; the store retains it for as long as it needs the body. */
  readonly memory?: Memory | undefined;
}

/** What a group must remember about its place in the cluster, whatever happens to its log. */
export interface GroupFrontier {
  readonly view: number;
  readonly logView: number;
  readonly commitMax: number;
  readonly checkpointOp: number;
  /** Identity of the prepare at `checkpointOp`, 0 before the first checkpoint. */
  readonly checkpointChecksum: bigint;
}

/** Which member of which cluster a data directory belongs to. */
export interface ReplicaIdentity {
  readonly clusterId: bigint;
  readonly replicaId: number;
  readonly replicaCount: number;
}

export interface MetadataOptions extends ReplicaIdentity {
  /** Most entries above the last checkpoint. */
  readonly journalSlots: number;
  readonly prepareQueueDepth: number;
}

/** The metadata log: journal, snapshot and superblock of the one metadata group. */
export interface MetadataStore {
  /**
   * Resolves when the entry is on stable storage. Entries are appended in op order; concurrent calls share one sync.
   * After a rejection nothing of the entry is stored: with `WriteFailed.outOfSpace` the same op may be appended again,
   * after any other error the store takes nothing more.
   */
  append(entry: JournalEntry): Promise<void>;
  /**
   * Writes the snapshot of everything up to `op` durably, records it in the superblock, then drops the entries below
   * `op`. `checksum` is the identity of the prepare at `op`.
   */
  checkpoint(op: number, checksum: bigint, snapshot: Uint8Array): Promise<void>;
  /** Journal slots left. At 0 appends are refused. */
  readonly freeSlots: number;
  /** True when so few slots are left that a checkpoint must be taken. */
  readonly checkpointDue: boolean;
  close(): Promise<void>;
}

export interface RecoveredMetadata {
  /** True when the directory held no history: the caller creates the first state. */
  readonly fresh: boolean;
  readonly snapshot: Uint8Array | undefined;
  readonly snapshotOp: number;
  /** Entries above the snapshot, in op order. */
  readonly entries: readonly JournalEntry[];
  readonly frontier: GroupFrontier;
}

export interface PartitionCounters {
  readonly segmentsCount: number;
  readonly sizeBytes: number;
  readonly messagesCount: number;
}

/** Where an offset record belongs: consumers, groups and external groups keep separate keys. */
export type OffsetKind = "consumer" | "group" | "external_group";

/**
 * The log of one partition: segments with their sparse index, the prepare journal beside them, the checkpoint of the
 * state that is rebuilt from neither, and the offset files. A batch is stored once, in the segment; its journal entry
 * holds the prepare header and the place.
 *
 * Everything that was reported with `onJournaled` survives the end of the process; what was durable also survives a
 * loss of power.
 */
export interface PartitionStore {
  /**
   * Queues an operation; ops are dense. `records` of a send is its stamped batch, which goes to the active segment and
   * must stay unchanged from now on; any other operation's body goes to the journal itself. `onJournaled` of the options
   * runs once it is written (and synced, when `durable`), in op order. Returns false, with nothing queued, when the
   * journal budget is used up: a checkpoint makes room.
   */
  append(entry: JournalEntry, kind: "batch" | "operation", durable: boolean): boolean;
  /** Everything up to this op may be served and is never truncated again. */
  commit(op: number): void;
  /** Drops every operation above `op`, which is not below the commit point: a later view decided otherwise. */
  truncateAbove(op: number): Promise<void>;
  /**
   * Reads stored records; see ReadRequest. Resident batches are served at once, without a promise. Rejects with
   * `ReadFailed` (4011) or `DamagedBatch` (4039, 4027) when the very first record can't be given.
   */
  read(request: ReadRequest): ReadResult | Promise<ReadResult>;
  /** First offset of the first batch whose append time is at or after `timestampMicros`, or undefined when none is. */
  offsetAt(timestampMicros: number, ceilingOffset: number): Promise<number | undefined>;
  /** Offset of the oldest kept message; equals the next offset when nothing is kept. */
  readonly startOffset: number;
  /** First offset that is served from memory, so that a reader can tell a read that needs the disk; Infinity for none. */
  readonly residentFrom: number;
  readonly counters: PartitionCounters;
  readonly sealedSegments: readonly SealedSegment[];
  /**
   * Removes sealed segments that end at or below `offset`, oldest first, at most `most`; returns how many went. A
   * segment that the journal still refers to stays, and `checkpointDue` turns true: take one and call again.
   */
  deleteSegmentsThrough(offset: number, most?: number): Promise<number>;
  /**
   * Makes the segments and the state of everything up to `op` (committed) durable, then drops the journal up to it.
   * `checksum` is the identity of the prepare at `op`. Appends go on meanwhile. A rejection with `WriteFailed.outOfSpace`
   * changes nothing.
   */
  checkpoint(op: number, checksum: bigint, state: Uint8Array): Promise<void>;
  /** True when the log above the last checkpoint has grown so that a checkpoint should be taken. */
  readonly checkpointDue: boolean;
  /**
   * Keeps an offset. `durable`: on stable storage when the promise resolves. Otherwise its file is written with the next
   * checkpoint, flush or close, and the journaled operation that stored it bridges the time until then.
   */
  storeOffset(kind: OffsetKind, id: number, offset: number, durable: boolean): Promise<void>;
  deleteOffset(kind: OffsetKind, id: number, durable: boolean): Promise<void>;
  /** Forces everything appended so far to stable storage. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface SealedSegment {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly sizeBytes: number;
  /** Append time of the newest batch, 0 when unknown. */
  readonly newestTimestampMicros: number;
}

export interface ReadRequest {
  /** First wanted offset. A lower one than the oldest kept starts there. */
  readonly startOffset: number;
  /** Highest offset that may be returned: the committed end. */
  readonly ceilingOffset: number;
  readonly count: number;
  /** Most bytes of records; a first message above it is returned alone. */
  readonly maxBytes: number;
}

export interface ReadResult {
  /** Record pieces back to back, ready to be sent: whole stored batches, or a new header and a range of frames. */
  readonly pieces: readonly Uint8Array[];
  /** What the pieces lie in, retained for the receiver, who releases each once the pieces are used up. */
  readonly memory: readonly Memory[];
  readonly bytes: number;
  readonly messagesCount: number;
  readonly firstOffset: number | undefined;
  readonly lastOffset: number | undefined;
}

export interface PartitionOptions extends ReplicaIdentity, PartitionId {
  readonly incarnation: number;
  /** View that the creating metadata operation gave the partition. */
  readonly createdView: number;
  /** Writer capacity that the group keeps; 0 until known. */
  readonly retryCapacity: number;
  readonly segmentSizeBytes: number;
  readonly preallocate: boolean;
  /** Any policy of the topic is `persisted`: an operation that was synced and is gone fences the partition. */
  readonly persisted: boolean;
  readonly validateChecksums: boolean;
  /** Bound of the journal's files together with all that waits to be written. */
  readonly journalBytesMax: number;
  /** What this partition shares with the others of its shard. */
  readonly shard: StorageShard;
  /** Offsets reserved ahead: after a loss of power none that was confirmed is given to another message. */
  readonly offsetReservationLease: number;
  /** Everything up to this op is written (and synced, as far as asked). */
  readonly onJournaled: (op: number) => void;
  /**
   * The disk is full: nothing from `fromOp` on was stored, also what was queued behind it. The next append is `fromOp`
   * again, with the offset that it had; reads go on.
   */
  readonly onRejected: (fromOp: number, error: Error) => void;
  /** The disk failed under this partition: it takes nothing more until it is opened anew. */
  readonly onFailed: (error: Error) => void;
  /** Something an operator should know, in one line. */
  readonly onWarning: (message: string) => void;
}

export interface RecoveredPartition {
  /** True when the partition was never in service before. */
  readonly fresh: boolean;
  /** State of the last checkpoint and the op it covers. */
  readonly checkpoint: { readonly op: number; readonly state: Uint8Array } | undefined;
  /**
   * Journaled operations above the checkpoint, in op order. The body of a batch is its 256-byte batch header only
   * (stamped: base offset, append time, count, producer); the messages stay in the segment.
   */
  readonly entries: readonly { readonly kind: "batch" | "operation"; readonly entry: JournalEntry }[];
  /** Offset of the next message. Above the last stored one + 1 when offsets may have been lost: they are not reused. */
  readonly nextOffset: number;
  /** Greatest timestamp of any operation of the log. */
  readonly lastTimestampMicros: number;
  /** What the offset files hold; journaled stores and deletes above the checkpoint come after them. */
  readonly offsets: readonly StoredOffset[];
  readonly frontier: GroupFrontier;
}

export interface StoredOffset {
  readonly kind: OffsetKind;
  readonly id: number;
  readonly offset: number;
}
