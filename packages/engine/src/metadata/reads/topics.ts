import { encodeResponse, ErrorCode, getTopic, getTopics } from "@iggy/protocol";
import { topicOf } from "../state/lookups.js";
import { refuse } from "../refusal.js";
import { topicDetails, topicRecord } from "../replies/records.js";
import { read } from "./read.js";

export const readTopic = read(getTopic, (context, request) => {
  const { state, stats, config } = context;
  const stream = state.stream(request.streamId);
  const topic = stream === undefined ? undefined : topicOf(stream, request.topicId);
  if (topic === undefined) return encodeResponse(getTopic, null);
  if (!context.mayDo("readTopic", topic.stream.id, topic.id)) return refuse(ErrorCode.Unauthorized);
  return encodeResponse(getTopic, topicDetails(topic, stats, state.appliedOp, config.nodes));
});

/** The topics of an unknown stream are none. */
export const readTopics = read(getTopics, (context, request) => {
  const stream = context.state.stream(request.streamId);
  if (stream === undefined) return encodeResponse(getTopics, { topics: [] });
  if (!context.mayDo("listTopics", stream.id)) return refuse(ErrorCode.Unauthorized);
  const topics = [...stream.topics.values()].map((topic) => topicRecord(topic, context.stats));
  return encodeResponse(getTopics, { topics });
});
