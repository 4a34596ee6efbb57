import {
  joinConsumerGroup,
  leaveConsumerGroup,
  Operation,
  preparedJoinConsumerGroup,
  preparedLeaveConsumerGroup,
} from "@iggy/protocol";
import { findGroup } from "../state/lookups.js";
import { Refusal } from "../refusal.js";
import { propose, resolver } from "./resolver.js";

/** What is delivered and not committed is known here, and decides what moves at once. */
export const resolveJoinGroup = resolver(joinConsumerGroup, ({ state, inputs, client }, request) => {
  const group = findGroup(state, request.streamId, request.topicId, request.groupId);
  const inFlightPartitionIds =
    group instanceof Refusal || group.membersByClient.has(client)
      ? []
      : group.topic.partitions
          .filter((partition) => inputs.progress.isInFlight(partition, group.id))
          .map((partition) => partition.partitionId);
  return propose(Operation.JoinConsumerGroup, preparedJoinConsumerGroup, {
    ...request,
    clientId: client,
    inFlightPartitionIds,
  });
});

export const resolveLeaveGroup = resolver(leaveConsumerGroup, ({ client }, request) =>
  propose(Operation.LeaveConsumerGroup, preparedLeaveConsumerGroup, { ...request, clientId: client }),
);
