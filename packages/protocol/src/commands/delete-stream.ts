import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { streamTarget } from "./records/targets.js";

/**
 * Removes a stream with its topics and every grant on it.
 *
 *   request  stream_id identifier
 *   reply    empty
 */
export const deleteStream = command({
  code: 203,
  name: "stream.delete",
  title: "DeleteStream",
  operation: Operation.DeleteStream,
  request: streamTarget,
  response: empty,
});
export type DeleteStreamRequest = RequestOf<typeof deleteStream>;
