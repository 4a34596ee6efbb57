import type {
  ConsumerGroupDetails,
  ConsumerGroup as ConsumerGroupRecord,
  Partition as PartitionRecord,
  Stream as StreamRecord,
  StreamDetails,
  Topic as TopicRecord,
  TopicDetails,
  User as UserRecord,
  UserDetails,
} from "@iggy/protocol";
import type { User } from "../state/accounts.js";
import type { ConsumerGroup } from "../state/consumer-group.js";
import { type PartitionCounters, type PartitionStats, sumOf } from "./partition-stats.js";
import type { Partition, Stream, Topic } from "../state/resources.js";
import { visibleStreamOptions, visibleTopicOptions, visibleUserOptions } from "./visible-options.js";

// Resources as replies show them. Creates and reads answer alike, so both come here.

export function streamRecord(stream: Stream, stats: PartitionStats): StreamRecord {
  const { messagesCount, sizeBytes } = sumOf(partitionsOf(stream), stats);
  return {
    id: stream.id,
    createdAt: BigInt(stream.createdAtMicros),
    topicsCount: stream.topics.size,
    sizeBytes: BigInt(sizeBytes),
    messagesCount: BigInt(messagesCount),
    name: stream.name,
    ...visibleStreamOptions(stream.options),
  };
}

export function* partitionsOf(stream: Stream): IterableIterator<Partition> {
  for (const topic of stream.topics.values()) yield* topic.partitions;
}

export const streamDetails = (stream: Stream, stats: PartitionStats): StreamDetails => ({
  stream: streamRecord(stream, stats),
  topics: [...stream.topics.values()].map((topic) => topicRecord(topic, stats)),
});

export function topicRecord(topic: Topic, stats: PartitionStats): TopicRecord {
  const { messagesCount, sizeBytes } = sumOf(topic.partitions, stats);
  return {
    id: topic.id,
    createdAt: BigInt(topic.createdAtMicros),
    partitionsCount: topic.partitions.length,
    sizeBytes: BigInt(sizeBytes),
    messagesCount: BigInt(messagesCount),
    name: topic.name,
    ...visibleTopicOptions(topic.options),
  };
}

/** `metadataOp` is the applied op of the answering node, `nodes` its roster. */
export const topicDetails = (
  topic: Topic,
  stats: PartitionStats,
  metadataOp: number,
  nodes: readonly number[],
): TopicDetails => ({
  topic: topicRecord(topic, stats),
  partitions: topic.partitions.map((partition) =>
    partitionRecord(partition, stats.countersOf(partition), metadataOp, nodes),
  ),
});

const partitionRecord = (
  partition: Partition,
  counters: PartitionCounters | undefined,
  metadataOp: number,
  nodes: readonly number[],
): PartitionRecord => ({
  id: partition.partitionId,
  createdAt: BigInt(partition.createdAtMicros),
  segmentsCount: Math.max(1, counters?.segmentsCount ?? 1),
  currentOffset: BigInt(counters?.currentOffset ?? 0),
  sizeBytes: BigInt(counters?.sizeBytes ?? 0),
  messagesCount: BigInt(counters?.messagesCount ?? 0),
  context: { incarnation: BigInt(partition.incarnation), ownerGeneration: 0n, metadataOp: BigInt(metadataOp) },
  members: partition.members.length === 0 ? nodes : partition.members,
  inSyncMembers: counters?.inSync ?? [],
});

export const groupRecord = (group: ConsumerGroup): ConsumerGroupRecord => ({
  id: group.id,
  partitionsCount: group.topic.partitions.length,
  membersCount: group.members.size,
  name: group.name,
});

export const groupDetails = (group: ConsumerGroup): ConsumerGroupDetails => ({
  group: groupRecord(group),
  members: [...group.members.values()].map(({ slot, partitions }) => ({
    id: slot,
    partitionsCount: partitions.length,
    partitions: [...partitions].sort((left, right) => left - right),
  })),
});

export const userRecord = (user: User): UserRecord => ({
  id: user.id,
  createdAt: BigInt(user.createdAtMicros),
  status: user.status,
  username: user.username,
  ...visibleUserOptions(user.options),
});

export const userDetails = (user: User): UserDetails => ({ user: userRecord(user), permissions: user.permissions });
