import type { Sample } from "@iggy/protocol";

const letters = ["a", "Z", "0", ".", " ", "é", "✓", "日", "\u{1f600}"] as const;

/** Random values of a seed: a failure replays. */
export class Seeded implements Sample {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** In [0, 1). */
  fraction(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  integer(max: number): number {
    return Math.min(max, Math.floor(this.fraction() * (max + 1)));
  }

  bigint(bits: number): bigint {
    let value = 0n;
    for (let done = 0; done < bits; done += 8) value = (value << 8n) | BigInt(this.integer(255));
    return value & ((1n << BigInt(bits)) - 1n);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.integer(255));
  }

  text(minBytes: number, maxBytes: number): string {
    const wanted = minBytes + this.integer(maxBytes - minBytes);
    let text = "";
    while (Buffer.byteLength(text) < wanted) {
      const letter = this.pick(letters);
      text += Buffer.byteLength(text + letter) <= wanted ? letter : "a";
    }
    return text;
  }

  boolean(): boolean {
    return this.fraction() < 0.5;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.integer(values.length - 1)];
    if (value === undefined) throw new RangeError("nothing to pick from");
    return value;
  }
}
