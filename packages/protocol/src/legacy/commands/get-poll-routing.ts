import { command } from "../../commands/command.js";
import { Operation } from "../../enums/index.js";
import { pollRouting } from "../records/cluster.js";
import { legacyPollRequest } from "../records/polls.js";

/**
 * Asks where to send a poll that commits as it reads. Became GetPartitionRoute (105).
 *
 *   request  poll
 *   reply    poll routing
 */
export const getPollRouting = command({
  code: 103,
  name: "message.poll_routing",
  title: "GetPollRouting",
  operation: Operation.NonReplicated,
  request: legacyPollRequest,
  response: pollRouting,
});
