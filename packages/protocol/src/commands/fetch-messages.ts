import { Operation } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { command, type RequestOf } from "./command.js";
import { fetchReply, fetchRequest } from "./records/fetch.js";

/**
 * Reads several partitions of a topic that share a primary.
 *
 *   request  fetch
 *   reply    fetch reply
 */
export const fetchMessages = command({
  code: 109,
  name: "message.fetch",
  title: "FetchMessages",
  operation: Operation.NonReplicated,
  request: fetchRequest,
  exact: true,
  response: fetchReply,
  malformedReplyCode: ErrorCode.InvalidFormat,
});
export type FetchMessagesRequest = RequestOf<typeof fetchMessages>;
