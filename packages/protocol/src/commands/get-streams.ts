import { empty, listToEnd, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { stream } from "./records/stream.js";

/**
 * All streams that the caller may read, without topics.
 *
 *   request  empty
 *   reply    streams to the end
 */
export const getStreams = command({
  code: 201,
  name: "stream.list",
  title: "GetStreams",
  operation: Operation.NonReplicated,
  request: empty,
  response: struct("Streams", { streams: listToEnd(stream) }),
});
export type GetStreamsRequest = RequestOf<typeof getStreams>;
export type Streams = NonNullable<ResponseOf<typeof getStreams>>;
