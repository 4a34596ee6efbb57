import type { PolledMessages } from "../values/polled-messages.js";
import type { PollingStrategy } from "../values/polling-strategy.js";
import { monotonicMs } from "../time/timers.js";

/** A read that the application has not taken yet. */
export interface Batch {
  readonly partitionId: number;
  readonly polled: PolledMessages;
}

/** What becomes of a partition after a failed read. */
export type FaultVerdict =
  | { readonly kind: "retry"; readonly afterMs: number; readonly position?: PollingStrategy }
  /** Not read again until it is sought or assigned anew. */
  | { readonly kind: "stop" };

export interface SchedulerSettings {
  /** Reads that may be on the way or not yet taken. */
  readonly slots: number;
  readonly maxWaitMs: number;
  readonly retryIntervalMs: number;
  /** The server stores offsets as it reads: nothing is read ahead of the application. */
  readonly commitsOnRead: boolean;
  readonly poll: (
    partitionId: number,
    position: PollingStrategy,
    maxWaitMs: number,
    signal: AbortSignal,
  ) => Promise<PolledMessages>;
  /** Where a partition is read after a batch. */
  readonly after: (polled: PolledMessages) => PollingStrategy;
  readonly onBatch: () => void;
  /** `isBound`: the read named a history of the partition. */
  readonly onFault: (partitionId: number, error: unknown, isBound: boolean) => FaultVerdict;
}

/** An empty answer that comes sooner than this did not wait, ms: then the client does. */
const promptMs = 50;

interface PartitionRead {
  readonly id: number;
  position: PollingStrategy;
  /** Rises when the position is set from outside: a reply to an older read is dropped. */
  epoch: number;
  reading: AbortController | undefined;
  lastReadAt: number;
  /** Time before which it is not read. */
  notBefore: number;
  isStopped: boolean;
  isPaused: boolean;
}

/**
 * Reads partitions in turn, several at once, as far as the budget goes: a slot covers one reply from its request until
 * the application takes it. One read per partition is under way, so each partition stays in order.
 */
