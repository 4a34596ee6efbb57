const LOW_64 = 0xffff_ffff_ffff_ffffn;

/** Writes the fields of one record, back to back, into memory that is large enough for them. */
export class RecordWriter {
  offset = 0;
  private bytes: Uint8Array;
  private view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  /** Starts over at a place of the memory. */
  at(offset: number): this {
    this.offset = offset;
    return this;
  }

  u8(value: number): void {
    this.view.setUint8(this.offset, value);
    this.offset += 1;
  }

  u16(value: number): void {
    this.view.setUint16(this.offset, value, true);
    this.offset += 2;
  }

  u32(value: number): void {
    this.view.setUint32(this.offset, value, true);
    this.offset += 4;
  }

  flag(value: boolean): void {
    this.u8(value ? 1 : 0);
  }

  /** Also for numbers that may be large: it holds every one exactly as it is. */
  f64(value: number): void {
    this.view.setFloat64(this.offset, value, true);
    this.offset += 8;
  }

  u64(value: bigint): void {
    this.view.setBigUint64(this.offset, value, true);
    this.offset += 8;
  }

  u128(value: bigint): void {
    this.view.setBigUint64(this.offset, value & LOW_64, true);
    this.view.setBigUint64(this.offset + 8, value >> 64n, true);
    this.offset += 16;
  }

  /** The bytes alone; the reader has to know how many they are. */
  raw(value: Uint8Array): void {
    this.bytes.set(value, this.offset);
    this.offset += value.length;
  }
}

/** Reads the fields of one record in the order in which they were written. */
export class RecordReader {
  offset = 0;
  private readonly bytes: Uint8Array;
  private readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = viewOf(bytes);
  }

  at(offset: number): this {
    this.offset = offset;
    return this;
  }

  u8(): number {
    const value = this.view.getUint8(this.offset);
    this.offset += 1;
    return value;
  }

  u16(): number {
    const value = this.view.getUint16(this.offset, true);
    this.offset += 2;
    return value;
  }

  u32(): number {
    const value = this.view.getUint32(this.offset, true);
    this.offset += 4;
    return value;
  }

  flag(): boolean {
    return this.u8() !== 0;
  }

  f64(): number {
    const value = this.view.getFloat64(this.offset, true);
    this.offset += 8;
    return value;
  }

  u64(): bigint {
    const value = this.view.getBigUint64(this.offset, true);
    this.offset += 8;
    return value;
  }

  u128(): bigint {
    const low = this.view.getBigUint64(this.offset, true);
    const high = this.view.getBigUint64(this.offset + 8, true);
    this.offset += 16;
    return high === 0n ? low : (high << 64n) | low;
  }

  /** A copy of the next bytes: the memory of a record is written again soon after it was read. */
  raw(length: number): Uint8Array {
    const copy = ownBytes(length);
    copy.set(this.bytes.subarray(this.offset, this.offset + length));
    this.offset += length;
    return copy;
  }
}

/** Memory of exactly so many bytes that nobody else uses; its content is whatever it was. */
export const ownBytes = (length: number): Uint8Array => Buffer.allocUnsafeSlow(length);

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
