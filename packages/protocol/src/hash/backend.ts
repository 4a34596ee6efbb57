/** Where a backend leaves a hash: word 0 low, word 1 high. */
export type HashWords = Uint32Array;

/** Most frames that one call of `hashRun` hashes. */
export const RUN_FRAMES = 4096;

/** An implementation of XXH3-64. Callers check every range before they call. */
export interface HashBackend {
  readonly name: "wasm-simd" | "javascript";
  /** Hashes `length` bytes from `at` on into `out`. */
  hash(out: HashWords, bytes: Uint8Array, at: number, length: number): void;
  /** Adds whole 1024-byte blocks to the accumulators of a stream. */
  consumeBlocks(accumulators: Uint32Array, bytes: Uint8Array, at: number, blocks: number): void;
  /**
   * Hashes message frames that lie back to back from `at` on: each from its byte 8 to its end. Takes at least one frame
   * and stops after RUN_FRAMES, at a frame that would reach past `end`, or where its memory is full. Returns the number
   * of frames hashed; `runHashes` holds two words for each.
   */
  hashRun(bytes: Uint8Array, at: number, end: number): number;
  readonly runHashes: Uint32Array;
}

/** Frame header: 32 user_headers_length u32, 36 payload_length u32. */
export const FRAME_HEADER_SIZE = 48;
export const FRAME_LENGTHS_OFFSET = 32;
/** The stored hash in front of a frame is not part of what it covers. */
export const FRAME_HASHED_FROM = 8;
