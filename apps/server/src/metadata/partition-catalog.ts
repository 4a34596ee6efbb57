import { type ConsumerGroup, type MetadataMachine, type Partition, Refusal, type Topic } from "@iggy/engine";
import { numericId } from "@iggy/protocol";
import type {
  GroupOwnerDecision,
  PartitionAddress,
  PartitionCatalog,
  PartitionDescription,
  TopicPolicy,
} from "../partitions/index.js";
import { isSessionLive } from "./live-session.js";
import { addressOf } from "./metadata-plane.js";

/** Committed metadata as the partition plane reads it. */
export class MachineCatalog implements PartitionCatalog {
  private readonly machine: () => MetadataMachine;
  private readonly nodes: readonly number[];
  private readonly isOwn: (partition: PartitionAddress) => boolean;

  /**
   * `nodes` store a partition that names no members of its own. `isOwn` says which partitions are the reader's: the
   * others are known, but not among its `partitions`.
   */
  constructor(
    machine: () => MetadataMachine,
    nodes: readonly number[],
    isOwn: (partition: PartitionAddress) => boolean = () => true,
  ) {
    this.machine = machine;
    this.nodes = nodes;
    this.isOwn = isOwn;
  }

  get appliedOp(): number {
    return this.machine().appliedOp;
  }

  partition(address: PartitionAddress): PartitionDescription | undefined {
    const partition = this.find(address);
    return partition && this.describe(partition);
  }

  *partitions(topic?: { readonly streamId: number; readonly topicId: number }): Iterable<PartitionDescription> {
    const found = topic === undefined ? this.machine().partitions() : (this.findTopic(topic)?.partitions ?? []);
    for (const partition of found) if (this.isOwn(partition)) yield this.describe(partition);
  }

  topic(streamId: number, topicId: number): TopicPolicy | undefined {
    const topic = this.findTopic({ streamId, topicId });
    if (topic === undefined) return undefined;
    const { settings } = topic;
    return {
      persistMessages: settings.durability === "persisted",
      persistOffsets: settings.consumerOffsetDurability === "persisted",
      segmentSizeBytes: settings.segmentSizeBytes,
      preallocateSegments: settings.preallocateSegments,
      messageExpiryMicros: settings.messageExpiryMicros,
      maxTopicSizeBytes: settings.maxTopicSizeBytes,
      partitionsCount: topic.partitions.length,
    };
  }

  groupOwner(address: PartitionAddress, groupId: number): GroupOwnerDecision | undefined {
    const group = this.findTopic(address)?.groups.get(groupId);
    return group && decisionOf(group, address.partitionId);
  }

  *groupOwners(address: PartitionAddress): Iterable<GroupOwnerDecision> {
    for (const group of this.findTopic(address)?.groups.values() ?? []) {
      const decision = decisionOf(group, address.partitionId);
      if (decision !== undefined) yield decision;
    }
  }

  groupIds(streamId: number, topicId: number): { readonly nextGroupId: number; readonly live: readonly number[] } {
    const topic = this.findTopic({ streamId, topicId });
    return { nextGroupId: topic?.nextGroupId ?? 0, live: [...(topic?.groups.keys() ?? [])] };
  }

  isSessionLive(client: bigint, session: number): boolean {
    return isSessionLive(this.machine(), client, session);
  }

  mayPoll(userId: number, streamId: number, topicId: number): boolean {
    return this.machine().mayDo(userId, "poll", streamId, topicId);
  }

  private find({ streamId, topicId, partitionId }: PartitionAddress): Partition | undefined {
    return this.machine().partition(streamId, topicId, partitionId);
  }

  private findTopic({ streamId, topicId }: { streamId: number; topicId: number }): Topic | undefined {
    const topic = this.machine().resolveTopic(numericId(streamId), numericId(topicId));
    return topic instanceof Refusal ? undefined : topic;
  }

  private describe(partition: Partition): PartitionDescription {
    return {
      address: addressOf(partition),
      incarnation: partition.incarnation,
      createdView: partition.createdView,
      members: partition.members.length === 0 ? this.nodes : partition.members,
      truncatedBelow: partition.truncatedBelow,
    };
  }
}

function decisionOf(group: ConsumerGroup, partitionId: number): GroupOwnerDecision | undefined {
  const owner = group.ownerOf(partitionId);
  if (owner.generation === 0) return undefined;
  const holder = group.membersByClient.get(owner.client);
  return {
    groupId: group.id,
    ...owner,
    revoking: holder !== undefined && !group.isPollable(holder, partitionId),
  };
}
