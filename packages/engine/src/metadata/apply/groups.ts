import {
  createConsumerGroup,
  deleteConsumerGroup,
  encodeResponse,
  ErrorCode,
  idLimits,
  completeConsumerGroupRevocation,
  preparedJoinConsumerGroup,
  preparedLeaveConsumerGroup,
  removeConsumerGroupMember,
} from "@iggy/protocol";
import { completeRevocation, rebalanceCooperatively } from "../state/assignment.js";
import { groupCreated, groupDeleted, memberJoined } from "../changes/records.js";
import { ConsumerGroup, type Member } from "../state/consumer-group.js";
import { handler, nothing } from "./handler.js";
import { findGroup, findTopic } from "../state/lookups.js";
import type { OperationContext } from "./operation-context.js";
import { refuse, Refusal } from "../refusal.js";
import { groupDetails } from "../replies/records.js";
import type { Session } from "../state/session.js";
import { dropGroup, reassign, removeMember } from "./group-changes.js";

export const applyCreateGroup = handler(createConsumerGroup.request, (context, request) => {
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  if (!context.mayDo("readTopic", topic.stream.id, topic.id)) return refuse(ErrorCode.Unauthorized);
  if (topic.groupsByName.has(request.name)) return refuse(ErrorCode.ConsumerGroupNameAlreadyExists);
  // Ids are u32 on the wire and never used again.
  if (topic.groups.size >= idLimits.consumerGroupsPerTopic || topic.nextGroupId > 0xffff_ffff) {
    return refuse(ErrorCode.TooManyConsumerGroups);
  }
  const group = new ConsumerGroup({ topic, id: topic.nextGroupId++, name: request.name, generation: 0 });
  topic.addGroup(group);
  context.state.groupsCount++;
  context.record(groupCreated(group));
  return encodeResponse(createConsumerGroup, groupDetails(group));
});

export const applyDeleteGroup = handler(deleteConsumerGroup.request, (context, request) => {
  const group = authorizedGroup(context, request);
  if (group instanceof Refusal) return group;
  const { topic } = group;
  dropGroup(context, group);
  context.record(groupDeleted(group));
  context.emit({
    kind: "groups-retired",
    streamId: topic.stream.id,
    topicId: topic.id,
    liveGroupIds: [...topic.groups.keys()],
    nextGroupId: topic.nextGroupId,
  });
  context.ownershipChanged = true;
  return nothing;
});

export const applyJoinGroup = handler(preparedJoinConsumerGroup, (context, request) => {
  const group = authorizedGroup(context, request);
  if (group instanceof Refusal) return group;
  const session = memberSession(context, request.clientId);
  if (session instanceof Refusal) return session;
  if (group.membersByClient.has(session.clientId)) return nothing;
  const slot = group.members.nextId;
  if (slot === undefined) return refuse(ErrorCode.TooManyConsumerGroups);
  const member: Member = { slot, clientId: session.clientId, session: session.epoch, partitions: [] };
  group.addMember(member);
  context.state.addMembership(session.clientId, group);
  context.record(memberJoined(group, member));
  const inFlight = new Set(request.inFlightPartitionIds);
  reassign(
    context,
    group,
    rebalanceCooperatively(group.assignment, group.topic.partitions.length, inFlight, context.nowMicros),
  );
  return nothing;
});

export const applyLeaveGroup = handler(preparedLeaveConsumerGroup, (context, request) => {
  const group = authorizedGroup(context, request);
  if (group instanceof Refusal) return group;
  const session = memberSession(context, request.clientId);
  if (session instanceof Refusal) return session;
  const member = group.membersByClient.get(session.clientId);
  if (member === undefined) return refuse(ErrorCode.ConsumerGroupMemberNotFound);
  removeMember(context, group, member, "left");
  return nothing;
});

/** By the server: takes a client out of every group. Repeating it changes nothing. */
export const applyRemoveMember = handler(removeConsumerGroupMember, (context, { clientId }) => {
  if (context.actor !== undefined) return refuse(ErrorCode.InvalidCommand);
  leaveEveryGroup(context, clientId);
  return nothing;
});

export function leaveEveryGroup(context: OperationContext, clientId: bigint): void {
  for (const group of context.state.groupsOf(clientId)) {
    const member = group.membersByClient.get(clientId);
    if (member !== undefined) removeMember(context, group, member, "session_ended");
  }
}

/** By the server, once the source committed what it was served or took too long. A handover that is off is no error. */
export const applyCompleteRevocation = handler(completeConsumerGroupRevocation, (context, request) => {
  if (context.actor !== undefined) return refuse(ErrorCode.InvalidCommand);
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return nothing;
  const group = topic.groups.get(Number(request.groupId));
  const source = group?.membersByClient.get(request.sourceClientId);
  if (group === undefined || source === undefined) return nothing;
  const assignment = completeRevocation(group.assignment, request.partitionId, source.slot);
  if (assignment.pending.length === group.pending.length) return nothing;
  reassign(context, group, assignment);
  return nothing;
});

interface GroupAddress {
  readonly streamId: Parameters<typeof findGroup>[1];
  readonly topicId: Parameters<typeof findGroup>[2];
  readonly groupId: Parameters<typeof findGroup>[3];
}

function authorizedGroup(context: OperationContext, address: GroupAddress): ConsumerGroup | Refusal {
  const group = findGroup(context.state, address.streamId, address.topicId, address.groupId);
  if (group instanceof Refusal) return group;
  const { topic } = group;
  return context.mayDo("readTopic", topic.stream.id, topic.id) ? group : refuse(ErrorCode.Unauthorized);
}

/** A member is a live session, and nobody joins or leaves for another one. */
function memberSession(context: OperationContext, clientId: bigint): Session | Refusal {
  if (context.actor !== undefined && clientId !== context.prepare.client) return refuse(ErrorCode.InvalidCommand);
  const session = context.state.sessions.get(clientId);
  return session?.isLive === true ? session : refuse(ErrorCode.Unauthenticated);
}
