import type { BatchStamp, Hasher, HashStream, PortableHashing } from "./hasher.js";
import { FAULT, type NativeHash, type Outcome, OUTCOME_SIZE } from "./native-hash.js";
import { NativeHashStream } from "./native-stream.js";

const MAX_U64 = (1n << 64n) - 1n;

/**
 * Hashing by the addon. Whatever it finds fault with is looked at again by the portable functions: they hold the wording
 * of errors and their codes, and a refusal need not be fast.
 */
export function nativeHasher(native: NativeHash, portable: PortableHashing): Hasher {
  return new NativeHasher(native, portable);
}

class NativeHasher implements Hasher {
  readonly name: string;
  readonly #native: NativeHash;
  readonly #portable: PortableHashing;
  readonly #outcome: Outcome = new Float64Array(OUTCOME_SIZE);

  constructor(native: NativeHash, portable: PortableHashing) {
    this.#native = native;
    this.#portable = portable;
    this.name = native.hashKernels[0] ?? "native";
  }

  xxh3_64(bytes: Uint8Array, offset = 0, length = bytes.length - offset): bigint {
    return isRange(bytes, offset, length)
      ? this.#native.xxh3(bytes, offset, length)
      : this.#portable.xxh3_64(bytes, offset, length);
  }

  xxh3_64Into(out: Uint32Array, bytes: Uint8Array, offset: number, length: number): void {
    if (isRange(bytes, offset, length)) this.#native.xxh3Into(out, bytes, offset, length);
    else this.#portable.xxh3_64Into(out, bytes, offset, length);
  }

  createStream(): HashStream {
    return new NativeHashStream(this.#native);
  }

  verifyBatch(bytes: Uint8Array, offset = 0, available = bytes.length - offset): number {
    const usable = Math.min(available, bytes.length - offset);
    if (!isRange(bytes, offset, usable)) return this.#portable.verifyBatch(bytes, offset, available);
    const fault = this.#native.verifyBatch(bytes, offset, usable, this.#outcome);
    if (fault === FAULT.none) return this.#length;
    this.#portable.verifyBatch(bytes, offset, available);
    throw this.#changed();
  }

  stampBatch(bytes: Uint8Array, offset: number, stamp: BatchStamp): void {
    const { partitionId, baseOffset, baseTimestamp } = stamp;
    const usable = bytes.length - offset;
    if (!isRange(bytes, offset, usable) || !isStamp(stamp)) {
      this.#portable.stampBatch(bytes, offset, stamp);
      return;
    }
    const fault = this.#native.stampBatch(bytes, offset, usable, partitionId, baseOffset, baseTimestamp, this.#outcome);
    if (fault === FAULT.none) return;
    this.#portable.stampBatch(bytes, offset, stamp);
    throw this.#changed();
  }

  verifyAndStampBatch(bytes: Uint8Array, offset: number, stamp: BatchStamp, available = bytes.length - offset): number {
    const { partitionId, baseOffset, baseTimestamp } = stamp;
    const usable = Math.min(available, bytes.length - offset);
    if (isRange(bytes, offset, usable) && isStamp(stamp)) {
      const fault = this.#native.verifyAndStampBatch(
        bytes,
        offset,
        usable,
        partitionId,
        baseOffset,
        baseTimestamp,
        this.#outcome,
      );
      if (fault === FAULT.none) return this.#length;
    }
    const length = this.#portable.verifyBatch(bytes, offset, available);
    this.#portable.stampBatch(bytes, offset, stamp);
    return length;
  }

  get #length(): number {
    return this.#outcome[1] ?? 0;
  }

  /** Another thread writes into this memory, or the two implementations differ: neither may pass for a sound batch. */
  #changed(): Error {
    return new Error(
      `a batch was found at fault at byte ${String(this.#outcome[0])}, and sound when it was looked at again`,
    );
  }
}

const isRange = (bytes: Uint8Array, offset: number, length: number): boolean =>
  Number.isInteger(offset) && Number.isInteger(length) && offset >= 0 && length >= 0 && offset + length <= bytes.length;

const isStamp = ({ partitionId, baseOffset, baseTimestamp }: BatchStamp): boolean =>
  isU64(partitionId) && isU64(baseOffset) && isU64(baseTimestamp);

const isU64 = (value: bigint | number): boolean =>
  typeof value === "number" ? Number.isSafeInteger(value) && value >= 0 : value >= 0n && value <= MAX_U64;
