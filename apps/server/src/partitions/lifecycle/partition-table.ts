import { type PartitionAddress, topicNamespaceOf } from "../address.js";
import type { LocalPartition } from "./local-partition.js";

export interface TopicScope {
  readonly streamId: number;
  readonly topicId: number;
}

/** What an operation of metadata changed about a topic. */
export interface TopicChange extends TopicScope {
  /** The consumer groups whose owners it decided, when that is all. */
  readonly groupIds?: ReadonlySet<number>;
}

/** The partitions of this node, by topic, so that a change of one topic looks at that topic only. */
export class PartitionTable {
  private readonly topics = new Map<number, Map<number, LocalPartition>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  get({ streamId, topicId, partitionId }: PartitionAddress): LocalPartition | undefined {
    return this.topics.get(topicNamespaceOf(streamId, topicId))?.get(partitionId);
  }

  /** Takes a partition whose place is free. */
  add(partition: LocalPartition): void {
    const { streamId, topicId, partitionId } = partition.address;
    const key = topicNamespaceOf(streamId, topicId);
    const topic = this.topics.get(key);
    this.count++;
    if (topic === undefined) this.topics.set(key, new Map([[partitionId, partition]]));
    else topic.set(partitionId, partition);
  }

  /** Removes exactly this incarnation. */
  remove(partition: LocalPartition): void {
    const { streamId, topicId, partitionId } = partition.address;
    const key = topicNamespaceOf(streamId, topicId);
    const topic = this.topics.get(key);
    if (topic?.get(partitionId) !== partition) return;
    topic.delete(partitionId);
    this.count--;
    if (topic.size === 0) this.topics.delete(key);
  }

  /** Partitions of a topic, of a stream, or all. */
  *in(scope?: { readonly streamId: number; readonly topicId?: number }): Iterable<LocalPartition> {
    if (scope?.topicId !== undefined) {
      yield* this.topics.get(topicNamespaceOf(scope.streamId, scope.topicId))?.values() ?? [];
      return;
    }
    for (const topic of this.topics.values()) {
      for (const partition of topic.values()) {
        if (scope === undefined || partition.address.streamId === scope.streamId) yield partition;
      }
    }
  }
}
