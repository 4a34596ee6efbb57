import type { MetadataConfig } from "@iggy/engine";
import type { ServerConfig } from "./config/index.js";
import type { PartitionLimits } from "./partitions/index.js";
import { SERVER_VERSION } from "./version.js";

/** Recent batches that all partitions together keep in memory for readers. */
const RESIDENT_BYTES_MAX = 128 * 1024 * 1024;
/** Largest page of metadata changes; a smaller frame limit lowers it. */
const CHANGES_PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** What the configuration says to the metadata state machine. */
export const metadataConfig = (config: ServerConfig, nodes: readonly number[]): MetadataConfig => ({
  nodes,
  serverVersion: SERVER_VERSION,
  clientsTableMax: config.metadata.clientsTableMax,
  partitionsMax: config.metadata.partitionsMax,
  tokensPerUserMax: config.personalAccessToken.maxTokensPerUser,
  defaultReplicationFactor: nodes.length,
  changeLogResourceCapacity: config.metadata.changeLogResourceCapacity,
  changeLogActivityCapacity: config.metadata.changeLogActivityCapacity,
  changesPageBytesMax: Math.min(CHANGES_PAGE_BYTES_MAX, config.messageBus.maxMessageSizeBytes),
});

/** What the configuration says to the partitions of one of so many shards. */
export const partitionLimits = (config: ServerConfig, shardCount: number): PartitionLimits => ({
  prepareQueueDepth: config.partition.prepareQueueDepth,
  dedupClientsMax: config.partition.dedupClientsMax,
  consumerOffsetsMax: config.partition.consumerOffsetsMax,
  offsetReservationLease: config.partition.offsetReservationLease,
  walBytesMax: config.partition.walBytesMax,
  walGroupCommitDelayMicros: config.partition.walGroupCommitDelayMicros,
  validateChecksum: config.partition.validateChecksum,
  partitionIoCapacity: config.sharding.partitionIoCapacity,
  pollCompletionCapacity: config.sharding.pollCompletionCapacity,
  deferredPollMaxWaitMicros: config.sharding.deferredPollMaxWaitMillis * 1000,
  deferredPollMaxPending: config.sharding.deferredPollMaxPending,
  deferredPollMaxPendingPerSession: config.sharding.deferredPollMaxPendingPerSession,
  deferredPollMaxReadBytes: config.sharding.deferredPollMaxReadBytes,
  deferredPollMaxInflightBytes: config.sharding.deferredPollMaxInflightBytes,
  maxMessageSizeBytes: config.messageBus.maxMessageSizeBytes,
  residentBytesMax: Math.floor(RESIDENT_BYTES_MAX / shardCount),
});
