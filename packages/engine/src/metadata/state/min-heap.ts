/** The smallest of a changing set of numbers, in logarithmic time. */
export class MinHeap {
  private readonly items: number[] = [];

  get size(): number {
    return this.items.length;
  }

  get least(): number | undefined {
    return this.items[0];
  }

  push(value: number): void {
    const { items } = this;
    let at = items.length;
    items.push(value);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.at(parent) <= value) break;
      items[at] = this.at(parent);
      at = parent;
    }
    items[at] = value;
  }

  pop(): number | undefined {
    const { items } = this;
    const least = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return least;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= items.length) break;
      const child = left + 1 < items.length && this.at(left + 1) < this.at(left) ? left + 1 : left;
      if (last <= this.at(child)) break;
      items[at] = this.at(child);
      at = child;
    }
    items[at] = last;
    return least;
  }

  // Only called below the length.
  private at(index: number): number {
    return this.items[index] ?? Infinity;
  }
}
