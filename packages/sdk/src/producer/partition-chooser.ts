import type { CallOptions } from "../api/caller.js";
import { partitionOfKey, type SendCalls } from "../api/sends.js";
import type { Partitioner } from "../client/config.js";
import { u32 } from "../values/check.js";
import type { Partitioning } from "../values/partitioning.js";
import type { PartitionChoice, ProducerTopic } from "./outgoing-batch.js";
import type { ProducerMessage } from "./prepared-send.js";

/** The partition of what is left to turns; one object for all sends. */
const balanced: PartitionChoice = { partitionId: undefined, key: undefined };

/** Chooses partitions as all clients do, or as a function of the application says. */
export class PartitionChooser {
  readonly #sends: SendCalls;
  readonly #partitioner: Partitioner | undefined;

  constructor(sends: SendCalls, partitioner: Partitioner | undefined) {
    this.#sends = sends;
    this.#partitioner = partitioner;
  }

  /** The choice, where nobody needs to be asked. */
  now({ name, about }: ProducerTopic, partitioning: Partitioning): PartitionChoice | undefined {
    if (this.#partitioner !== undefined) return undefined;
    switch (partitioning.kind) {
      case "balanced":
        return balanced;
      case "partition_id":
        return { partitionId: partitioning.partitionId, key: undefined };
      case "messages_key": {
        const count = this.#sends.knownPartitions(name);
        if (count === undefined) return undefined;
        return { partitionId: partitionOfKey(partitioning.key, count, about), key: partitioning.key };
      }
    }
  }

  async choose(
    topic: ProducerTopic,
    partitioning: Partitioning,
    messages: readonly ProducerMessage<unknown>[],
    options: CallOptions,
  ): Promise<PartitionChoice> {
    if (this.#partitioner !== undefined) {
      const partitionId = await this.#partitioner({ ...topic.about, messages });
      return { partitionId: u32("the partitioner's result", partitionId), key: undefined };
    }
    const known = this.now(topic, partitioning);
    if (known !== undefined) return known;
    if (partitioning.kind !== "messages_key") return balanced;
    const count = await this.#sends.readPartitions(topic.name, topic.about, options);
    return { partitionId: partitionOfKey(partitioning.key, count, topic.about), key: partitioning.key };
  }
}
