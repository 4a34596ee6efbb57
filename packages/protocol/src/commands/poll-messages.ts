import { Operation } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { command, type RequestOf } from "./command.js";
import { pollReply, pollRequest } from "./records/poll.js";

/**
 * Reads messages at once.
 *
 *   request  poll
 *   reply    poll reply
 */
export const pollMessages = command({
  code: 100,
  name: "message.poll",
  title: "PollMessages",
  operation: Operation.NonReplicated,
  request: pollRequest,
  response: pollReply,
  malformedReplyCode: ErrorCode.InvalidNumberEncoding,
});
export type PollMessagesRequest = RequestOf<typeof pollMessages>;
