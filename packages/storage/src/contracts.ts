/** One journaled operation: the 256-byte prepare header and its body. */
export interface JournalEntry {
  readonly op: number;
  readonly header: Uint8Array;
  readonly body: Uint8Array;
}

/** What a group must remember about its place in the cluster, whatever happens to its log. */
export interface GroupFrontier {
  readonly view: number;
  readonly logView: number;
  readonly commitMax: number;
  readonly checkpointOp: number;
  readonly checkpointChecksum: bigint;
}

/** The metadata log: journal, snapshot and superblock of the one metadata group. */
export interface MetadataStore {
  /** Resolves when the entry is on stable storage. Entries are appended in op order; concurrent calls share one sync. */
  append(entry: JournalEntry): Promise<void>;
  /** Writes the snapshot of everything up to `op` durably, records it in the superblock, then drops entries below `op`. */
  checkpoint(op: number, checksum: bigint, snapshot: Uint8Array): Promise<void>;
  /** Journal slots left before a checkpoint is due. */
  readonly freeSlots: number;
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
 */
export interface PartitionStore {
  /**
   * Queues an operation. `records` of a send is its stamped batch, which goes to the active segment; any other
   * operation's body goes to the journal itself. `onJournaled` of the options runs once it is written
   * (and synced, when `durable`), in op order. Returns false, with nothing queued, when the journal budget is used up.
   */
  append(entry: JournalEntry, kind: "batch" | "operation", durable: boolean): boolean;
  /** Everything up to this op may be served and is never truncated again. */
  commit(op: number): void;
  /** Reads stored records; see ReadRequest. Resident batches are served without touching the disk. */
  read(request: ReadRequest): ReadResult | Promise<ReadResult>;
  /** First offset of the first batch whose append time is at or after `timestampMicros`, or undefined when none is. */
  offsetAt(timestampMicros: number, ceilingOffset: number): Promise<number | undefined>;
  /** Offset of the oldest kept message; equals the next offset when nothing is kept. */
  readonly startOffset: number;
  readonly counters: PartitionCounters;
  readonly sealedSegments: readonly SealedSegment[];
  /** Removes sealed segments that end at or below `offset`, oldest first; returns how many went. */
  deleteSegmentsThrough(offset: number): Promise<number>;
  /** Writes the state of everything up to `op` atomically, then drops the journal below it. */
  checkpoint(op: number, state: Uint8Array): Promise<void>;
  /** True when the journal has grown enough that a checkpoint should be taken. */
  readonly checkpointDue: boolean;
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
  /** Most bytes of records; a first record above it is returned alone. */
  readonly maxBytes: number;
}

export interface ReadResult {
  /** Record pieces back to back, ready to be sent: whole stored batches, or a new header and a range of frames. */
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
  readonly messagesCount: number;
  readonly firstOffset: number | undefined;
  readonly lastOffset: number | undefined;
}

export interface PartitionOptions {
  readonly directory: string;
  readonly partitionId: number;
  readonly incarnation: number;
  readonly createdView: number;
  readonly segmentSizeBytes: number;
  readonly preallocate: boolean;
  /** Any policy of the topic is `persisted`: recovery may trust the order in which pages reached the disk. */
  readonly persisted: boolean;
  readonly validateChecksums: boolean;
  readonly journalBytesMax: number;
  /** Bytes of recent batches kept in memory for readers. */
  readonly residentBytesMax: number;
  readonly onJournaled: (op: number) => void;
  /** The disk failed under this partition: it serves nothing more until an operator looks. */
  readonly onFailed: (error: Error) => void;
}

export interface RecoveredPartition {
  readonly fresh: boolean;
  /** State of the last checkpoint and the op it covers. */
  readonly checkpoint: { readonly op: number; readonly state: Uint8Array } | undefined;
  /**
   * Journaled operations above the checkpoint, in op order. The body of a batch is its 256-byte batch header only
   * (stamped: base offset, append time, count, producer); the messages stay in the segment.
   */
  readonly entries: readonly { readonly kind: "batch" | "operation"; readonly entry: JournalEntry }[];
  /** One past the last stored message. */
  readonly nextOffset: number;
  readonly lastTimestampMicros: number;
  readonly offsets: readonly { readonly kind: OffsetKind; readonly id: number; readonly offset: number }[];
  readonly frontier: GroupFrontier;
}
