const TWO_32 = 0x1_0000_0000;
const LOW_64 = 0xffff_ffff_ffff_ffffn;

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A u64 as a number: exact below 2^53, above it rounded but never below 2^53. */
export function getU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * TWO_32;
}

/** Writes an integer that is known to lie in 0 .. 2^53 - 1. */
export function setU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / TWO_32), true);
}

export function getU128(view: DataView, at: number): bigint {
  return view.getBigUint64(at, true) | (view.getBigUint64(at + 8, true) << 64n);
}

export function setU128(view: DataView, at: number, value: bigint): void {
  view.setBigUint64(at, value & LOW_64, true);
  view.setBigUint64(at + 8, value >> 64n, true);
}
