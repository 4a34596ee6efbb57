import { Partition, type Topic } from "../state/resources.js";
import type { OperationContext } from "./operation-context.js";

/** Where a new partition is stored, and the view in which its group starts. */
export interface PartitionPlacement {
  readonly initialView: number;
  /** Node ids in member order; empty = every node. */
  readonly members: readonly number[];
}

/** Appends partitions behind the highest id. Their incarnation is this op. */
export function addPartitions(
  context: OperationContext,
  topic: Topic,
  placements: readonly PartitionPlacement[],
): void {
  for (const { initialView, members } of placements) {
    const partition = new Partition({
      topic,
      id: topic.partitions.length,
      incarnation: context.op,
      createdAtMicros: context.nowMicros,
      createdView: initialView,
      members: [...members],
    });
    topic.partitions.push(partition);
    context.emit({
      kind: "partition-created",
      ...partition.key,
      view: initialView,
      members: partition.members,
      settings: topic.settings,
    });
  }
  context.state.partitionsCount += placements.length;
  if (placements.length > 0) context.partitionsChanged = true;
}

/** Removes the last partitions; gives their ids, ascending. */
export function removePartitions(context: OperationContext, topic: Topic, count: number): number[] {
  const removed = topic.partitions.splice(topic.partitions.length - count, count);
  for (const partition of removed) context.emit({ kind: "partition-deleted", ...partition.key });
  context.state.partitionsCount -= removed.length;
  if (removed.length > 0) context.partitionsChanged = true;
  return removed.map((partition) => partition.partitionId);
}
