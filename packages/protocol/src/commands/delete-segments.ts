import { empty, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { identifier } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Deletes the oldest sealed segments of a partition. A committed reply carries operation TruncatePartition and with it a
 * result section.
 *
 *   request  stream_id      identifier
 *            topic_id       identifier
 *            partition_id   u32
 *            segments_count u32
 *   reply    empty
 */
export const deleteSegments = command({
  code: 503,
  name: "segment.delete",
  title: "DeleteSegments",
  operation: Operation.DeleteSegments,
  request: struct("DeleteSegments", {
    streamId: identifier,
    topicId: identifier,
    partitionId: u32,
    segmentsCount: u32,
  }),
  response: empty,
});
export type DeleteSegmentsRequest = RequestOf<typeof deleteSegments>;
