import type { ClientRequest } from "../request.js";
import type { PartitionAddress } from "./address.js";
import type { TopicChange } from "./lifecycle/partition-table.js";
import type {
  DeleteOffsetCommand,
  FetchCommand,
  GetOffsetCommand,
  PollCommand,
  SendCommand,
  StoreOffsetCommand,
} from "./commands.js";

/**
 * What clients ask of partitions. Each request is answered exactly once through its `ClientRequest`, at once or later; no
 * method throws for something a client did.
 */
export interface PartitionRequests {
  send(request: ClientRequest, command: SendCommand): void;
  poll(request: ClientRequest, command: PollCommand): void;
  fetch(request: ClientRequest, command: FetchCommand): void;
  getOffset(request: ClientRequest, command: GetOffsetCommand): void;
  storeOffset(request: ClientRequest, command: StoreOffsetCommand): void;
  deleteOffset(request: ClientRequest, command: DeleteOffsetCommand): void;
  /** View and primary of a partition's group, or undefined while this node can not tell. */
  route(address: PartitionAddress): PartitionRouteFact | undefined;
}

/** The partitions that this thread owns. */
export interface PartitionPlane extends PartitionRequests {
  stats(address: PartitionAddress): PartitionStats | undefined;
  /** Sums over the partitions of a topic, of a stream, or of the node. */
  totals(scope?: { readonly streamId: number; readonly topicId?: number }): PartitionTotals;
  /** True when the owner was served messages of the partition that it has not committed. */
  isGroupInFlight(address: PartitionAddress, groupId: number): boolean;
  /** Turns a count of oldest sealed segments into the offset that metadata commits as truncation. */
  resolveSegments(address: PartitionAddress, incarnation: number, count: number): SegmentResolution;

  /**
   * Opens every partition of the catalog and resolves when each serves or is fenced. Directories of partitions that
   * metadata does not know are deleted when `removeUnknown` says so: never when metadata itself began anew.
   */
  start(options: { readonly removeUnknown: boolean }): Promise<void>;
  /**
   * Makes local partitions equal to the catalog: creates and removes them, applies truncations, installs owners, retires
   * groups, fences what is ending. Called after each metadata commit with the topic that it touched (and the consumer
   * groups, when it decided their owners and nothing else), and without one for everything. Returns at once; `settled`
   * tells when the work is done.
   */
  reconcile(topic?: TopicChange): void;
  /** Resolves when nothing that `reconcile` started is unfinished. */
  settled(): Promise<void>;
  /** Resolves when no partition can be written to by these ended sessions any more. At most 128. */
  retireSessions(sessions: readonly EndedSession[]): Promise<void>;
  /** One retention pass over every partition. */
  clean(): Promise<void>;
  /** Lets the oldest recent batches that are kept for readers go; gives the bytes that came free. */
  evictResident(bytes: number): number;
  /** Answers everything that waits with 58 and takes no more; first step of a graceful stop. */
  drain(): void;
  /**
   * Flushes and checkpoints every partition and closes its files. Rejects with an `AggregateError`, with everything
   * closed, when some of them could not be flushed.
   */
  close(): Promise<void>;
}

export interface PartitionRouteFact {
  readonly incarnation: number;
  readonly view: number;
  readonly primaryReplica: number;
}

export interface PartitionStats {
  readonly messagesCount: number;
  readonly sizeBytes: number;
  readonly segmentsCount: number;
  /** Offset of the last committed message, 0 also for an empty partition. */
  readonly currentOffset: number;
}

export interface PartitionTotals {
  readonly partitionsCount: number;
  readonly messagesCount: number;
  readonly sizeBytes: number;
  readonly segmentsCount: number;
}

/** The offset to truncate through (undefined: nothing to delete), or the error code that refuses. */
export type SegmentResolution =
  | { readonly kind: "truncate"; readonly throughOffset: number | undefined }
  | { readonly kind: "refused"; readonly code: number };

export interface EndedSession {
  readonly client: bigint;
  readonly session: number;
  /** Highest metadata commit the session saw; at least its own epoch. */
  readonly metadataWatermark: number;
}
