import {
  deletePartitions,
  ErrorCode,
  idLimits,
  limits,
  createPartitionsWithAssignments,
  truncatePartition,
} from "@iggy/protocol";
import { partitionsChanged } from "../changes/records.js";
import { handler, nothing } from "./handler.js";
import { findTopic } from "../state/lookups.js";
import type { OperationContext } from "./operation-context.js";
import { refuse, Refusal } from "../refusal.js";
import type { Topic } from "../state/resources.js";
import { rebalanceAfterResize } from "./group-changes.js";
import { addPartitions, removePartitions } from "./partition-changes.js";

export const applyCreatePartitions = handler(createPartitionsWithAssignments, (context, body) => {
  const { request, partitions } = body;
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  const refusal = resizeRefusal(context, topic, partitions.length);
  if (refusal !== undefined) return refusal;
  if (topic.partitions.length + partitions.length > idLimits.partitionsPerTopic) {
    return refuse(ErrorCode.PartitionIdSpaceExhausted);
  }
  addPartitions(context, topic, partitions);
  context.record(partitionsChanged(topic, []));
  for (const group of topic.groups.values()) rebalanceAfterResize(context, group);
  return nothing;
});

export const applyDeletePartitions = handler(deletePartitions.request, (context, request) => {
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  const refusal = resizeRefusal(context, topic, request.partitionsCount);
  if (refusal !== undefined) return refusal;
  if (request.partitionsCount > topic.partitions.length) return refuse(ErrorCode.InvalidPartitionsCount);
  const removed = removePartitions(context, topic, request.partitionsCount);
  context.record(partitionsChanged(topic, removed));
  for (const group of topic.groups.values()) rebalanceAfterResize(context, group);
  return nothing;
});

function resizeRefusal(context: OperationContext, topic: Topic, count: number): Refusal | undefined {
  if (!context.mayDo("manageTopic", topic.stream.id, topic.id)) return refuse(ErrorCode.Unauthorized);
  if (!topic.settings.isResizable) return refuse(ErrorCode.PartitionResizeDisabled);
  return count < 1 || count > limits.partitionsPerRequest ? refuse(ErrorCode.TooManyPartitions) : undefined;
}

export const applyTruncatePartition = handler(truncatePartition, (context, request) => {
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  const partition = topic.partitions[request.partitionId];
  if (partition === undefined) return refuse(ErrorCode.PartitionNotFound);
  if (!context.mayDo("manageTopic", topic.stream.id, topic.id)) return refuse(ErrorCode.Unauthorized);
  if (BigInt(partition.incarnation) !== request.createdRevision) return refuse(ErrorCode.PartitionHistoryChanged);
  if (request.upToOffset > BigInt(Number.MAX_SAFE_INTEGER)) return refuse(ErrorCode.InvalidCommand);
  const belowOffset = Number(request.upToOffset);
  if (belowOffset > partition.truncatedBelow) {
    partition.truncatedBelow = belowOffset;
    context.emit({ kind: "partition-truncated", ...partition.key, throughOffset: belowOffset - 1 });
  }
  return nothing;
});
