import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Cancels the waiting read whose request number its header repeats. It has no reply of its own: the read is answered.
 *
 *   request  empty
 */
export const cancelDeferredRequest = command({
  code: 108,
  name: "message.cancel_deferred",
  title: "CancelDeferredRequest",
  operation: Operation.NonReplicated,
  request: empty,
  response: empty,
  answered: false,
});
export type CancelDeferredRequestRequest = RequestOf<typeof cancelDeferredRequest>;
