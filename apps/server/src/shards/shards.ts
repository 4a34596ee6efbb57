import type { GroupProgress, Handover, MetadataEffect, MetadataPrepare, ResolveInputs } from "@iggy/engine";
import type { Seating } from "../net/ring-tcp-listener.js";
import type { ConnectionFacts } from "../node/connection-facts.js";
import type {
  EndedSession,
  PartitionAddress,
  PartitionRequests,
  PartitionStats,
  SessionParking,
} from "../partitions/index.js";
import type { CountedPartition } from "../partitions/index.js";

/** The shards of the node, as the one that orders metadata sees them. With a single one everything is here. */
export interface Shards {
  readonly count: number;
  /** Whether a partition belongs to this shard. */
  isOwn(partition: PartitionAddress): boolean;
  /** The partitions of all shards, for the connections of this one. */
  readonly requests: PartitionRequests;
  /** Counts the waiting reads of sessions on all shards. Undefined when all of them are here. */
  readonly sessionParking: SessionParking | undefined;

  // What metadata asks of partitions.
  statsOf(partition: PartitionAddress & { readonly incarnation: number }): PartitionStats | undefined;
  progressOf(handovers: readonly Handover[]): GroupProgress | Promise<GroupProgress>;
  readonly deletableThrough: ResolveInputs["deletableThrough"];
  retireSessions(sessions: readonly EndedSession[]): Promise<void>;

  // What metadata tells.
  /** An operation was applied: the others follow. */
  committed(prepare: MetadataPrepare, effects: readonly MetadataEffect[]): void;
  /** Some shard has earlier commits to take yet. */
  readonly isBehind: boolean;
  counted(partition: CountedPartition): void;

  // Connections.
  /** Hands an accepted socket to the shard whose turn it is. Undefined when all are served by this one. */
  readonly seat: ((descriptor: number) => Seating) | undefined;
  /** Those of other shards. */
  connections(): Promise<readonly ConnectionFacts[]>;
  /** Sessions that they heard of, with how long ago. */
  heardSessions(): Promise<readonly { readonly client: bigint; readonly silentMillis: number }[]>;

  // From start to stop.
  /** Starts the others from what metadata has applied. Nothing was applied since that they would miss. */
  start(): Promise<void>;
  /** Resolves when every partition of theirs serves or is fenced. */
  startPartitions(): Promise<void>;
  /** Keeps this thread on its core. The last step: threads inherit the core of the one that starts them. */
  pin(): Promise<void>;
  /** They refuse what waits and take no more. Returns at once. */
  drain(): void;
  /** Requests of their connections that are not answered. */
  requestsInFlight(): Promise<number>;
  endConnections(): void;
  closePartitions(withinMillis: number): Promise<void>;
  closeConnections(graceMillis: number): Promise<void>;
  /** Ends their threads. Rejects when one of them does not end in time. */
  stop(joinMillis: number): Promise<void>;
}
