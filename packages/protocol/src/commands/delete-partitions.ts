import { empty, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { identifier } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Removes the partitions with the highest ids.
 *
 *   request  stream_id        identifier
 *            topic_id         identifier
 *            partitions_count u32, 1..1000; others are TooManyPartitions, not a malformed body
 *   reply    empty
 */
export const deletePartitions = command({
  code: 403,
  name: "partition.delete",
  title: "DeletePartitions",
  operation: Operation.DeletePartitions,
  request: struct("DeletePartitions", { streamId: identifier, topicId: identifier, partitionsCount: u32 }),
  response: empty,
});
export type DeletePartitionsRequest = RequestOf<typeof deletePartitions>;
