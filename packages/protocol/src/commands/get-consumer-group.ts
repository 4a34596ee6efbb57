import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { consumerGroupDetails } from "./records/consumer-group.js";
import { groupTarget } from "./records/targets.js";

/**
 * One consumer group and its members.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *            group_id  identifier
 *   reply    consumer group details; empty when the group is unknown
 */
export const getConsumerGroup = command({
  code: 600,
  name: "consumer_group.get",
  title: "GetConsumerGroup",
  operation: Operation.NonReplicated,
  request: groupTarget,
  response: consumerGroupDetails,
  absent: true,
});
export type GetConsumerGroupRequest = RequestOf<typeof getConsumerGroup>;
