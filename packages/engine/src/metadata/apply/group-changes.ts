import type { MemberLeftReason } from "@iggy/protocol";
import { type Assignment, rebalanceEagerly } from "../state/assignment.js";
import { handedOver, memberLeft } from "../changes/records.js";
import type { ConsumerGroup, Member } from "../state/consumer-group.js";
import type { OperationContext } from "./operation-context.js";
import { isSameHolder } from "../state/owner.js";

// Steps that several operations share. Each leaves the group with a new generation, decided owners and true indexes.

/** Installs an assignment that an operation decided. */
export function reassign(context: OperationContext, group: ConsumerGroup, assignment: Assignment): void {
  group.generation++;
  group.assign(assignment);
  if (group.pending.length > 0) context.state.groupsInHandover.add(group);
  else context.state.groupsInHandover.delete(group);
  decideOwners(context, group);
}

/** The holder of each partition becomes its owner; an owner that stays keeps its generation. */
function decideOwners(context: OperationContext, group: ConsumerGroup): void {
  const holders = new Map<number, Member>();
  for (const member of group.members.values()) for (const id of member.partitions) holders.set(id, member);
  for (const partition of group.topic.partitions) {
    const { partitionId } = partition;
    const member = holders.get(partitionId);
    const holder = { client: member?.clientId ?? 0n, session: member?.session ?? 0 };
    if (isSameHolder(group.ownerOf(partitionId), holder)) continue;
    const owner = { ...holder, generation: context.op };
    group.owners.set(partitionId, owner);
    context.ownershipChanged = true;
    context.emit({ kind: "owner-decided", ...partition.key, groupId: group.id, owner });
    context.record(handedOver(group, partitionId, member?.slot ?? null));
  }
}

const rebalance = (context: OperationContext, group: ConsumerGroup): void =>
  reassign(
    context,
    group,
    rebalanceEagerly(
      [...group.members.values()].map((member) => member.slot),
      group.topic.partitions.length,
    ),
  );

/** After partitions were added or removed. A group without members has no assignment to change. */
export function rebalanceAfterResize(context: OperationContext, group: ConsumerGroup): void {
  for (const id of [...group.owners.keys()]) if (id >= group.topic.partitions.length) group.owners.delete(id);
  if (group.members.size > 0) rebalance(context, group);
}

export function removeMember(
  context: OperationContext,
  group: ConsumerGroup,
  member: Member,
  reason: keyof typeof MemberLeftReason,
): void {
  group.removeMember(member);
  context.state.removeMembership(member.clientId, group);
  context.record(memberLeft(group, member, reason));
  rebalance(context, group);
}

/** Forgets a group with its members; its offsets go by the effect that lists those that are left. */
export function dropGroup(context: OperationContext, group: ConsumerGroup): void {
  for (const member of group.members.values()) context.state.removeMembership(member.clientId, group);
  context.state.groupsInHandover.delete(group);
  context.state.groupsCount--;
  group.topic.removeGroup(group);
}
