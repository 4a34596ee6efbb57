import { EntryHeap, type HeapEntry } from "./entry-heap.js";

/** A reader that waits for a partition to grow. */
export interface Watch<T> {
  readonly value: T;
}

class Waiting<T> implements Watch<T> {
  /** Cleared when it is woken or removed. */
  live = true;
  /** It is woken, and others come before it. */
  isDue = false;
  constructor(
    readonly value: T,
    readonly order: number,
    readonly hasByteLimit: boolean,
  ) {}
}

class Threshold<T> implements HeapEntry {
  constructor(
    readonly key: number,
    readonly watch: Waiting<T>,
  ) {}
  get order(): number {
    return this.watch.order;
  }
  get live(): boolean {
    return this.watch.live;
  }
}

/**
 * Readers that wait on one partition, ordered by what wakes them: the committed end reaching an offset, or the bytes
 * committed since the partition opened reaching a sum. A commit costs time for the readers that it wakes only, however
 * many wait.
 */
export class WatchList<T> {
  private readonly byOffset = new EntryHeap<Threshold<T>>();
  private readonly byBytes = new EntryHeap<Threshold<T>>();
  private order = 0;

  get size(): number {
    return this.byOffset.size;
  }

  /** Waits until `nextOffset` of the partition reaches `wakeOffset`, or its byte sum reaches `wakeBytes` (or never). */
  add(wakeOffset: number, wakeBytes: number, value: T): Watch<T> {
    const watch = new Waiting(value, this.order++, wakeBytes !== Infinity);
    this.byOffset.push(new Threshold(wakeOffset, watch));
    if (watch.hasByteLimit) this.byBytes.push(new Threshold(wakeBytes, watch));
    return watch;
  }

  /** Returns false when the watch was woken or removed before; it is not woken once this returned. */
  remove(watch: Watch<T>): boolean {
    if (!(watch instanceof Waiting)) return false;
    if (watch.isDue) {
      watch.isDue = false;
      return true;
    }
    if (!watch.live) return false;
    watch.live = false;
    this.byOffset.noteWithdrawn();
    if (watch.hasByteLimit) this.byBytes.noteWithdrawn();
    return true;
  }

  /**
   * The partition grew: takes out the readers that this concerns and wakes them in the order in which they came. What one
   * of them does may remove others, which are not woken then.
   */
  advance(nextOffset: number, bytesSum: number, wake: (value: T) => void): void {
    const woken: Waiting<T>[] = [];
    this.take(this.byOffset, this.byBytes, nextOffset, woken);
    this.take(this.byBytes, this.byOffset, bytesSum, woken);
    if (woken.length > 1) woken.sort((a, b) => a.order - b.order);
    for (const watch of woken) {
      if (!watch.isDue) continue;
      watch.isDue = false;
      wake(watch.value);
    }
  }

  /** Takes out and wakes everybody. */
  clear(wake: (value: T) => void): void {
    this.advance(Infinity, Infinity, wake);
  }

  private take(
    from: EntryHeap<Threshold<T>>,
    other: EntryHeap<Threshold<T>>,
    reached: number,
    woken: Waiting<T>[],
  ): void {
    for (let first = from.peek(); first !== undefined && first.key <= reached; first = from.peek()) {
      const { watch } = first;
      from.pop();
      watch.live = false;
      watch.isDue = true;
      if (watch.hasByteLimit) other.noteWithdrawn();
      woken.push(watch);
    }
  }
}
