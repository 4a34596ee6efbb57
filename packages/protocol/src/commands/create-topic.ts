import { name, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { identifier, optionsToEnd } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";
import { topicDetails } from "./records/topic-details.js";

/**
 * Adds a topic.
 *
 *   request  stream_id        identifier
 *            partitions_count u32, 0..1000; more is TooManyPartitions, not a malformed body
 *            name             name
 *            options          to end, topic scope
 *   reply    topic details
 */
export const createTopic = command({
  code: 302,
  name: "topic.create",
  title: "CreateTopic",
  operation: Operation.CreateTopic,
  request: struct("CreateTopic", {
    streamId: identifier,
    partitionsCount: u32,
    name,
    options: optionsToEnd,
  }),
  response: topicDetails,
});
export type CreateTopicRequest = RequestOf<typeof createTopic>;
