import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { groupTarget } from "./records/targets.js";

/**
 * Makes the calling session a member. Joining again changes nothing.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *            group_id  identifier
 *   reply    empty
 */
export const joinConsumerGroup = command({
  code: 604,
  name: "consumer_group.join",
  title: "JoinConsumerGroup",
  operation: Operation.JoinConsumerGroup,
  request: groupTarget,
  response: empty,
});
export type JoinConsumerGroupRequest = RequestOf<typeof joinConsumerGroup>;
