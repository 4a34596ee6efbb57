/** Where the property tests' random values come from; a seeded source replays. */
export interface Sample {
  /** Integer from 0 to `max`, both included, with the edges more likely than chance. */
  integer(max: number): number;
  bigint(bits: number): bigint;
  bytes(length: number): Uint8Array;
  text(minBytes: number, maxBytes: number): string;
  boolean(): boolean;
}

/** One of several values, of which there is at least one. */
export function pick<T>(source: Sample, values: readonly T[]): T {
  const value = values[source.integer(values.length - 1)];
  if (value === undefined) throw new RangeError("nothing to pick from");
  return value;
}
