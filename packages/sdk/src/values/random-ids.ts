import { randomBytes } from "../session/random-identity.js";

const idBytes = 16;
const poolIds = 256;

/** Random message ids, UUID v4 in their wire bytes. Random bytes are drawn for many at once: each draw is expensive. */
export class RandomIds {
  #pool: Uint8Array = new Uint8Array(0);
  #used = 0;

  next(): Uint8Array {
    if (this.#used === this.#pool.length) {
      this.#pool = randomBytes(poolIds * idBytes);
      this.#used = 0;
    }
    const id = this.#pool.subarray(this.#used, this.#used + idBytes);
    this.#used += idBytes;
    id[6] = ((id[6] ?? 0) & 0x0f) | 0x40;
    id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
    return id;
  }
}
