import type { ServerConfig } from "../keys.js";
import { rule, type Rule } from "./rule.js";

const GIB = 2 ** 30;

/** Rules of shards, logs and queues. */
export const dataPlaneRules: readonly Rule[] = [
  rule(
    "sharding.cpu_allocation",
    ({ sharding: { cpuAllocation } }, { allowedCores }) =>
      (cpuAllocation.mode === "count" && cpuAllocation.count > allowedCores.length) ||
      (cpuAllocation.mode === "range" && cpuAllocation.end - cpuAllocation.first > allowedCores.length),
    "asks for more cores than this process may use",
  ),
  rule(
    "sharding.cpu_allocation",
    ({ sharding: { cpuAllocation, pinCores } }, { allowedCores }) =>
      pinCores &&
      cpuAllocation.mode === "range" &&
      cpuAllocation.end - cpuAllocation.first <= allowedCores.length &&
      !coresOf(cpuAllocation.first, cpuAllocation.end).every((core) => allowedCores.includes(core)),
    "names a core outside the set this process may use, while `sharding.pin_cores` is on",
  ),
  rule(
    "sharding.deferred_poll_max_pending_per_session",
    ({ sharding }) => sharding.deferredPollMaxPendingPerSession > sharding.deferredPollMaxPending,
    "must be at most `sharding.deferred_poll_max_pending`",
  ),
  rule(
    "sharding.deferred_poll_max_read_bytes",
    ({ sharding }) => sharding.deferredPollMaxReadBytes > sharding.deferredPollMaxInflightBytes,
    "must be at most `sharding.deferred_poll_max_inflight_bytes`",
  ),
  rule(
    "sharding.shutdown_poll_interval",
    ({ sharding }) => sharding.shutdownPollIntervalMillis > sharding.shutdownDrainTimeoutMillis,
    "must be at most `sharding.shutdown_drain_timeout`",
  ),
  rule(
    "sharding.shutdown_join_timeout",
    ({ sharding }) => sharding.shutdownJoinTimeoutMillis < sharding.shutdownDrainTimeoutMillis,
    "must be at least `sharding.shutdown_drain_timeout`",
  ),
  rule(
    "metadata.journal_slots",
    (config) => config.metadata.journalSlots < journalSlotsMin(config),
    (config) =>
      `must be at least ${journalSlotsMin(config)}, four times the larger of 64 and \`metadata.prepare_queue_depth\``,
  ),
  rule(
    "partition.transfer_artifact_bytes_max",
    ({ partition, messageBus }) => partition.transferArtifactBytesMax < GIB + messageBus.maxMessageSizeBytes,
    "must be at least 1 GiB more than `message_bus.max_message_size`",
  ),
  rule(
    "cluster.repair_chunk_max",
    ({ cluster, messageBus }) => cluster.repairChunkMax >= messageBus.peerQueueCapacity,
    "must be below `message_bus.peer_queue_capacity`",
  ),
];

function journalSlotsMin({ metadata }: ServerConfig): number {
  return 4 * Math.max(64, metadata.prepareQueueDepth);
}

function coresOf(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, index) => first + index);
}
