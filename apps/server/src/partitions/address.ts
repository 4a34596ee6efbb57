import { partitionGroup, type PartitionNumbers } from "@iggy/protocol";

/** Numeric address of a partition. Ids are reused after a delete; the incarnation tells the uses apart. */
export type PartitionAddress = PartitionNumbers;

/** A key for the partitions of one topic. */
export const topicNamespaceOf = (streamId: number, topicId: number): number =>
  partitionGroup({ streamId, topicId, partitionId: 0 });

export const describeAddress = ({ streamId, topicId, partitionId }: PartitionAddress): string =>
  `${streamId}/${topicId}/${partitionId}`;
