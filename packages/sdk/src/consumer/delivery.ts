import type { Message } from "../values/message.js";
import type { PolledMessages } from "../values/polled-messages.js";
import { Checkpoint } from "../values/position.js";
import { isBehind } from "./offset-committer.js";
import type { Batch, ReadScheduler } from "./read-scheduler.js";

export interface Delivered {
  readonly message: Message;
  readonly checkpoint: Checkpoint;
  readonly currentOffset: bigint;
}

/** Hands the messages of batches over, one after the other, and remembers how far it came. */
export class Delivery {
  readonly #scheduler: ReadScheduler;
  readonly #allowReplay: boolean;
  readonly #last = new Map<number, Checkpoint>();
  #batch: Batch | undefined;
  #index = 0;
  #inHand: Checkpoint | undefined;
  #lastPartition: number | undefined;

  constructor(scheduler: ReadScheduler, allowReplay: boolean) {
    this.#scheduler = scheduler;
    this.#allowReplay = allowReplay;
  }

  /** The message that the application has and did not finish. */
  get inHand(): Checkpoint | undefined {
    return this.#inHand;
  }

  get lastPartition(): number | undefined {
    return this.#lastPartition;
  }

  /** Whether every message of the batch was handed over. */
  get isBatchDone(): boolean {
    return this.#batch === undefined || this.#index >= this.#batch.polled.count;
  }

  lastDelivered(partitionId: number): Checkpoint | undefined {
    return this.#last.get(partitionId);
  }

  /** The message behind the last delivered one, whether it exists or not. */
  behindDelivered(partitionId: number): Checkpoint | undefined {
    const last = this.#last.get(partitionId);
    return last === undefined ? undefined : new Checkpoint(partitionId, last.offset + 1n, last.context);
  }

  next(): Delivered | undefined {
    for (;;) {
      if (this.#batch === undefined || this.isBatchDone) {
        this.#batch = this.#scheduler.take();
        this.#index = 0;
        if (this.#batch === undefined) return undefined;
      }
      const { polled, partitionId } = this.#batch;
      const message = polled.messages[this.#index];
      if (message === undefined) continue;
      const checkpoint = polled.checkpointAt(this.#index);
      this.#index++;
      if (this.#isReplay(checkpoint)) continue;
      this.#last.set(partitionId, checkpoint);
      this.#lastPartition = partitionId;
      this.#inHand = checkpoint;
      return { message, checkpoint, currentOffset: polled.currentOffset };
    }
  }

  /** The application is done with the message in hand. */
  finish(): Checkpoint | undefined {
    const checkpoint = this.#inHand;
    this.#inHand = undefined;
    return checkpoint;
  }

  /** The application gave the message in hand back without a word about it. */
  release(): void {
    this.#inHand = undefined;
  }

  /** Forgets a partition: what was read of it and not handed over is dropped. */
  forget(partitionId: number): void {
    this.#last.delete(partitionId);
    if (this.#batch?.partitionId === partitionId) this.#batch = undefined;
    if (this.#inHand?.partitionId === partitionId) this.#inHand = undefined;
  }

  /** The first message of each partition that was not handed over, of the current batch and of those given. */
  undelivered(batches: readonly Batch[]): readonly Checkpoint[] {
    const first = new Map<number, Checkpoint>();
    const note = (polled: PolledMessages, index: number): void => {
      if (index < polled.count && !first.has(polled.partitionId)) {
        first.set(polled.partitionId, polled.checkpointAt(index));
      }
    };
    if (this.#batch !== undefined) note(this.#batch.polled, this.#index);
    for (const batch of batches) note(batch.polled, 0);
    return [...first.values()];
  }

  #isReplay(checkpoint: Checkpoint): boolean {
    const last = this.#last.get(checkpoint.partitionId);
    return !this.#allowReplay && last !== undefined && isBehind(checkpoint, last);
  }
}
