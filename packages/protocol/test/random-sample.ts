import fc from "fast-check";
import type { Sample } from "../src/index.js";

/** Code points of one to four UTF-8 bytes. */
const letters = ["a", "Z", "0", ".", " ", "é", "ß", "✓", "日", "\uff5e", "\u{1f600}"] as const;
const byteLength = (letter: string): number => Buffer.byteLength(letter);

/** Bytes of a seeded generator: a failure replays from its seed. */
class RandomSample implements Sample {
  private readonly next: () => number;

  constructor(seed: number) {
    let state = seed >>> 0;
    this.next = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
    };
  }

  integer(max: number): number {
    const edge = this.next();
    if (edge < 0.1) return 0;
    if (edge < 0.2) return max;
    return Math.min(max, Math.floor(this.next() * (max + 1)));
  }

  bigint(bits: number): bigint {
    const edge = this.next();
    if (edge < 0.1) return 0n;
    if (edge < 0.2) return (1n << BigInt(bits)) - 1n;
    let value = 0n;
    for (let done = 0; done < bits; done += 8) value = (value << 8n) | BigInt(this.integer(255));
    return value;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.next() * 256));
  }

  text(minBytes: number, maxBytes: number): string {
    const wanted = minBytes + this.integer(maxBytes - minBytes);
    let text = "";
    let length = 0;
    while (length < wanted) {
      const letter = letters[this.integer(letters.length - 1)] ?? "a";
      const fits = length + byteLength(letter) <= wanted;
      text += fits ? letter : "a";
      length += fits ? byteLength(letter) : 1;
    }
    return text;
  }

  boolean(): boolean {
    return this.next() < 0.5;
  }
}

/** An arbitrary source of samples: fast-check chooses and reports the seed. */
export const samples: fc.Arbitrary<Sample> = fc.integer().map((seed) => new RandomSample(seed));
