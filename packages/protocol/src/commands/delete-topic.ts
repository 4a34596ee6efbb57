import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { topicTarget } from "./records/targets.js";

/**
 * Removes a topic with every grant on it.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *   reply    empty
 */
export const deleteTopic = command({
  code: 303,
  name: "topic.delete",
  title: "DeleteTopic",
  operation: Operation.DeleteTopic,
  request: topicTarget,
  response: empty,
});
export type DeleteTopicRequest = RequestOf<typeof deleteTopic>;
