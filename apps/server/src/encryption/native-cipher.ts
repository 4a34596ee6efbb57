import { randomFillSync } from "node:crypto";
import type { BatchCipher, BatchCipherFactory } from "./batch-cipher.js";

/** Native code that seals and opens a whole batch in one call. */
export interface NativeBatchCipher {
  seal(
    batch: Uint8Array,
    fillRandom: (bytes: Uint8Array) => void,
    allocate: (size: number) => Uint8Array,
  ): Uint8Array | undefined;
  open(batch: Uint8Array, allocate: (size: number) => Uint8Array): Uint8Array | undefined;
}

/** Ciphers in native code; `make` gets the key and copies it. */
export const nativeCipher =
  (make: (key: Uint8Array) => NativeBatchCipher): BatchCipherFactory =>
  (key): BatchCipher => {
    const cipher = make(key);
    return {
      seal: (batch) => cipher.seal(batch, fillRandom, allocate),
      open: (batch) => cipher.open(batch, allocate),
    };
  };

const fillRandom = (bytes: Uint8Array): void => {
  randomFillSync(bytes);
};
/** Every byte of a batch is written. */
const allocate = (size: number): Uint8Array => Buffer.allocUnsafeSlow(size);
