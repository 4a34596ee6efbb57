import { deleteConsumerOffset, getConsumerOffset, type PartitionContext, storeConsumerOffset } from "@iggy/protocol";
import { type U64Like, u64 } from "../values/check.js";
import { Checkpoint } from "../values/position.js";
import type { CallOptions, Calls } from "./caller.js";
import {
  aboutPartition,
  consumerFields,
  consumerKey,
  type ConsumerTarget,
  partitionOf,
  type PartitionTarget,
} from "./consumer-target.js";

export interface ConsumerOffset {
  readonly partitionId: number;
  /** Offset of the last message of the partition. */
  readonly currentOffset: bigint;
  /** Offset of the last message that the consumer has processed. */
  readonly storedOffset: bigint;
}

/** Who asks, for work that producers and consumers do. */
export interface OffsetOwner {
  readonly owner?: object;
  readonly context?: PartitionContext;
}

export class OffsetApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  /** The stored offset as the partition's primary knows it; null when none is stored. */
  async get(target: PartitionTarget, options?: CallOptions): Promise<ConsumerOffset | null> {
    return this.#caller.onPartition(getConsumerOffset, consumerFields(target), aboutPartition(target), options, {
      effect: "read",
      partition: partitionOf(target),
    });
  }

  /** Stores the offset of the last processed message. It may move back. */
  async store(target: PartitionTarget & { readonly offset: U64Like }, options?: CallOptions): Promise<true> {
    await this.storeAs(target, {}, options);
    return true;
  }

  /** @internal The same for a consumer, under the history of what it read. */
  async storeAs(
    target: PartitionTarget & { readonly offset: U64Like },
    { owner, context }: OffsetOwner,
    options?: CallOptions,
  ): Promise<void> {
    const fields = consumerFields(target);
    const request = { ...fields, offset: u64("offset", target.offset), ack: "quorum" as const };
    await this.#caller.onPartition(storeConsumerOffset, request, aboutPartition(target), options, {
      effect: "write",
      partition: partitionOf(target),
      context,
      progress: { consumer: consumerKey(fields.consumer) },
      owner,
      resolvesAnyBlocker: owner !== undefined,
    });
  }

  /** Forgets the stored offset. */
  async delete(target: PartitionTarget, options?: CallOptions): Promise<true> {
    await this.deleteAs(target, {}, options);
    return true;
  }

  /** @internal */
  async deleteAs(target: PartitionTarget, { owner, context }: OffsetOwner, options?: CallOptions): Promise<void> {
    const fields = consumerFields(target);
    await this.#caller.onPartition(
      deleteConsumerOffset,
      { ...fields, ack: "quorum" as const },
      aboutPartition(target),
      options,
      {
        effect: "write",
        partition: partitionOf(target),
        context,
        progress: { consumer: consumerKey(fields.consumer) },
        owner,
        resolvesAnyBlocker: owner !== undefined,
      },
    );
  }

  /** Stores the position of a checkpoint, under the history that it came from. */
  async commit(target: ConsumerTarget & { readonly checkpoint: Checkpoint }, options?: CallOptions): Promise<true> {
    const { partitionId, offset, context } = checked(target.checkpoint);
    await this.storeAs({ ...target, partitionId, offset }, { context }, options);
    return true;
  }

  /** Forgets the stored offset, under the history of a checkpoint. */
  async deleteAt(target: ConsumerTarget & { readonly checkpoint: Checkpoint }, options?: CallOptions): Promise<true> {
    const { partitionId, context } = checked(target.checkpoint);
    await this.deleteAs({ ...target, partitionId }, { context }, options);
    return true;
  }
}

function checked(checkpoint: Checkpoint): Checkpoint {
  if (!(checkpoint instanceof Checkpoint)) throw new TypeError("checkpoint takes the checkpoint of a read");
  return checkpoint;
}
