import { headed } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { stream } from "./records/stream.js";
import { streamTarget } from "./records/targets.js";
import { topic } from "./records/topic.js";

/**
 * One stream and its topics.
 *
 *   request  stream_id identifier
 *   reply    stream, then topics_count topics; empty when unknown
 */
export const getStream = command({
  code: 200,
  name: "stream.get",
  title: "GetStream",
  operation: Operation.NonReplicated,
  request: streamTarget,
  response: headed("StreamDetails", "stream", stream, "topicsCount", "topics", topic),
  absent: true,
});
export type GetStreamRequest = RequestOf<typeof getStream>;
export type StreamDetails = NonNullable<ResponseOf<typeof getStream>>;
