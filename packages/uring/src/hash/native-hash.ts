/** Where a native call leaves what it found: position, batch length and message index; see `FAULT`. */
export type Outcome = Float64Array;
export const OUTCOME_SIZE = 3;

/** What the native calls on batches return. */
export const FAULT = {
  none: 0,
  /** The batch is longer than the bytes that are there. */
  cut: 1,
  layout: 2,
  messageChecksum: 3,
  batchChecksum: 4,
} as const;

type Seed = bigint | number;

/**
 * The hashing functions of the addon. `offset` and `length` are a range of `bytes`; what is no such range, or of another
 * type, throws a RangeError or a TypeError before anything is read.
 */
export interface NativeHash {
  /** Instruction sets that this processor runs, the one in use first. */
  readonly hashKernels: readonly string[];
  xxh3(bytes: Uint8Array, offset: number, length: number, seed?: Seed): bigint;
  /** `out` gets the low and the high word. */
  xxh3Into(out: Uint32Array, bytes: Uint8Array, offset: number, length: number, seed?: Seed): void;
  xxh3By(kernel: string, bytes: Uint8Array, offset: number, length: number, seed?: Seed): bigint;

  /** Bytes of the state of a stream, which starts at an address divisible by 8. */
  readonly xxh3StreamSize: number;
  xxh3StreamStart(state: Uint8Array, seed?: Seed): void;
  xxh3StreamUpdate(state: Uint8Array, bytes: Uint8Array): void;
  xxh3StreamDigest(state: Uint8Array, out: Uint32Array): void;

  /** A `FAULT`; `outcome` has its position in `bytes`, the length of the batch and the index of the message. */
  verifyBatch(bytes: Uint8Array, offset: number, length: number, outcome: Outcome): number;
  /** The same. Nothing is written when there is a fault. */
  stampBatch(
    bytes: Uint8Array,
    offset: number,
    length: number,
    partitionId: bigint | number,
    baseOffset: bigint | number,
    baseTimestamp: bigint | number,
    outcome: Outcome,
  ): number;
  verifyAndStampBatch: NativeHash["stampBatch"];
  /** Computes and stores every checksum of a batch whose layout is sound. */
  sealBatch(bytes: Uint8Array, offset: number, length: number, outcome: Outcome): number;
}

const FUNCTIONS = [
  ...["xxh3", "xxh3Into", "xxh3By", "xxh3StreamStart", "xxh3StreamUpdate", "xxh3StreamDigest"],
  ...["verifyBatch", "stampBatch", "verifyAndStampBatch", "sealBatch"],
];

/** Whether an addon has these functions; an older build may lack some. */
export function isNativeHash(addon: object): addon is NativeHash {
  const exports: Partial<Record<string, unknown>> = { ...addon };
  return (
    FUNCTIONS.every((name) => typeof exports[name] === "function") &&
    Array.isArray(exports["hashKernels"]) &&
    typeof exports["xxh3StreamSize"] === "number"
  );
}
