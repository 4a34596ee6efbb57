/** Units that are free and lie together. */
export interface FreeRange {
  readonly unit: number;
  readonly units: number;
  /** The call of `trim` before which it was last used; -1 when it holds no memory. */
  readonly usedAt: number;
}

export const UNTOUCHED = -1;

/** Free ranges, ordered by size. */
export class FreeRanges {
  private ranges: FreeRange[] = [];

  add(range: FreeRange): void {
    this.ranges.splice(this.firstOf(range.units), 0, range);
  }

  /** Takes the smallest range that has room, and puts what is left over back. */
  carve(units: number): FreeRange | undefined {
    const at = this.firstOf(units);
    const range = this.ranges[at];
    if (range === undefined) return undefined;
    this.ranges.splice(at, 1);
    if (range.units === units) return range;
    this.add({ unit: range.unit + units, units: range.units - units, usedAt: range.usedAt });
    return { unit: range.unit, units, usedAt: range.usedAt };
  }

  takeAll(): FreeRange[] {
    const all = this.ranges;
    this.ranges = [];
    return all;
  }

  /** Joins neighbours, except where one must not be crossed, and keeps the result. */
  join(ranges: FreeRange[], isBoundary: (unit: number) => boolean): void {
    const joined: FreeRange[] = [];
    for (const range of ranges.sort((a, b) => a.unit - b.unit)) {
      const before = joined.at(-1);
      if (before !== undefined && before.unit + before.units === range.unit && !isBoundary(range.unit)) {
        const usedAt = Math.max(before.usedAt, range.usedAt);
        joined[joined.length - 1] = { unit: before.unit, units: before.units + range.units, usedAt };
      } else joined.push(range);
    }
    this.ranges = joined.sort((a, b) => a.units - b.units);
  }

  /** Where the first range of at least this size stands. */
  private firstOf(units: number): number {
    let low = 0;
    let high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.ranges[middle]?.units ?? 0) < units) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
