/** Numeric address of a partition. Ids are reused after a delete; the incarnation tells the uses apart. */
export interface PartitionAddress {
  readonly streamId: number;
  readonly topicId: number;
  readonly partitionId: number;
}

/**
 * The packed id of a partition's replication group: stream (20 bits), topic (12 bits), partition (20 bits). It stays
 * below 2^52, so a number holds it exactly.
 */
export const namespaceOf = ({ streamId, topicId, partitionId }: PartitionAddress): number =>
  streamId * 2 ** 32 + topicId * 2 ** 20 + partitionId;

export const topicNamespaceOf = (streamId: number, topicId: number): number => streamId * 2 ** 32 + topicId * 2 ** 20;

export const describeAddress = ({ streamId, topicId, partitionId }: PartitionAddress): string =>
  `${streamId}/${topicId}/${partitionId}`;
