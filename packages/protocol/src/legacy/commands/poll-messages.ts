import { command } from "../../commands/command.js";
import { Operation } from "../../enums/index.js";
import { legacyPollReply, legacyPollRequest } from "../records/polls.js";

/**
 * Reads messages; any node serves it from its own replica.
 *
 *   request  poll
 *   reply    poll reply of 0.11
 */
export const legacyPollMessages = command({
  code: 100,
  name: "message.poll",
  title: "PollMessages",
  operation: Operation.NonReplicated,
  request: legacyPollRequest,
  response: legacyPollReply,
});

/** The same at the primary, with the group identity that 14 attached. */
export const pollMessagesOnPrimary = command({
  code: 104,
  name: "message.poll_primary",
  title: "PollMessagesOnPrimary",
  operation: Operation.NonReplicated,
  request: legacyPollRequest,
  response: legacyPollReply,
});
