import type { AckLevel, ConsumerKindName, PollingStrategy } from "@iggy/protocol";
import type { PartitionAddress } from "./address.js";

/**
 * Decoded partition commands with every name resolved to its number. The dispatcher has already checked the session, the
 * permission and that this node applied the request's `minimumMetadataOp`; the fences of the partition itself
 * (incarnation, owner, primary) are checked here.
 */

/** A send. A balanced or keyed one was resolved to a partition before, which `partitionNamed` then denies. */
export interface SendCommand {
  readonly address: PartitionAddress;
  /** The client named the partition itself: batches of idempotent producers must. */
  readonly partitionNamed: boolean;
  /** Message count beside the batch in the request. */
  readonly messagesCount: number;
  /** The batch as received. It is stamped in place and kept until it is stored. */
  readonly batch: Uint8Array;
}

/** Key of a stored offset: a consumer's number or the hash of its name, or the number of a group. */
export interface OffsetKey {
  readonly kind: ConsumerKindName;
  readonly id: number;
}

export interface PollCommand {
  readonly address: PartitionAddress;
  readonly consumer: OffsetKey;
  readonly strategy: PollingStrategy;
  readonly count: number;
  readonly autoCommit: boolean;
  /** Set on a deferred poll; a plain poll answers at once. */
  readonly wait?: ReadWait | undefined;
}

/** How long a read may wait, and for what. Checked by the decoder: minCount 1..count, maxBytes at least 344. */
export interface ReadWait {
  readonly waitMicros: number;
  readonly minCount: number;
  readonly maxBytes: number;
  readonly requestTimeoutMicros: number;
}

export interface FetchCommand {
  readonly streamId: number;
  readonly topicId: number;
  readonly consumer: OffsetKey;
  readonly count: number;
  readonly autoCommit: boolean;
  readonly wait: ReadWait;
  /** 1 to 1000, each partition once. */
  readonly targets: readonly FetchTarget[];
  /** Part of a fetch over several shards: bytes of its reply that other shards gave already. */
  readonly spentBytes?: number;
  /** Asks what there is, as `fetchProbeReply` tells, once there is enough or the wait is over; nothing is read for good. */
  readonly isProbe?: boolean;
}

export interface FetchTarget {
  readonly partitionId: number;
  /** Only `offset` and `next`. */
  readonly strategy: PollingStrategy;
  readonly maxBytes: number;
  readonly incarnation: number;
  readonly ownerGeneration: number;
}

export interface GetOffsetCommand {
  readonly address: PartitionAddress;
  readonly consumer: OffsetKey;
}

export interface StoreOffsetCommand extends GetOffsetCommand {
  readonly offset: bigint;
  readonly ack: AckLevel;
}

export interface DeleteOffsetCommand extends GetOffsetCommand {
  readonly ack: AckLevel;
}
