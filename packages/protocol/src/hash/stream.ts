import { backend } from "./select.js";
import * as w from "./word64.js";
import { BLOCK_SIZE, consumeTail, INITIAL_ACCUMULATORS, STRIPE_SIZE } from "./xxh3-long.js";
import { hashShort, mergeAccumulators, SHORT_MAX } from "./xxh3-short.js";

/**
 * XXH3-64 of bytes that arrive in pieces. Holds one block, whatever the length of the input; `digest` may be asked at
 * any point and does not end the stream.
 */
export class Xxh3Stream {
  readonly #accumulators = INITIAL_ACCUMULATORS.slice();
  /** The last stripe of what was consumed, then the bytes not consumed yet: the last stripe of an input may span both. */
  readonly #pending = new Uint8Array(STRIPE_SIZE + BLOCK_SIZE);
  readonly #pendingView = new DataView(this.#pending.buffer);
  #pendingLength = 0;
  #total = 0;

  /** Bytes seen so far. */
  get length(): number {
    return this.#total;
  }

  reset(): this {
    this.#accumulators.set(INITIAL_ACCUMULATORS);
    this.#pendingLength = 0;
    this.#total = 0;
    return this;
  }

  update(bytes: Uint8Array): this {
    this.#total += bytes.length;
    let at = 0;
    // A block is consumed only when a byte follows it, since the end of the input is mixed in differently.
    if (this.#pendingLength + bytes.length > BLOCK_SIZE) {
      if (this.#pendingLength > 0) {
        at = BLOCK_SIZE - this.#pendingLength;
        this.#pending.set(bytes.subarray(0, at), STRIPE_SIZE + this.#pendingLength);
        backend.consumeBlocks(this.#accumulators, this.#pending, STRIPE_SIZE, 1);
        this.#pending.copyWithin(0, BLOCK_SIZE, BLOCK_SIZE + STRIPE_SIZE);
        this.#pendingLength = 0;
      }
      const blocks = Math.floor((bytes.length - at - 1) / BLOCK_SIZE);
      if (blocks > 0) {
        backend.consumeBlocks(this.#accumulators, bytes, at, blocks);
        at += blocks * BLOCK_SIZE;
        this.#pending.set(bytes.subarray(at - STRIPE_SIZE, at), 0);
      }
    }
    this.#pending.set(bytes.subarray(at), STRIPE_SIZE + this.#pendingLength);
    this.#pendingLength += bytes.length - at;
    return this;
  }

  /** Hash of everything so far, as two unsigned words. */
  digestInto(out: Uint32Array): void {
    if (this.#total <= SHORT_MAX) hashShort(this.#pendingView, STRIPE_SIZE, this.#total);
    else {
      const accumulators = this.#accumulators.slice();
      consumeTail(accumulators, this.#pendingView, STRIPE_SIZE, this.#pendingLength);
      mergeAccumulators(accumulators, this.#total);
    }
    out[0] = w.low;
    out[1] = w.high;
  }

  digest(): bigint {
    const out = new Uint32Array(2);
    this.digestInto(out);
    return BigInt(out[0] ?? 0) | (BigInt(out[1] ?? 0) << 32n);
  }
}
