import { randomBytes } from "../session/random-identity.js";

const idBytes = 16;
const poolIds = 256;

/** Random message ids, UUID v4 in their wire bytes. Random bytes are drawn for many at once: each draw is expensive. */
export class RandomIds {
  #pool: Uint8Array = new Uint8Array(0);
  #used = 0;

  next(): Uint8Array {
    const at = this.#take();
    return this.#pool.subarray(at, at + idBytes);
  }

  /** Writes the next id where it goes. */
  readonly write = (bytes: Uint8Array, offset: number): void => {
    const at = this.#take();
    for (let i = 0; i < idBytes; i++) bytes[offset + i] = this.#pool[at + i] ?? 0;
  };

  /** Where the next id lies in the pool. */
  #take(): number {
    if (this.#used === this.#pool.length) {
      this.#pool = randomBytes(poolIds * idBytes);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += idBytes;
    this.#pool[at + 6] = ((this.#pool[at + 6] ?? 0) & 0x0f) | 0x40;
    this.#pool[at + 8] = ((this.#pool[at + 8] ?? 0) & 0x3f) | 0x80;
    return at;
  }
}
