import {
  createPartitions,
  createPartitionsWithAssignments,
  deletePartitions,
  deleteSegments,
  ErrorCode,
  limits,
  Operation,
  truncatePartition,
} from "@iggy/protocol";
import { findTopic } from "../state/lookups.js";
import { Refusal } from "../refusal.js";
import { assignments, exceedsPartitionLimit } from "./placing.js";
import { deny, propose, resolver } from "./resolver.js";

const isCountInBounds = (count: number): boolean => count >= 1 && count <= limits.partitionsPerRequest;

export const resolveCreatePartitions = resolver(createPartitions, (context, request) => {
  if (!isCountInBounds(request.partitionsCount)) return deny(ErrorCode.TooManyPartitions);
  // A topic that is missing, or closed to the caller, is for the log to refuse.
  const topic = findTopic(context.state, request.streamId, request.topicId);
  const isKnown = !(topic instanceof Refusal);
  if (isKnown && context.mayDo("manageTopic", topic.stream.id, topic.id)) {
    if (!topic.settings.isResizable) return deny(ErrorCode.PartitionResizeDisabled);
    if (exceedsPartitionLimit(context, request.partitionsCount)) return deny(ErrorCode.PartitionsLimitReached);
  }
  const factor = isKnown ? topic.settings.replicationFactor : context.config.defaultReplicationFactor;
  const place = isKnown ? { streamId: topic.stream.id, topicId: topic.id } : { streamId: 0, topicId: 0 };
  return propose(Operation.CreatePartitionsWithAssignments, createPartitionsWithAssignments, {
    request,
    partitions: assignments(context.inputs.placement, place, request.partitionsCount, factor),
  });
});

export const resolveDeletePartitions = resolver(deletePartitions, (_context, request) =>
  isCountInBounds(request.partitionsCount)
    ? propose(Operation.DeletePartitions, deletePartitions.request, request)
    : deny(ErrorCode.TooManyPartitions),
);

/**
 * The partition's primary turns the number of segments into an offset, which every replica deletes up to. What can't be
 * resolved can't be ordered either, so those refusals are statuses.
 */
export const resolveDeleteSegments = resolver(deleteSegments, async (context, request) => {
  if (request.segmentsCount === 0) return deny(ErrorCode.InvalidSegmentsCount);
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return deny(topic.code);
  const partition = topic.partitions[request.partitionId];
  if (partition === undefined) return deny(ErrorCode.PartitionNotFound);
  if (!context.mayDo("manageTopic", topic.stream.id, topic.id)) return deny(ErrorCode.Unauthorized);
  const through = await context.inputs.deletableThrough(partition, request.segmentsCount);
  if (through === "unavailable") return deny(ErrorCode.TransientNotAccepted);
  return propose(Operation.TruncatePartition, truncatePartition, {
    streamId: request.streamId,
    topicId: request.topicId,
    partitionId: request.partitionId,
    createdRevision: BigInt(partition.incarnation),
    upToOffset: through === undefined ? 0n : BigInt(through) + 1n,
  });
});
