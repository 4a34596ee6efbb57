import { type PartitionContext, pollMessagesDeferred } from "@iggy/protocol";
import type { RetainedOperation } from "../api/operations.js";
import { Permits } from "../calls/permits.js";
import type { Scope } from "../calls/scope.js";
import {
  FeatureUnavailableError,
  FetchProgressUncertainError,
  OperationNotRetainedError,
  PartitionLaneBlockedError,
} from "../errors/index.js";
import { type PartitionName, partitionSpelling } from "../routing/spelling.js";
import { u64, type U64Like } from "../values/check.js";

interface Block {
  readonly id: bigint;
  readonly partition: PartitionName;
  readonly spelling: string;
  /** History that the read named, when it named one. */
  readonly incarnation: bigint | undefined;
  readonly since: Date;
}

interface Lane {
  readonly turn: Permits;
  users: number;
}

/**
 * Progress on partitions: reads that move the stored offset take turns, and one with an unknown outcome blocks further
 * progress of its partition until it is abandoned. Nothing over HTTP can find out what became of it.
 */
export class ProgressBlocks {
  readonly #capacity: number;
  readonly #lanes = new Map<string, Lane>();
  readonly #blocks = new Map<bigint, Block>();
  #lastId = 0n;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Waits for the turn on a partition as spelled. The caller gives it back with the function that it gets. */
  async enter(partition: PartitionName, context: PartitionContext | undefined, scope: Scope): Promise<() => void> {
    const key = partitionSpelling(partition);
    const lane = this.#lanes.get(key) ?? { turn: new Permits(1), users: 0 };
    this.#lanes.set(key, lane);
    lane.users++;
    const leave = (): void => {
      lane.users--;
      if (lane.users === 0) this.#lanes.delete(key);
    };
    try {
      await lane.turn.take(scope);
    } catch (error) {
      leave();
      throw error;
    }
    const done = (): void => {
      lane.turn.give();
      leave();
    };
    try {
      this.throwIfBlocked(partition, context, pollMessagesDeferred.name);
    } catch (error) {
      done();
      throw error;
    }
    return done;
  }

  throwIfBlocked(partition: PartitionName, context: PartitionContext | undefined, name: string): void {
    const spelling = partitionSpelling(partition);
    for (const block of this.#blocks.values()) {
      const isSameHistory =
        context !== undefined &&
        block.incarnation === context.incarnation &&
        block.partition.partitionId === partition.partitionId;
      if (block.spelling === spelling || isSameHistory) throw blockedBy(block, name);
    }
  }

  /** A read that stores offsets needs room for the block that it may leave. */
  throwIfFull(name: string): void {
    const [oldest] = this.#blocks.values();
    if (oldest !== undefined && this.#blocks.size >= this.#capacity) throw blockedBy(oldest, name);
  }

  /** A committing read may have stored an offset. Returns the error that tells its caller. */
  block(
    partition: PartitionName,
    context: PartitionContext | undefined,
    about: Readonly<Record<string, unknown>>,
    cause: unknown,
  ): FetchProgressUncertainError {
    this.#lastId++;
    const block: Block = {
      id: this.#lastId,
      partition,
      spelling: partitionSpelling(partition),
      incarnation: context?.incarnation,
      since: new Date(),
    };
    this.#blocks.set(block.id, block);
    return new FetchProgressUncertainError(
      `${pollMessagesDeferred.name} of partition ${String(partition.partitionId)} may have stored an offset`,
      { operationId: block.id, commandCode: pollMessagesDeferred.code, context: about, cause },
    );
  }

  /** Only a binary transport can ask again. */
  resolve(): Promise<never> {
    return Promise.reject(new FeatureUnavailableError("operation.resolve needs a binary transport"));
  }

  /** Goes on; the outcome stays unknown. */
  abandon({ operationId }: { readonly operationId: U64Like }): Promise<true> {
    return Promise.resolve().then(() => {
      const id = u64("operationId", operationId);
      if (this.#blocks.delete(id)) return true;
      throw new OperationNotRetainedError(`operation ${String(id)} is not retained`, { operationId: id });
    });
  }

  list(): readonly RetainedOperation[] {
    return [...this.#blocks.values()].map(({ id, partition, since }) => ({
      operationId: id,
      code: pollMessagesDeferred.code,
      streamId: partition.streamId.value,
      topicId: partition.topicId.value,
      partitionId: partition.partitionId,
      since,
    }));
  }
}

const blockedBy = (block: Block, name: string): PartitionLaneBlockedError =>
  new PartitionLaneBlockedError(
    `${name} was not sent: an earlier read of partition ${String(block.partition.partitionId)} may have stored an offset`,
    block.partition.partitionId,
    { operationId: block.id },
  );
