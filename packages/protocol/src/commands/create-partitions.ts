import { empty, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { identifier } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Adds partitions behind the highest id.
 *
 *   request  stream_id        identifier
 *            topic_id         identifier
 *            partitions_count u32, 1..1000; others are TooManyPartitions, not a malformed body
 *   reply    empty
 */
export const createPartitions = command({
  code: 402,
  name: "partition.create",
  title: "CreatePartitions",
  operation: Operation.CreatePartitions,
  request: struct("CreatePartitions", { streamId: identifier, topicId: identifier, partitionsCount: u32 }),
  response: empty,
});
export type CreatePartitionsRequest = RequestOf<typeof createPartitions>;
