import {
  joinConsumerGroup,
  leaveConsumerGroup,
  Operation,
  preparedJoinConsumerGroup,
  preparedLeaveConsumerGroup,
} from "@iggy/protocol";
import type { GroupProgress } from "../housekeeping.js";
import { Refusal } from "../refusal.js";
import { findGroup } from "../state/lookups.js";
import type { Resolution } from "./resolution.js";
import { propose, resolver } from "./resolver.js";

/** What is delivered and not committed is known here, and decides what moves at once. */
export const resolveJoinGroup = resolver(joinConsumerGroup, ({ state, inputs, client }, request) => {
  const join = (inFlightPartitionIds: readonly number[]): Resolution =>
    propose(Operation.JoinConsumerGroup, preparedJoinConsumerGroup, {
      ...request,
      clientId: client,
      inFlightPartitionIds,
    });
  const group = findGroup(state, request.streamId, request.topicId, request.groupId);
  if (group instanceof Refusal || group.membersByClient.has(client)) return join([]);
  const partitions = [...group.topic.partitions];
  const joinWith = (progress: GroupProgress): Resolution =>
    join(partitions.filter((key) => progress.isInFlight(key, group.id)).map(({ partitionId }) => partitionId));
  const progress = inputs.progressOf(partitions, group.id);
  return progress instanceof Promise ? progress.then(joinWith) : joinWith(progress);
});

export const resolveLeaveGroup = resolver(leaveConsumerGroup, ({ client }, request) =>
  propose(Operation.LeaveConsumerGroup, preparedLeaveConsumerGroup, { ...request, clientId: client }),
);
