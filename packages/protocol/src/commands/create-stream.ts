import { name, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { optionsToEnd } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";
import { stream } from "./records/stream.js";

/**
 * Adds a stream.
 *
 *   request  name    name
 *            options to end, stream scope
 *   reply    stream, without topics
 */
export const createStream = command({
  code: 202,
  name: "stream.create",
  title: "CreateStream",
  operation: Operation.CreateStream,
  request: struct("CreateStream", { name, options: optionsToEnd }),
  response: stream,
});
export type CreateStreamRequest = RequestOf<typeof createStream>;
