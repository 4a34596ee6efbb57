import { type Block, newBlock, readBlock, swapped } from "./aes-block.js";

/*
 * POLYVAL by way of GHASH, whose bytes run the other way (RFC 8452, appendix A), four bits at a time: a table of 16
 * multiples of the key is cheap enough to make for each message.
 */

/** What the four bits that fall off a shift add again, in the highest 16 bits. */
const reduction = Uint32Array.from({ length: 16 }, (_, bits) => {
  let value = 0;
  for (let bit = 0; bit < 4; bit++) if ((bits & (1 << bit)) !== 0) value ^= 0x1c20 << bit;
  return value << 16;
});

/** Multiplies by x: a shift to the right in the order of bits that GHASH has. */
function timesX(block: Block): void {
  const carry = (block[3] ?? 0) & 1;
  for (let i = 3; i > 0; i--) block[i] = ((block[i] ?? 0) >>> 1) | ((block[i - 1] ?? 0) << 31);
  block[0] = ((block[0] ?? 0) >>> 1) ^ (carry === 1 ? 0xe100_0000 : 0);
}

/** The bytes of a block in reverse order. */
export function reverse(block: Block): void {
  const [a = 0, b = 0, c = 0, d = 0] = block;
  block[0] = swapped(d);
  block[1] = swapped(c);
  block[2] = swapped(b);
  block[3] = swapped(a);
}

/** The hash of one message under one key. */
export class Polyval {
  /** Multiples of the key by every polynomial of four terms. */
  readonly #multiples = new Uint32Array(16 * 4);
  readonly #sum = newBlock();
  readonly #block = newBlock();

  constructor(key: Uint8Array) {
    const power = newBlock();
    readBlock(power, key);
    reverse(power);
    timesX(power);
    for (let bit = 8; bit >= 1; bit >>= 1) {
      this.#multiples.set(power, 4 * bit);
      timesX(power);
    }
    for (let size = 2; size < 16; size *= 2) {
      for (let rest = 1; rest < size; rest++) {
        for (let i = 0; i < 4; i++) {
          this.#multiples[4 * (size + rest) + i] =
            (this.#multiples[4 * size + i] ?? 0) ^ (this.#multiples[4 * rest + i] ?? 0);
        }
      }
    }
  }

  /** Takes all of `data`, filled up with zeros to whole blocks. */
  update(data: Uint8Array): void {
    let at = 0;
    for (; at + 16 <= data.length; at += 16) {
      readBlock(this.#block, data, at);
      this.#add();
    }
    if (at === data.length) return;
    const rest = new Uint8Array(16);
    rest.set(data.subarray(at));
    readBlock(this.#block, rest);
    this.#add();
  }

  /** The hash, as a block. */
  digest(): Block {
    const sum = this.#sum.slice();
    reverse(sum);
    return sum;
  }

  #add(): void {
    reverse(this.#block);
    const sum = this.#sum;
    const table = this.#multiples;
    for (let i = 0; i < 4; i++) sum[i] = (sum[i] ?? 0) ^ (this.#block[i] ?? 0);
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let word = 3; word >= 0; word--) {
      const bits = sum[word] ?? 0;
      for (let shift = 0; shift < 32; shift += 4) {
        const carry = reduction[d & 0xf] ?? 0;
        const entry = 4 * ((bits >>> shift) & 0xf);
        d = ((d >>> 4) | (c << 28)) ^ (table[entry + 3] ?? 0);
        c = ((c >>> 4) | (b << 28)) ^ (table[entry + 2] ?? 0);
        b = ((b >>> 4) | (a << 28)) ^ (table[entry + 1] ?? 0);
        a = (a >>> 4) ^ carry ^ (table[entry] ?? 0);
      }
    }
    sum[0] = a;
    sum[1] = b;
    sum[2] = c;
    sum[3] = d;
  }
}
