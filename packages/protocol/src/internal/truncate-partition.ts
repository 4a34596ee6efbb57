import { exactly, struct, u32, u64, type ValueOf } from "../codec/index.js";
import { identifier } from "../primitives/index.js";

/**
 * A segment deletion that the primary resolved to an offset. The watermark never moves back. A partition of another
 * revision was created anew since: `PartitionHistoryChanged` (3014).
 *
 *   stream_id · topic_id · partition_id u32 · created_revision u64 · up_to_offset u64
 */
export const truncatePartition = exactly(
  struct("TruncatePartition", {
    streamId: identifier,
    topicId: identifier,
    partitionId: u32,
    createdRevision: u64,
    upToOffset: u64,
  }),
);
export type TruncatePartition = ValueOf<typeof truncatePartition>;
