import { listToEnd, struct, u32, u64, type ValueOf } from "../codec/index.js";

/**
 * What a partition's primary reports to the metadata group. `inSyncNodes` has bit n set for node n, the primary
 * included.
 *
 * `[namespace u64][created_revision u64][view u32][commit u64][current_offset u64][messages_count u64][size_bytes u64]
 * [segments_count u32][in_sync_nodes u32]`, 60 bytes
 */
export const partitionStatus = struct("partition status", {
  namespace: u64,
  createdRevision: u64,
  view: u32,
  commit: u64,
  currentOffset: u64,
  messagesCount: u64,
  sizeBytes: u64,
  segmentsCount: u32,
  inSyncNodes: u32,
});
export type PartitionStatus = ValueOf<typeof partitionStatus>;

/** Body of a metadata probe or its answer: entries and nothing else, so a length that 60 does not divide is refused. */
export const partitionStatuses = listToEnd(partitionStatus);
