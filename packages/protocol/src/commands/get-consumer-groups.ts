import { listToEnd, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { consumerGroup } from "./records/consumer-group.js";
import { topicTarget } from "./records/targets.js";

/**
 * The consumer groups of a topic.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *   reply    consumer groups to the end
 */
export const getConsumerGroups = command({
  code: 601,
  name: "consumer_group.list",
  title: "GetConsumerGroups",
  operation: Operation.NonReplicated,
  request: topicTarget,
  response: struct("ConsumerGroups", { groups: listToEnd(consumerGroup) }),
});
export type GetConsumerGroupsRequest = RequestOf<typeof getConsumerGroups>;
export type ConsumerGroups = NonNullable<ResponseOf<typeof getConsumerGroups>>;
