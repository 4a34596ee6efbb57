export interface HeapEntry {
  /** The smallest comes out first; equal keys in order of arrival. */
  readonly key: number;
  readonly order: number;
  /** Cleared when the entry is withdrawn; the heap drops it when it comes up. */
  readonly live: boolean;
}

/**
 * A priority queue whose entries can be withdrawn at no cost: a withdrawn one stays until it comes up or until half of
 * the heap is withdrawn, when all of them are swept out.
 */
export class EntryHeap<E extends HeapEntry> {
  private items: E[] = [];
  private withdrawn = 0;

  /** Live entries. */
  get size(): number {
    return this.items.length - this.withdrawn;
  }

  push(entry: E): void {
    this.items.push(entry);
    this.rise(this.items.length - 1, entry);
  }

  /** The caller has just cleared `live` of one entry of this heap. */
  noteWithdrawn(): void {
    this.withdrawn++;
    if (this.withdrawn * 2 > this.items.length) this.sweep();
  }

  /** The live entry with the smallest key. */
  peek(): E | undefined {
    for (let first = this.items[0]; first !== undefined; first = this.items[0]) {
      if (first.live) return first;
      this.withdrawn--;
      this.removeFirst();
    }
    return undefined;
  }

  pop(): E | undefined {
    const first = this.peek();
    if (first !== undefined) this.removeFirst();
    return first;
  }

  private sweep(): void {
    const live = this.items.filter((entry) => entry.live);
    this.items = live;
    this.withdrawn = 0;
    for (let at = (live.length >> 1) - 1; at >= 0; at--) {
      const entry = live[at];
      if (entry !== undefined) this.sink(at, entry);
    }
  }

  private removeFirst(): void {
    const last = this.items.pop();
    if (last !== undefined && this.items.length > 0) this.sink(0, last);
  }

  private rise(from: number, entry: E): void {
    const { items } = this;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = entry;
  }

  private sink(from: number, entry: E): void {
    const { items } = this;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      let below = items[child];
      if (below === undefined) break;
      const right = items[child + 1];
      if (right !== undefined && isBefore(right, below)) {
        child++;
        below = right;
      }
      if (!isBefore(below, entry)) break;
      items[at] = below;
      at = child;
    }
    items[at] = entry;
  }
}

const isBefore = (a: HeapEntry, b: HeapEntry): boolean => a.key < b.key || (a.key === b.key && a.order < b.order);
