/** What ends the wait of a queue. */
export interface QueueLimits {
  /** Bytes and sends over all open batches. */
  readonly bytes: number;
  readonly sends: number;
  /** Time since the first send into an empty queue. */
  readonly lingerMs: number;
}

/** A partition, or what is left to turns; of another topic than the producer's own as text. */
export type BatchKey = number | string;

/**
 * Batches of one worker: those that are filled, one per partition, and those that wait to be sent, in order. It has no
 * clock and no timer: it is told the time, and says when it wants to be asked again.
 *
 * Filling ends for all batches at once, when bytes, sends or time reach their limit; and for one when it can not take a
 * message. Batches of one key leave in the order in which they were begun.
 */
export class BatchQueue<Batch> {
  readonly #limits: QueueLimits;
  #open = new Map<BatchKey, Batch>();
  #ready: Batch[] = [];
  #taken = 0;
  #bytes = 0;
  #sends = 0;
  #since = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Whether there are batches that are being filled. */
  get isFilling(): boolean {
    return this.#open.size > 0;
  }

  /** Batches that wait to be sent. */
  get ready(): number {
    return this.#ready.length - this.#taken;
  }

  /** The batch that is being filled for a key. */
  open(key: BatchKey): Batch | undefined {
    return this.#open.get(key);
  }

  /** Begins a batch; the one that was filled for this key waits to be sent. */
  begin(key: BatchKey, batch: Batch, now: number): void {
    if (this.isFilling) this.#finish(key);
    else this.#since = now;
    this.#open.set(key, batch);
  }

  /** One send was added to open batches. */
  added(bytes: number): void {
    this.#bytes += bytes;
    this.#sends++;
    if (this.#bytes >= this.#limits.bytes || this.#sends >= this.#limits.sends) this.finishAll();
  }

  /** Ends the filling of all batches. */
  finishAll(): void {
    for (const batch of this.#open.values()) this.#ready.push(batch);
    this.#open.clear();
    this.#bytes = 0;
    this.#sends = 0;
  }

  /** The batch to send now. */
  next(now: number): Batch | undefined {
    if (this.#taken === this.#ready.length && this.isFilling && now >= this.#since + this.#limits.lingerMs) {
      this.finishAll();
    }
    const batch = this.#ready[this.#taken];
    if (batch === undefined) return undefined;
    this.#taken++;
    if (this.#taken === this.#ready.length) {
      this.#ready = [];
      this.#taken = 0;
    }
    return batch;
  }

  /** When `next` has a batch if nothing more comes; undefined when there is none. */
  dueAt(now: number): number | undefined {
    if (this.#taken < this.#ready.length) return now;
    return this.isFilling ? this.#since + this.#limits.lingerMs : undefined;
  }

  #finish(key: BatchKey): void {
    const batch = this.#open.get(key);
    if (batch === undefined) return;
    this.#open.delete(key);
    this.#ready.push(batch);
  }
}
