import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Liveness of a connection and its session. Served without sign-in.
 *
 *   request  empty
 *   reply    empty
 */
export const ping = command({
  code: 1,
  name: "ping",
  title: "Ping",
  operation: Operation.NonReplicated,
  request: empty,
  response: empty,
});
export type PingRequest = RequestOf<typeof ping>;
