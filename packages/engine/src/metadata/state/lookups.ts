import { ErrorCode, type Identifier } from "@iggy/protocol";
import type { User } from "./accounts.js";
import type { ConsumerGroup } from "./consumer-group.js";
import { refuse, type Refusal } from "../refusal.js";
import { type Stream, Topic } from "./resources.js";
import type { MetadataState } from "./state.js";

// What metadata operations address. They report an unknown name like an unknown id; only the data plane tells them apart.

export const findStream = (state: MetadataState, id: Identifier): Stream | Refusal =>
  state.stream(id) ?? refuse(ErrorCode.StreamIdNotFound);

export function findTopic(state: MetadataState, streamId: Identifier, topicId: Identifier): Topic | Refusal {
  const stream = state.stream(streamId);
  if (stream === undefined) return refuse(ErrorCode.StreamIdNotFound);
  return topicOf(stream, topicId) ?? refuse(ErrorCode.TopicIdNotFound);
}

export function findGroup(
  state: MetadataState,
  streamId: Identifier,
  topicId: Identifier,
  groupId: Identifier,
): ConsumerGroup | Refusal {
  const topic = findTopic(state, streamId, topicId);
  if (!(topic instanceof Topic)) return topic;
  return groupOf(topic, groupId) ?? refuse(ErrorCode.ConsumerGroupIdNotFound);
}

export const findUser = (state: MetadataState, id: Identifier): User | Refusal =>
  state.user(id) ?? refuse(ErrorCode.ResourceNotFound);

export const topicOf = (stream: Stream, id: Identifier): Topic | undefined =>
  id.kind === "numeric" ? stream.topics.get(id.value) : stream.topicsByName.get(id.value);

export const groupOf = (topic: Topic, id: Identifier): ConsumerGroup | undefined =>
  id.kind === "numeric" ? topic.groups.get(id.value) : topic.groupsByName.get(id.value);
