/** What the server writes into the header of a batch. */
export interface BatchStamp {
  readonly partitionId: number;
  /** Offset of the first message. */
  readonly baseOffset: bigint | number;
  /** Append time, µs. */
  readonly baseTimestamp: bigint | number;
}

/** XXH3-64 of bytes that arrive in pieces; `digest` may be asked at any point and does not end the stream. */
export interface HashStream {
  /** Bytes seen so far. */
  readonly length: number;
  reset(): this;
  update(bytes: Uint8Array): this;
  /** Hash of everything so far: the low word, then the high one. */
  digestInto(out: Uint32Array): void;
  digest(): bigint;
}

/**
 * Hashing as `@iggy/protocol` exports it. It tells what is wrong with bytes and how; an addon only finds out faster that
 * nothing is.
 */
export interface PortableHashing {
  xxh3_64(bytes: Uint8Array, offset?: number, length?: number): bigint;
  xxh3_64Into(out: Uint32Array, bytes: Uint8Array, offset: number, length: number): void;
  verifyBatch(bytes: Uint8Array, offset?: number, available?: number): number;
  stampBatch(bytes: Uint8Array, offset: number, stamp: BatchStamp): void;
  readonly Xxh3Stream: new () => HashStream;
}

/** Hashing of one process. Results and errors are those of `@iggy/protocol`, whoever computes them. */
export interface Hasher {
  /** What computes: `javascript` or `wasm-simd` of the protocol package, or the instruction set of the addon. */
  readonly name: string;
  /** XXH3-64 (seed 0, default secret) of a range of `bytes`. */
  xxh3_64(bytes: Uint8Array, offset?: number, length?: number): bigint;
  /** The same as two unsigned words, low and high, without a bigint. */
  xxh3_64Into(out: Uint32Array, bytes: Uint8Array, offset: number, length: number): void;
  createStream(): HashStream;
  /**
   * Checks layout and every checksum of the batch at `offset` and returns its length; `available` bounds it. Throws the
   * protocol's WireError for what is wrong.
   */
  verifyBatch(bytes: Uint8Array, offset?: number, available?: number): number;
  /** Stamps the batch at `offset` in place and recomputes its checksum; frame checksums are taken as they are. */
  stampBatch(bytes: Uint8Array, offset: number, stamp: BatchStamp): void;
  /** `verifyBatch`, then `stampBatch`, with one pass over the bytes where it can be. Returns the length. */
  verifyAndStampBatch(bytes: Uint8Array, offset: number, stamp: BatchStamp, available?: number): number;
}
