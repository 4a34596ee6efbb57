import { type PartitionAssignment, partitionGroup } from "@iggy/protocol";
import type { Placement } from "./resolution.js";
import type { ResolveContext } from "./resolver.js";

interface Place {
  readonly streamId: number;
  readonly topicId: number;
}

/**
 * Placed partitions, ids counted from 0. The consensus group that is written is the one expected now: ids are decided
 * when the operation is applied, and the group follows from them.
 */
export function assignments(
  placement: Placement,
  place: Place,
  count: number,
  replicationFactor: number,
): PartitionAssignment[] {
  return placement.place(count, replicationFactor).map(({ initialView, members }, partitionId) => ({
    partitionId,
    consensusGroupId: BigInt(partitionGroup({ ...place, partitionId })),
    initialView,
    members,
  }));
}

/** The limit is this node's own, so it is kept here and not where every replica must agree. */
export const exceedsPartitionLimit = ({ state, config }: ResolveContext, count: number): boolean =>
  config.partitionsMax > 0 && state.partitionsCount + count > config.partitionsMax;
