import { EntryHeap, type HeapEntry } from "./entry-heap.js";

/** A moment at which something must happen unless it is withdrawn. */
export interface Deadline<T> {
  readonly value: T;
}

class Entry<T> implements Deadline<T>, HeapEntry {
  live = true;
  constructor(
    readonly key: number,
    readonly order: number,
    readonly value: T,
  ) {}
}

/** Deadlines of a shard, so that one timer serves any number of waiting reads. The unit of time is the caller's. */
export class DeadlineQueue<T> {
  private readonly heap = new EntryHeap<Entry<T>>();
  private order = 0;

  get size(): number {
    return this.heap.size;
  }

  /** When the next one is due, or undefined when nothing waits. */
  get next(): number | undefined {
    return this.heap.peek()?.key;
  }

  add(due: number, value: T): Deadline<T> {
    const entry = new Entry(due, this.order++, value);
    this.heap.push(entry);
    return entry;
  }

  /** Returns false when it was due or withdrawn before. */
  remove(deadline: Deadline<T>): boolean {
    if (!(deadline instanceof Entry) || !deadline.live) return false;
    deadline.live = false;
    this.heap.noteWithdrawn();
    return true;
  }

  /** Takes out the earliest that is due. One at a time, since what it brings about may withdraw others. */
  takeDue(now: number): T | undefined {
    const first = this.heap.peek();
    if (first === undefined || first.key > now) return undefined;
    this.heap.pop();
    first.live = false;
    return first.value;
  }
}
