import { planRetention, sizeBudget } from "@iggy/engine";
import { topicNamespaceOf } from "../address.js";
import type { TopicPolicy } from "../environment.js";
import type { PartitionGroup } from "../group.js";
import type { PartitionTable } from "./partition-table.js";
import type { PartitionShard } from "../shard.js";

/**
 * Deletes what the topics' retention lets go: sealed segments that are too old, or that exceed the size. Gives the files
 * of idle partitions back by the way.
 */
export class Cleaner {
  private readonly shard: PartitionShard;
  private readonly table: PartitionTable;
  /** Topics whose size share was raised to one segment and warned about, by the first partition's incarnation. */
  private readonly warned = new Map<number, number>();

  constructor(shard: PartitionShard, table: PartitionTable) {
    this.shard = shard;
    this.table = table;
  }

  async pass(): Promise<void> {
    this.shard.storage.closeIdleFiles();
    const cleaning: Promise<void>[] = [];
    for (const { group } of this.table.in()) {
      if (group === undefined) continue;
      cleaning.push(this.clean(group));
      // One that is written no more may still owe a checkpoint of what a start found.
      group.checkpoints.takeWhenDue();
    }
    await Promise.all(cleaning);
  }

  private async clean(group: PartitionGroup): Promise<void> {
    const { catalog, clock } = this.shard.environment;
    const { streamId, topicId } = group.address;
    for (let isMore = true; isMore && !group.isClosed && !this.shard.isDraining;) {
      // Asked anew each time: options may change while segments are deleted.
      const policy = catalog.topic(streamId, topicId);
      if (policy === undefined) return;
      const plan = planRetention(group.store.sealedSegments, {
        nowMicros: clock.nowMicros(),
        expiryMicros: policy.messageExpiryMicros,
        budgetBytes: this.budgetOf(group, policy),
        holdOffset: group.machine.offsets.lowestHold(),
      });
      if (plan.throughOffset === undefined) return;
      const { segments, throughOffset, more } = plan;
      const isDone = await group.deleteSegments(throughOffset);
      if (isDone) group.log.info({ segments, throughOffset }, "retention deleted segments");
      isMore = isDone && more;
    }
  }

  private budgetOf(group: PartitionGroup, policy: TopicPolicy): number | undefined {
    const { maxTopicSizeBytes, partitionsCount, segmentSizeBytes } = policy;
    if (maxTopicSizeBytes === undefined) return undefined;
    const { limits } = this.shard.environment;
    const budget = sizeBudget(maxTopicSizeBytes, partitionsCount, segmentSizeBytes, limits.maxMessageSizeBytes);
    if (budget.raised) this.warnRaised(group, policy, budget.bytes);
    return budget.bytes;
  }

  /** Once per topic, and again when the topic was created anew. */
  private warnRaised({ address, incarnation }: PartitionGroup, policy: TopicPolicy, budgetBytes: number): void {
    const topic = topicNamespaceOf(address.streamId, address.topicId);
    if (address.partitionId !== 0 || this.warned.get(topic) === incarnation) return;
    this.warned.set(topic, incarnation);
    const { maxTopicSizeBytes, partitionsCount } = policy;
    this.shard.environment.log.warn(
      { streamId: address.streamId, topicId: address.topicId, maxTopicSizeBytes, partitionsCount, budgetBytes },
      "max_topic_size leaves a partition less than one segment; each keeps at least that",
    );
  }
}