export class ReadScheduler {
  readonly #settings: SchedulerSettings;
  readonly #partitions = new Map<number, PartitionRead>();
  #queue: Batch[] = [];
  #inFlight = 0;
  #isWanted = false;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(settings: SchedulerSettings) {
    this.#settings = settings;
  }

  get partitions(): readonly number[] {
    return [...this.#partitions.keys()].sort((a, b) => a - b);
  }

  get buffered(): number {
    return this.#queue.length;
  }

  has(partitionId: number): boolean {
    return this.#partitions.has(partitionId);
  }

  /** Takes partitions, each with the position where its reading starts. */
  add(starts: Iterable<readonly [partitionId: number, position: PollingStrategy]>): void {
    if (this.#isClosed) return;
    for (const [id, position] of starts) {
      if (this.#partitions.has(id)) continue;
      this.#partitions.set(id, {
        id,
        position,
        epoch: 0,
        reading: undefined,
        lastReadAt: -Infinity,
        notBefore: -Infinity,
        isStopped: false,
        isPaused: false,
      });
    }
    this.#pump();
  }

  /** Gives a partition up: its read is cancelled, what was read and not taken is dropped. */
  remove(partitionId: number): void {
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined) return;
    this.#partitions.delete(partitionId);
    this.#restart(partition);
    this.#pump();
  }

  /** Moves a partition. What was read and not taken is dropped; a stopped partition is read again. */
  seek(partitionId: number, position: PollingStrategy): void {
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined) return;
    partition.position = position;
    partition.isStopped = false;
    partition.notBefore = -Infinity;
    this.#restart(partition);
    this.#pump();
  }

  setPaused(partitionId: number, isPaused: boolean): void {
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined) return;
    partition.isPaused = isPaused;
    this.#pump();
  }

  /** The next batch, if one is there. Taking it makes room for another read. */
  take(): Batch | undefined {
    const index = this.#queue.findIndex(({ partitionId }) => this.#partitions.get(partitionId)?.isPaused !== true);
    const [batch] = index === -1 ? [] : this.#queue.splice(index, 1);
    this.#isWanted = batch === undefined;
    this.#pump();
    return batch;
  }

  /** Cancels every read. What was read and not taken comes back, with the partitions whose read was under way. */
  close(): { readonly batches: readonly Batch[]; readonly cancelled: readonly number[] } {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const batches = this.#queue;
    this.#queue = [];
    const reading = [...this.#partitions.values()].filter((partition) => partition.reading !== undefined);
    for (const partition of reading) partition.reading?.abort();
    return { batches, cancelled: reading.map(({ id }) => id) };
  }

  #restart(partition: PartitionRead): void {
    partition.epoch++;
    partition.reading?.abort();
    this.#queue = this.#queue.filter(({ partitionId }) => partitionId !== partition.id);
  }

  #pump(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    while (this.#hasRoom()) {
      const partition = this.#nextPartition();
      if (partition === undefined) break;
      void this.#read(partition);
    }
  }

  #hasRoom(): boolean {
    if (this.#settings.commitsOnRead && !(this.#isWanted && this.#queue.length === 0)) return false;
    return this.#inFlight + this.#queue.length < this.#settings.slots;
  }

  /** The partition that was read longest ago among those with the least read ahead. */
  #nextPartition(): PartitionRead | undefined {
    const now = monotonicMs();
    let best: PartitionRead | undefined;
    let bestAhead = Infinity;
    let soonest = Infinity;
    for (const partition of this.#partitions.values()) {
      if (partition.reading !== undefined || partition.isStopped || partition.isPaused) continue;
      if (partition.notBefore > now) {
        soonest = Math.min(soonest, partition.notBefore);
        continue;
      }
      const ahead = this.#queue.filter(({ partitionId }) => partitionId === partition.id).length;
      if (ahead < bestAhead || (ahead === bestAhead && partition.lastReadAt < (best?.lastReadAt ?? Infinity))) {
        best = partition;
        bestAhead = ahead;
      }
    }
    if (best === undefined && soonest !== Infinity) {
      this.#timer = setTimeout(() => this.#pump(), Math.max(1, soonest - now));
    }
    return best;
  }

  async #read(partition: PartitionRead): Promise<void> {
    const { epoch, position } = partition;
    const abort = new AbortController();
    partition.reading = abort;
    partition.lastReadAt = monotonicMs();
    this.#inFlight++;
    try {
      const polled = await this.#settings.poll(partition.id, position, this.#waitMs(), abort.signal);
      if (this.#isCurrent(partition, epoch)) this.#accept(partition, polled);
    } catch (error) {
      if (this.#isCurrent(partition, epoch) && !abort.signal.aborted) this.#fault(partition, error);
    } finally {
      this.#inFlight--;
      partition.reading = undefined;
      this.#pump();
    }
  }

  #isCurrent(partition: PartitionRead, epoch: number): boolean {
    return !this.#isClosed && partition.epoch === epoch && this.#partitions.get(partition.id) === partition;
  }

  #accept(partition: PartitionRead, polled: PolledMessages): void {
    partition.position = this.#settings.after(polled);
    if (polled.count > 0) {
      this.#queue.push({ partitionId: partition.id, polled });
      this.#isWanted = false;
      this.#settings.onBatch();
      return;
    }
    // The server did not wait, so reading at once would only keep both sides busy.
    if (monotonicMs() - partition.lastReadAt < promptMs) {
      partition.notBefore = monotonicMs() + Math.min(this.#settings.retryIntervalMs, 1000);
    }
  }

  #fault(partition: PartitionRead, error: unknown): void {
    const verdict = this.#settings.onFault(partition.id, error, partition.position.bound !== undefined);
    switch (verdict.kind) {
      case "stop":
        partition.isStopped = true;
        return;
      case "retry":
        partition.notBefore = monotonicMs() + verdict.afterMs;
        if (verdict.position !== undefined) partition.position = verdict.position;
    }
  }

  /** With more partitions than slots each wait is shorter, so that a round takes about one full wait. */
  #waitMs(): number {
    const { maxWaitMs, slots } = this.#settings;
    const active = [...this.#partitions.values()].filter(({ isStopped, isPaused }) => !isStopped && !isPaused).length;
    return active <= slots ? maxWaitMs : Math.floor((maxWaitMs * slots) / active);
  }
}
