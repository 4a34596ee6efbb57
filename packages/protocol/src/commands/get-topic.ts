import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { topicTarget } from "./records/targets.js";
import { topicDetails } from "./records/topic-details.js";

/**
 * One topic and its partitions.
 *
 *   request  stream_id identifier
 *            topic_id  identifier
 *   reply    topic details; empty when unknown
 */
export const getTopic = command({
  code: 300,
  name: "topic.get",
  title: "GetTopic",
  operation: Operation.NonReplicated,
  request: topicTarget,
  response: topicDetails,
  absent: true,
});
export type GetTopicRequest = RequestOf<typeof getTopic>;
