import { Operation } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { command, type RequestOf } from "./command.js";
import { deferredPollRequest, pollReply } from "./records/poll.js";

/**
 * Reads messages, waiting until enough are there.
 *
 *   request  deferred poll
 *   reply    poll reply
 */
export const pollMessagesDeferred = command({
  code: 106,
  name: "message.poll_deferred",
  title: "PollMessagesDeferred",
  operation: Operation.NonReplicated,
  request: deferredPollRequest,
  exact: true,
  response: pollReply,
  malformedReplyCode: ErrorCode.InvalidNumberEncoding,
});
export type PollMessagesDeferredRequest = RequestOf<typeof pollMessagesDeferred>;
