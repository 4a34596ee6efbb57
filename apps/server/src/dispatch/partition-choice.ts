import { Refusal, type Topic } from "@iggy/engine";
import { ErrorCode, type Partitioning, partitionForKey } from "@iggy/protocol";

/** Cursors of balanced sends, one a topic; beyond this many topics the oldest starts over. */
const BALANCED_CURSORS_MAX = 4096;

/** The partition that a batch goes to. Official binary clients name it themselves; the other two forms are resolved here. */
export class PartitionChoice {
  private readonly cursors = new Map<string, number>();

  choose(topic: Topic, partitioning: Partitioning): number | Refusal {
    if (partitioning.kind === "partition_id") {
      const { partitionId } = partitioning;
      return topic.partitions[partitionId] === undefined ? Refusal.of(ErrorCode.PartitionNotFound) : partitionId;
    }
    if (topic.partitions.length === 0) return Refusal.of(ErrorCode.InvalidIdentifier);
    return partitioning.kind === "messages_key"
      ? partitionForKey(partitioning.key, topic.partitions.length)
      : this.nextBalanced(topic);
  }

  private nextBalanced(topic: Topic): number {
    const key = `${topic.stream.id}/${topic.id}`;
    const cursor = this.cursors.get(key) ?? 0;
    this.cursors.delete(key);
    this.cursors.set(key, cursor + 1);
    if (this.cursors.size > BALANCED_CURSORS_MAX) {
      for (const oldest of this.cursors.keys()) {
        this.cursors.delete(oldest);
        break;
      }
    }
    return cursor % topic.partitions.length;
  }
}
