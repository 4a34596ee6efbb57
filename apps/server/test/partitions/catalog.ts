import { partitionGroup } from "@iggy/protocol";
import type {
  GroupOwnerDecision,
  PartitionAddress,
  PartitionCatalog,
  PartitionDescription,
  TopicPolicy,
} from "../../src/partitions/index.js";

export const defaultPolicy: TopicPolicy = {
  persistMessages: false,
  persistOffsets: false,
  segmentSizeBytes: 1024 * 1024,
  preallocateSegments: false,
  messageExpiryMicros: undefined,
  maxTopicSizeBytes: undefined,
  partitionsCount: 1,
};

/** Metadata as a test writes it. */
export class TestCatalog implements PartitionCatalog {
  appliedOp = 100;
  policy: TopicPolicy = defaultPolicy;
  nextGroupId = 0;
  /** Decisions about groups that were looked at. */
  looks = 0;
  readonly deadSessions = new Set<string>();
  readonly usersWithoutPoll = new Set<number>();
  private readonly byNamespace = new Map<number, PartitionDescription>();
  private readonly owners = new Map<string, GroupOwnerDecision>();

  put(address: PartitionAddress, incarnation: number, more: Partial<PartitionDescription> = {}): void {
    this.byNamespace.set(partitionGroup(address), {
      address,
      incarnation,
      createdView: 0,
      members: [0],
      truncatedBelow: 0,
      ...more,
    });
  }

  drop(address: PartitionAddress): void {
    this.byNamespace.delete(partitionGroup(address));
  }

  decide(address: PartitionAddress, decision: GroupOwnerDecision): void {
    this.owners.set(`${String(partitionGroup(address))}/${String(decision.groupId)}`, decision);
  }

  deleteGroup(groupId: number): void {
    for (const [key, decision] of this.owners) if (decision.groupId === groupId) this.owners.delete(key);
  }

  partition(address: PartitionAddress): PartitionDescription | undefined {
    return this.byNamespace.get(partitionGroup(address));
  }

  *partitions(topic?: { readonly streamId: number; readonly topicId: number }): Iterable<PartitionDescription> {
    for (const description of this.byNamespace.values()) {
      const { streamId, topicId } = description.address;
      if (topic === undefined || (topic.streamId === streamId && topic.topicId === topicId)) yield description;
    }
  }

  topic(): TopicPolicy {
    return this.policy;
  }

  groupOwner(address: PartitionAddress, groupId: number): GroupOwnerDecision | undefined {
    this.looks++;
    return this.owners.get(`${String(partitionGroup(address))}/${String(groupId)}`);
  }

  *groupOwners(address: PartitionAddress): Iterable<GroupOwnerDecision> {
    for (const [key, decision] of this.owners) {
      if (!key.startsWith(`${String(partitionGroup(address))}/`)) continue;
      this.looks++;
      yield decision;
    }
  }

  groupIds(): { readonly nextGroupId: number; readonly live: readonly number[] } {
    const live = [...new Set([...this.owners.values()].map(({ groupId }) => groupId))].sort((a, b) => a - b);
    return { nextGroupId: this.nextGroupId, live };
  }

  isSessionLive(client: bigint, session: number): boolean {
    return !this.deadSessions.has(`${String(client)}/${String(session)}`);
  }

  mayPoll(userId: number): boolean {
    return !this.usersWithoutPoll.has(userId);
  }
}
