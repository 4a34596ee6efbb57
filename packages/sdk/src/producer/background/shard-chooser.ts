import { encodeUtf8, partitionForKey } from "@iggy/protocol";
import { integer } from "../../values/check.js";
import type { PartitionChoice, ProducerTopic } from "../outgoing-batch.js";
import type { Sharding } from "../producer-options.js";

/** Chooses the worker of a send. */
export class ShardChooser {
  readonly #sharding: Sharding;
  readonly #shards: number;
  #next = 0;

  constructor(sharding: Sharding, shards: number) {
    this.#sharding = sharding;
    this.#shards = shards;
  }

  choose(topic: ProducerTopic, { partitionId }: PartitionChoice): number {
    if (this.#shards === 1) return 0;
    switch (this.#sharding) {
      case "ordered":
        return partitionForKey(encodeUtf8(topic.spelling), this.#shards);
      case "balanced":
        return this.#turn();
      case "partition":
        return partitionId === undefined ? this.#turn() : partitionId % this.#shards;
      default: {
        const shard = this.#sharding({ ...topic.about, partitionId });
        return integer("the result of sharding", shard, 0, Number.MAX_SAFE_INTEGER) % this.#shards;
      }
    }
  }

  #turn(): number {
    const shard = this.#next;
    this.#next = (shard + 1) % this.#shards;
    return shard;
  }
}
