import { viewOf } from "./integers.js";
import { decodeUtf8 } from "./text.js";
import { WireError } from "./wire-error.js";

/**
 * Reads little-endian values from a byte range. Every read checks the bound first, so no read leaves the input;
 * `bytes` and `rest` return views into it, not copies.
 */
export class Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  offset: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length, view = viewOf(bytes)) {
    this.bytes = bytes;
    this.view = view;
    this.offset = start;
    this.end = end;
  }

  /** A reader of the next `length` bytes alone. Offsets in its errors still count from the start of the whole input. */
  nested(length: number): Reader {
    const start = this.advance(length);
    return new Reader(this.bytes, start, this.offset, this.view);
  }

  get remaining(): number {
    return this.end - this.offset;
  }

  /** Reserves `length` bytes and returns where they start. */
  advance(length: number): number {
    const at = this.offset;
    if (length > this.end - at) {
      throw new WireError("UnexpectedEof", `need ${String(length)} bytes, have ${String(this.end - at)}`, at);
    }
    this.offset = at + length;
    return at;
  }

  u8(): number {
    return this.view.getUint8(this.advance(1));
  }

  u16(): number {
    return this.view.getUint16(this.advance(2), true);
  }

  u32(): number {
    return this.view.getUint32(this.advance(4), true);
  }

  u64(): bigint {
    return this.view.getBigUint64(this.advance(8), true);
  }

  u128(): bigint {
    const at = this.advance(16);
    return this.view.getBigUint64(at, true) | (this.view.getBigUint64(at + 8, true) << 64n);
  }

  f32(): number {
    return this.view.getFloat32(this.advance(4), true);
  }

  take(length: number): Uint8Array {
    const at = this.advance(length);
    return this.bytes.subarray(at, at + length);
  }

  rest(): Uint8Array {
    return this.take(this.remaining);
  }

  text(length: number): string {
    const at = this.offset;
    const text = decodeUtf8(this.take(length));
    if (text === undefined) throw new WireError("InvalidUtf8", "text is not valid UTF-8", at);
    return text;
  }
}
