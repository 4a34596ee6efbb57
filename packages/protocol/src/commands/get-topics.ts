import { list, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { streamTarget } from "./records/targets.js";
import { topic } from "./records/topic.js";

/**
 * The topics of a stream. An unknown stream lists as empty.
 *
 *   request  stream_id identifier
 *   reply    [u32 count][topic × count]
 */
export const getTopics = command({
  code: 301,
  name: "topic.list",
  title: "GetTopics",
  operation: Operation.NonReplicated,
  request: streamTarget,
  response: struct("Topics", { topics: list(u32, topic) }),
});
export type GetTopicsRequest = RequestOf<typeof getTopics>;
export type Topics = NonNullable<ResponseOf<typeof getTopics>>;
