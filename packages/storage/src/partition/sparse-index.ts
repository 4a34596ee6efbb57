/** At most this many bytes of records lie between two entries, so a lookup walks few records. */
export const INDEX_INTERVAL_BYTES = 16 * 1024;

const INITIAL_CAPACITY = 16;

const NOTHING = new Float64Array(0);

/** Where batches of one segment begin: a growing table of offset, append time and byte position, all ascending. */
export class SparseIndex {
  // Empty partitions are many.
  private offsets = NOTHING;
  private timestamps = NOTHING;
  private positions = NOTHING;
  private count = 0;

  get length(): number {
    return this.count;
  }

  add(offset: number, timestampMicros: number, position: number): void {
    if (this.count === this.offsets.length) {
      this.offsets = doubled(this.offsets);
      this.timestamps = doubled(this.timestamps);
      this.positions = doubled(this.positions);
    }
    this.offsets[this.count] = offset;
    this.timestamps[this.count] = timestampMicros;
    this.positions[this.count] = position;
    this.count++;
  }

  /** Whether a batch at `position` is far enough from the last entry to get one. */
  wants(position: number): boolean {
    return this.count === 0 || position - this.positionAt(this.count - 1) >= INDEX_INTERVAL_BYTES;
  }

  offsetAt(entry: number): number {
    return this.offsets[entry] ?? 0;
  }

  timestampAt(entry: number): number {
    return this.timestamps[entry] ?? 0;
  }

  positionAt(entry: number): number {
    return this.positions[entry] ?? 0;
  }

  /** The last entry at or below an offset, -1 when there is none. */
  floorOfOffset(offset: number): number {
    return floor(this.offsets, this.count, offset);
  }

  /** The last entry strictly before a time, -1 when there is none: batches of one time may begin before their entry. */
  floorBeforeTimestamp(timestampMicros: number): number {
    return floor(this.timestamps, this.count, timestampMicros - 1);
  }

  floorOfPosition(position: number): number {
    return floor(this.positions, this.count, position);
  }

  /** Keeps the first `length` entries. */
  truncate(length: number): void {
    this.count = Math.min(this.count, length);
  }
}

function floor(values: Float64Array, count: number, wanted: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] ?? 0) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function doubled(values: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(Math.max(values.length * 2, INITIAL_CAPACITY));
  larger.set(values);
  return larger;
}
