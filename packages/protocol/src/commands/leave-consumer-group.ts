import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { groupTarget } from "./records/targets.js";

/**
 * Ends the membership of the calling session.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *            group_id  identifier
 *   reply    empty
 */
export const leaveConsumerGroup = command({
  code: 605,
  name: "consumer_group.leave",
  title: "LeaveConsumerGroup",
  operation: Operation.LeaveConsumerGroup,
  request: groupTarget,
  response: empty,
});
export type LeaveConsumerGroupRequest = RequestOf<typeof leaveConsumerGroup>;
