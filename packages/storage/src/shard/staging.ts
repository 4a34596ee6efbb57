import { viewOf } from "../bytes.js";
import type { Checksums } from "./checksums.js";

const BYTES_MIN = 4096;
/** A larger buffer, which one large group needed, is given back. */
const BYTES_KEPT = 1024 * 1024;
const NOTHING = new Uint8Array(0);

/** A growing buffer in which journal entries are put together before they are written in one go. */
export class Staging {
  bytes: Uint8Array = NOTHING;
  view: DataView = viewOf(NOTHING);
  length = 0;
  readonly checksums: Checksums;

  constructor(checksums: Checksums) {
    this.checksums = checksums;
  }

  get written(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** Makes room behind what is there; gives where it begins. */
  reserve(bytes: number): number {
    const at = this.length;
    this.length += bytes;
    if (this.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.length, this.bytes.length * 2, BYTES_MIN));
      larger.set(this.bytes.subarray(0, at));
      this.use(larger);
    }
    return at;
  }

  clear(): void {
    this.length = 0;
    if (this.bytes.length > BYTES_KEPT) this.use(NOTHING);
  }

  private use(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }
}

/** Staging buffers of groups whose write takes a while: a few are kept, however many partitions there are. */
export class StagingPool {
  private readonly free: Staging[] = [];
  private readonly checksums: Checksums;

  constructor(checksums: Checksums) {
    this.checksums = checksums;
  }

  take(): Staging {
    return this.free.pop() ?? new Staging(this.checksums);
  }

  give(staging: Staging): void {
    staging.clear();
    if (this.free.length < KEPT_MAX) this.free.push(staging);
  }
}

const KEPT_MAX = 16;
