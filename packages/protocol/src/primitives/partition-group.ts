/** A partition by its numbers: stream below 2^20, topic below 2^12, partition below 10^6. */
export interface PartitionNumbers {
  readonly streamId: number;
  readonly topicId: number;
  readonly partitionId: number;
}

/**
 * Id of a partition's replication group, also called its namespace: stream (20 bits), topic (12), partition (20). Below
 * 2^52, so a number holds it exactly. The metadata group is 2^63.
 */
export const partitionGroup = ({ streamId, topicId, partitionId }: PartitionNumbers): number =>
  streamId * 2 ** 32 + topicId * 2 ** 20 + partitionId;
