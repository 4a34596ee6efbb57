import { BufferView } from "../codec/buffer-view.js";
import { getU128, isZero } from "../codec/integers.js";
import { FrameError } from "./frame-error.js";
import { HEADER_SIZE } from "./size.js";

/**
 * Fields that every header has.
 *
 *     0 checksum u128        48 size u32       60 command u8
 *    16 checksum_body u128   52 view u32       61 replica u8
 *    32 cluster u128         56 release u32    62 66 zero bytes
 *
 * `at` moves a view to another header; see BufferView for what that costs.
 */
export abstract class HeaderView extends BufferView {
  at(bytes: Uint8Array, offset = 0): this {
    if (!(offset >= 0 && offset + HEADER_SIZE <= bytes.length)) {
      throw new FrameError("InvalidSize", `no header of ${String(HEADER_SIZE)} bytes at ${String(offset)}`);
    }
    this.moveTo(bytes, offset);
    return this;
  }

  get checksum(): bigint {
    return getU128(this.data, this.start);
  }
  get checksumBody(): bigint {
    return getU128(this.data, this.start + 16);
  }
  get cluster(): bigint {
    return getU128(this.data, this.start + 32);
  }
  /** Bytes of the whole frame, header included. */
  get size(): number {
    return this.data.getUint32(this.start + 48, true);
  }
  get bodyLength(): number {
    return this.size - HEADER_SIZE;
  }
  get view(): number {
    return this.data.getUint32(this.start + 52, true);
  }
  get release(): number {
    return this.data.getUint32(this.start + 56, true);
  }
  get command(): number {
    return this.data.getUint8(this.start + 60);
  }
  get replica(): number {
    return this.data.getUint8(this.start + 61);
  }

  /** Whether `length` header bytes from `at` on are zero. */
  isZeroAt(at: number, length: number): boolean {
    return isZero(this.data, this.start + at, length);
  }

  /** Copies header bytes into another header, word by word; `length` is a multiple of 4. */
  copyField(at: number, to: DataView, toAt: number, length: number): void {
    const from = this.start + at;
    for (let i = 0; i < length; i += 4) to.setUint32(toAt + i, this.data.getUint32(from + i, true), true);
  }
}
