import { MinHeap } from "./min-heap.js";

/**
 * Values under dense numeric ids. A new value takes the lowest free id, so an id is used again after a removal; ids stay
 * below `capacity`. Iteration is in ascending id order whatever the history, as replicas that came here on different
 * ways must agree on it.
 */
export class Slab<T> {
  readonly capacity: number;
  private readonly slots: (T | undefined)[] = [];
  /** Free ids below the length of `slots`; may hold outdated ones, which `nextId` drops. */
  private readonly free = new MinHeap();
  private count = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.count;
  }

  /** The lowest free id, or undefined when every id below the capacity is taken. */
  get nextId(): number | undefined {
    for (;;) {
      const { least } = this.free;
      if (least === undefined) break;
      if (least < this.slots.length && this.slots[least] === undefined) return least;
      this.free.pop();
    }
    return this.slots.length < this.capacity ? this.slots.length : undefined;
  }

  get(id: number): T | undefined {
    return this.slots[id];
  }

  /** Puts a value under a free id below the capacity; others are a fault of the caller. */
  insert(id: number, value: T): void {
    if (!Number.isInteger(id) || id < 0 || id >= this.capacity || this.slots[id] !== undefined) {
      throw new RangeError(`id ${String(id)} is not free`);
    }
    while (this.slots.length < id) {
      this.free.push(this.slots.length);
      this.slots.push(undefined);
    }
    this.slots[id] = value;
    this.count++;
  }

  remove(id: number): void {
    if (this.slots[id] === undefined) return;
    this.slots[id] = undefined;
    this.count--;
    while (this.slots.length > 0 && this.slots[this.slots.length - 1] === undefined) this.slots.pop();
    if (id < this.slots.length) this.free.push(id);
  }

  /** Values in ascending order of their ids, from `first` on. */
  *values(first = 0): IterableIterator<T> {
    for (let id = first; id < this.slots.length; id++) {
      const value = this.slots[id];
      if (value !== undefined) yield value;
    }
  }
}
