import { WireError } from "../codec/wire-error.js";
import { backend } from "./select.js";

const words = new Uint32Array(2);

/**
 * XXH3-64 (seed 0, default secret) of `length` bytes from `offset` on; `out[0]` gets the low word, `out[1]` the high
 * one. Throws a WireError when the range leaves `bytes`.
 */
export function xxh3_64Into(out: Uint32Array, bytes: Uint8Array, offset: number, length: number): void {
  if (!(offset >= 0 && length >= 0 && offset + length <= bytes.length)) {
    throw new WireError(
      "UnexpectedEof",
      `no ${String(length)} bytes at ${String(offset)} of ${String(bytes.length)}`,
      offset,
    );
  }
  backend.hash(out, bytes, offset, length);
}

/** XXH3-64 (seed 0, default secret) of a range of `bytes`. */
export function xxh3_64(bytes: Uint8Array, offset = 0, length = bytes.length - offset): bigint {
  xxh3_64Into(words, bytes, offset, length);
  return BigInt(words[0] ?? 0) | (BigInt(words[1] ?? 0) << 32n);
}

/** Name of the implementation in use: WebAssembly where SIMD is available, else plain JavaScript. */
export const hashBackend: "wasm-simd" | "javascript" = backend.name;

/** Hashes at least one of the checked frames at `at..end`; see HashBackend. */
export function hashRun(bytes: Uint8Array, at: number, end: number): number {
  const count = backend.hashRun(bytes, at, end);
  // Only shared memory that another thread writes can do this to frames whose layout was checked.
  if (count === 0) throw new WireError("Validation", "a message changed while it was read", at);
  return count;
}
/** Hashes of the last run, two words each. */
export const runHashes: Uint32Array = backend.runHashes;
