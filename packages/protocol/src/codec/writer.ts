import { utf8Length, writeUtf8 } from "./text.js";
import { WireError } from "./wire-error.js";

/** Writes little-endian values into a buffer whose size was computed before. Integers out of range are refused. */
export class Writer {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  offset: number;

  constructor(bytes: Uint8Array, start = 0) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.offset = start;
  }

  private advance(length: number): number {
    const at = this.offset;
    this.offset = at + length;
    return at;
  }

  u8(value: number): void {
    this.view.setUint8(this.advance(1), unsigned(value, 0xff));
  }

  u16(value: number): void {
    this.view.setUint16(this.advance(2), unsigned(value, 0xffff), true);
  }

  u32(value: number): void {
    this.view.setUint32(this.advance(4), unsigned(value, 0xffffffff), true);
  }

  u64(value: bigint): void {
    this.view.setBigUint64(this.advance(8), unsignedBig(value, 64n), true);
  }

  u128(value: bigint): void {
    const checked = unsignedBig(value, 128n);
    const at = this.advance(16);
    this.view.setBigUint64(at, checked & 0xffff_ffff_ffff_ffffn, true);
    this.view.setBigUint64(at + 8, checked >> 64n, true);
  }

  f32(value: number): void {
    this.view.setFloat32(this.advance(4), value, true);
  }

  take(value: Uint8Array): void {
    this.bytes.set(value, this.advance(value.length));
  }

  text(value: string): void {
    const at = this.offset;
    this.offset += writeUtf8(value, this.bytes.subarray(at, at + utf8Length(value)));
  }
}

function unsigned(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new WireError("Validation", `${String(value)} is not an integer from 0 to ${String(max)}`);
  }
  return value;
}

function unsignedBig(value: bigint, bits: bigint): bigint {
  if (value < 0n || value >> bits !== 0n) {
    throw new WireError("Validation", `${String(value)} does not fit ${String(bits)} unsigned bits`);
  }
  return value;
}
