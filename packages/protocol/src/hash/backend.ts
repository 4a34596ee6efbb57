/** Where a backend leaves a hash: word 0 low, word 1 high. */
export type HashWords = Uint32Array;

/** An implementation of XXH3-64. Callers check every range before they call. */
export interface HashBackend {
  readonly name: "wasm-simd" | "javascript";
  /** Hashes `length` bytes from `at` on into `out`. */
  hash(out: HashWords, bytes: Uint8Array, at: number, length: number): void;
  /** Adds whole 1024-byte blocks to the accumulators of a stream. */
  consumeBlocks(accumulators: Uint32Array, bytes: Uint8Array, at: number, blocks: number): void;
}
