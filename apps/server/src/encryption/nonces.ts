import { randomFillSync } from "node:crypto";
import { NONCE_SIZE } from "./stream-cipher.js";

/** A call for random bytes costs as much for many nonces as for one. */
const NONCES_AHEAD = 1024;

/** Random nonces, fetched ahead. One is never given twice. */
export class Nonces {
  private readonly bytes = new Uint8Array(NONCE_SIZE * NONCES_AHEAD);
  private next = this.bytes.length;

  /** Writes a nonce of 12 bytes at the start of `target`. */
  writeTo(target: Uint8Array): void {
    if (this.next === this.bytes.length) {
      randomFillSync(this.bytes);
      this.next = 0;
    }
    target.set(this.bytes.subarray(this.next, this.next + NONCE_SIZE));
    this.next += NONCE_SIZE;
  }
}
