import { empty, looseBool, struct, u32 } from "../../codec/index.js";
import { command } from "../../commands/command.js";
import { Operation } from "../../enums/index.js";
import { identifier } from "../../primitives/index.js";

/**
 * Asked a server to write its buffer; servers of the 0.9 line answered `FeatureUnavailable` (5).
 *
 *   request  stream_id · topic_id · partition_id u32 · fsync u8
 *   reply    empty
 */
export const flushUnsavedBuffer = command({
  code: 102,
  name: "message.flush_unsaved_buffer",
  title: "FlushUnsavedBuffer",
  operation: Operation.NonReplicated,
  request: struct("FlushUnsavedBuffer", {
    streamId: identifier,
    topicId: identifier,
    partitionId: u32,
    fsync: looseBool,
  }),
  response: empty,
});
