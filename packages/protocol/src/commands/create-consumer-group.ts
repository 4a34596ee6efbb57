import { name, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { identifier } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";
import { consumerGroupDetails } from "./records/consumer-group.js";

/**
 * Adds a consumer group.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *            name      name
 *   reply    consumer group details, without members
 */
export const createConsumerGroup = command({
  code: 602,
  name: "consumer_group.create",
  title: "CreateConsumerGroup",
  operation: Operation.CreateConsumerGroup,
  request: struct("CreateConsumerGroup", { streamId: identifier, topicId: identifier, name }),
  response: consumerGroupDetails,
});
export type CreateConsumerGroupRequest = RequestOf<typeof createConsumerGroup>;
