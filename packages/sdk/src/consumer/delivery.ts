import { type Batch, isBehind, type Reading } from "../reader/index.js";
import type { Message } from "../values/message.js";
import type { Checkpoint } from "../values/position.js";

export interface Delivered {
  readonly message: Message;
  readonly checkpoint: Checkpoint;
  readonly currentOffset: bigint;
}

/** The last message that the application has, and how many it got with it. */
interface InHand {
  readonly checkpoint: Checkpoint;
  readonly messages: number;
}

interface OpenBatch {
  readonly batch: Batch;
  index: number;
}

/** Hands the messages of batches over, one after the other, and remembers how far it came. */
export class Delivery {
  readonly #reading: Reading;
  readonly #allowReplay: boolean;
  /** Batches that are handed over in part, by partition. More than one only while partitions wait for their handlers. */
  readonly #open = new Map<number, OpenBatch>();
  #inHand: InHand | undefined;
  #lastPartition: number | undefined;

  constructor(reading: Reading, allowReplay: boolean) {
    this.#reading = reading;
    this.#allowReplay = allowReplay;
  }

  get lastPartition(): number | undefined {
    return this.#lastPartition;
  }

  /** Whether every message of the partition's batch was handed over. */
  isBatchDone(partitionId: number): boolean {
    return !this.#open.has(partitionId);
  }

  /** The next message; or the next one of a batch that is handed over already, to go with what the application has. */
  next(ofBatch?: number): Delivered | undefined {
    for (;;) {
      const open = ofBatch === undefined ? this.#openBatch() : this.#open.get(ofBatch);
      if (open === undefined) return undefined;
      const { polled, partitionId } = open.batch;
      const message = polled.messages[open.index];
      if (message === undefined) {
        this.#open.delete(partitionId);
        continue;
      }
      const checkpoint = polled.checkpointAt(open.index);
      open.index++;
      if (open.index >= polled.count) this.#open.delete(partitionId);
      if (this.#isReplay(checkpoint)) continue;
      this.#reading.noteDelivered(checkpoint);
      this.#lastPartition = partitionId;
      const others = ofBatch === undefined ? 0 : (this.#inHand?.messages ?? 0);
      this.#inHand = { checkpoint, messages: others + 1 };
      return { message, checkpoint, currentOffset: polled.currentOffset };
    }
  }

  /** The application is done with the message in hand. */
  finish(): InHand | undefined {
    const inHand = this.#inHand;
    this.#inHand = undefined;
    return inHand;
  }

  /** The application gave the message in hand back without a word about it. */
  release(): void {
    this.#inHand = undefined;
  }

  /** Forgets a partition: what was read of it and not handed over is dropped. */
  forget(partitionId: number): void {
    this.#open.delete(partitionId);
    if (this.#inHand?.checkpoint.partitionId === partitionId) this.#inHand = undefined;
  }

  /** The first message of each partition that was not handed over, of the open batches and of those given. */
  undelivered(batches: readonly Batch[]): readonly Checkpoint[] {
    const first = new Map<number, Checkpoint>();
    const note = ({ polled }: Batch, index: number): void => {
      if (index < polled.count && !first.has(polled.partitionId)) {
        first.set(polled.partitionId, polled.checkpointAt(index));
      }
    };
    for (const { batch, index } of this.#open.values()) note(batch, index);
    for (const batch of batches) note(batch, 0);
    return [...first.values()];
  }

  #openBatch(): OpenBatch | undefined {
    for (const open of this.#open.values()) if (this.#reading.isWelcome(open.batch.partitionId)) return open;
    const batch = this.#reading.take();
    if (batch === undefined) return undefined;
    const open = { batch, index: 0 };
    this.#open.set(batch.partitionId, open);
    this.#boundOpen(open);
    return open;
  }

  /** Partitions that wait for their handlers keep the rest of a batch, as long as those are few. */
  #boundOpen(newest: OpenBatch): void {
    if (this.#open.size <= this.#reading.settings.slots || this.#reading.commitsOnRead) return;
    for (const [partitionId, open] of this.#open) {
      if (open === newest || this.#reading.isWelcome(partitionId)) continue;
      this.#open.delete(partitionId);
      this.#reading.giveBackFrom(open.batch.polled.checkpointAt(open.index));
      return;
    }
  }

  #isReplay(checkpoint: Checkpoint): boolean {
    const last = this.#reading.lastDelivered(checkpoint.partitionId);
    return !this.#allowReplay && last !== undefined && isBehind(checkpoint, last);
  }
}
