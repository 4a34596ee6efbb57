import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { groupTarget } from "./records/targets.js";

/**
 * Removes a consumer group and its offsets.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *            group_id  identifier
 *   reply    empty
 */
export const deleteConsumerGroup = command({
  code: 603,
  name: "consumer_group.delete",
  title: "DeleteConsumerGroup",
  operation: Operation.DeleteConsumerGroup,
  request: groupTarget,
  response: empty,
});
export type DeleteConsumerGroupRequest = RequestOf<typeof deleteConsumerGroup>;
