import type { MetadataConfig } from "@iggy/engine";
import type { ReplicaIdentity } from "@iggy/storage";
import type { Backend } from "../backend/index.js";
import type { LogDirectives, ServerConfig } from "../config/index.js";
import type { SharedSlots } from "../net/socket-slots.js";
import type { PartitionLimits } from "../partitions/index.js";
import type { Seat } from "./lanes/seat.js";
import type { LogBudget } from "./thread-log.js";

/** What a shard has to know of the configuration. Plain values, which can be posted. */
export interface ShardPlan {
  readonly dataDirectory: string;
  readonly identity: ReplicaIdentity;
  readonly cluster: bigint;
  readonly replica: number;
  readonly nodes: readonly number[];
  readonly metadata: MetadataConfig;
  readonly partitions: PartitionLimits;
  /** Requests that one shard may have under way at another. */
  readonly pendingMax: number;
  /** Milliseconds; undefined switches a job off. */
  readonly heartbeatMillis: number | undefined;
  readonly segmentCleanerMillis: number | undefined;
  /** The backend that shard 0 has: bodies are handed over in its memory, so all shards have the same. */
  readonly backend: Backend["kind"];
  /** Pooled memory of the shard. */
  readonly memoryBytes: number;
  readonly messageBus: Pick<
    ServerConfig["messageBus"],
    "maxMessageSizeBytes" | "clientQueueCapacity" | "closeGraceMillis"
  >;
  /** The sockets of the node are counted together. */
  readonly slots: SharedSlots;
  /** Counters of the waiting reads of sessions. */
  readonly sessionParking: SharedArrayBuffer;
  /** The core of each shard; undefined when they are not pinned. */
  readonly cores: readonly number[] | undefined;
  readonly logLevels: LogDirectives;
  readonly logBudget: LogBudget;
}

/** Everything that a shard other than the first one starts from. */
export interface ShardBoot {
  readonly plan: ShardPlan;
  readonly seat: Seat;
  /** Memory of the counters, by shard. */
  readonly boards: readonly SharedArrayBuffer[];
  /** Metadata of the moment from which on its lane brings every commit. */
  readonly snapshot: Uint8Array;
}
