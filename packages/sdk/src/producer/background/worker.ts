import type { RandomIds } from "../../values/random-ids.js";
import { OutgoingBatch, type PartitionChoice, type ProducerTopic, type RequestLimits } from "../outgoing-batch.js";
import type { PreparedSend } from "../prepared-send.js";
import { type BatchKey, BatchQueue, type QueueLimits } from "./batch-queue.js";

/** The time, and how to be called later. */
export interface WorkerClock {
  now(): number;
  /** Returns how to give it up. */
  after(ms: number, step: () => void): () => void;
}

export interface WorkerParts {
  readonly clock: WorkerClock;
  readonly limits: QueueLimits;
  readonly requests: RequestLimits;
  readonly ids: RandomIds;
  /** Sends a batch. Never rejects; what fails is reported elsewhere. */
  readonly send: (batch: OutgoingBatch) => Promise<void>;
}

/** What is left to turns. */
const balancedKey = -1;

/** Gathers messages into batches and sends these one after the other. It does nothing while it holds none. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #queue: BatchQueue<OutgoingBatch>;
  #isSending = false;
  #stopTimer: (() => void) | undefined;
  /** Batches that were sent, or dropped. */
  #done = 0;
  /** Who waits for how many of them, in that order. */
  readonly #flushes: { readonly done: number; readonly resolve: () => void }[] = [];

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#queue = new BatchQueue(parts.limits);
  }

  /** Adds a send. `isOwn` tells the producer's own topic from others. */
  add(topic: ProducerTopic, isOwn: boolean, choice: PartitionChoice, signIn: number, send: PreparedSend): void {
    const { clock, ids, requests } = this.#parts;
    const partition = choice.partitionId ?? balancedKey;
    const key: BatchKey = isOwn ? partition : `${topic.spelling}/${String(partition)}`;
    let batch = this.#queue.open(key);
    for (let index = 0; index < send.count; index++) {
      const fits =
        batch?.signIn === signIn &&
        (batch.choice.key === undefined) === (choice.key === undefined) &&
        batch.accepts(send.sizeAt(index), send.timeAt(index), requests);
      if (batch === undefined || !fits) {
        batch = new OutgoingBatch(topic, choice, signIn);
        this.#queue.begin(key, batch, clock.now());
      }
      batch.add(send, index, ids, choice.key);
    }
    this.#queue.added(send.bytes);
    this.#pump();
  }

  /** Sends what there is now. Resolves when all of it is done; what comes later does not count. */
  flush(): Promise<void> {
    this.#queue.finishAll();
    this.#pump();
    const outstanding = this.#queue.ready + (this.#isSending ? 1 : 0);
    if (outstanding === 0) return Promise.resolve();
    const done = this.#done + outstanding;
    return new Promise((resolve) => this.#flushes.push({ done, resolve }));
  }

  /** Takes everything that was not sent out of the queue. */
  drop(): readonly OutgoingBatch[] {
    this.#queue.finishAll();
    const dropped: OutgoingBatch[] = [];
    for (let batch = this.#queue.next(0); batch !== undefined; batch = this.#queue.next(0)) dropped.push(batch);
    this.#finished(dropped.length);
    return dropped;
  }

  #pump(): void {
    if (this.#isSending) return;
    const now = this.#parts.clock.now();
    const batch = this.#queue.next(now);
    if (batch !== undefined) {
      this.#stopTimer?.();
      this.#stopTimer = undefined;
      this.#isSending = true;
      void this.#send(batch);
      return;
    }
    const due = this.#queue.dueAt(now);
    if (due === undefined) {
      this.#stopTimer?.();
      this.#stopTimer = undefined;
    } else {
      this.#stopTimer ??= this.#parts.clock.after(due - now, () => {
        this.#stopTimer = undefined;
        this.#pump();
      });
    }
  }

  async #send(batch: OutgoingBatch): Promise<void> {
    await this.#parts.send(batch);
    this.#isSending = false;
    this.#finished(1);
    this.#pump();
  }

  #finished(batches: number): void {
    this.#done += batches;
    while ((this.#flushes[0]?.done ?? Infinity) <= this.#done) this.#flushes.shift()?.resolve();
  }
}
