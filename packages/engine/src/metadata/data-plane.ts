import { ErrorCode, type Identifier } from "@iggy/protocol";
import type { ConsumerGroup } from "./state/consumer-group.js";
import { groupOf, topicOf } from "./state/lookups.js";
import { refuse, Refusal } from "./refusal.js";
import type { Partition, Topic } from "./state/resources.js";
import type { MetadataState } from "./state/state.js";

// What requests of the data plane address. They tell an unknown number from an unknown name.

export function resolveTopic(state: MetadataState, streamId: Identifier, topicId: Identifier): Topic | Refusal {
  const stream = state.stream(streamId);
  if (stream === undefined) {
    return refuse(streamId.kind === "numeric" ? ErrorCode.StreamIdNotFound : ErrorCode.StreamNameNotFound);
  }
  const topic = topicOf(stream, topicId);
  if (topic !== undefined) return topic;
  return refuse(topicId.kind === "numeric" ? ErrorCode.TopicIdNotFound : ErrorCode.TopicNameNotFound);
}

export function resolvePartition(
  state: MetadataState,
  streamId: Identifier,
  topicId: Identifier,
  partitionId: number,
): Partition | Refusal {
  const topic = resolveTopic(state, streamId, topicId);
  if (topic instanceof Refusal) return topic;
  return topic.partitions[partitionId] ?? refuse(ErrorCode.PartitionNotFound);
}

export function resolveGroup(topic: Topic, groupId: Identifier): ConsumerGroup | Refusal {
  const group = groupOf(topic, groupId);
  if (group !== undefined) return group;
  return refuse(groupId.kind === "numeric" ? ErrorCode.ConsumerGroupIdNotFound : ErrorCode.ConsumerGroupNameNotFound);
}
