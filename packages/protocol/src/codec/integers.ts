import { WireError } from "./wire-error.js";

/**
 * Wide little-endian integers over a DataView, for the hot layouts.
 *
 * A u64 is read as a number: exact below 2^53; a larger value comes out rounded, but never below 2^53, so comparing it
 * with a value that is known to be smaller never matches by accident.
 */
const TWO_32 = 0x1_0000_0000;
const LOW_64 = 0xffff_ffff_ffff_ffffn;
const MAX_128 = (1n << 128n) - 1n;

export function getU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * TWO_32;
}

/** Writes an integer from 0 to 2^53 - 1 without checking it. */
export function setU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, (value / TWO_32) >>> 0, true);
}

/** Writes a u64 in either form; `what` names it in the refusal of a value that does not fit. */
export function putU64(view: DataView, at: number, value: bigint | number, what: string): void {
  if (typeof value === "number") {
    if (!(Number.isSafeInteger(value) && value >= 0)) throw misfit(what, value, "an exact unsigned integer");
    setU64(view, at, value);
  } else {
    if (value < 0n || value > LOW_64) throw misfit(what, value, "a u64");
    view.setBigUint64(at, value, true);
  }
}

export function getU128(view: DataView, at: number): bigint {
  const low = view.getBigUint64(at, true);
  const high = view.getBigUint64(at + 8, true);
  return high === 0n ? low : low | (high << 64n);
}

export function putU128(view: DataView, at: number, value: bigint, what: string): void {
  if (value < 0n || value > MAX_128) throw misfit(what, value, "a u128");
  view.setBigUint64(at, value & LOW_64, true);
  view.setBigUint64(at + 8, value >> 64n, true);
}

export function putU32(view: DataView, at: number, value: number, what: string): void {
  if (!(Number.isInteger(value) && value >= 0 && value < TWO_32)) throw misfit(what, value, "a u32");
  view.setUint32(at, value, true);
}

export function putU8(view: DataView, at: number, value: number, what: string): void {
  if (!(Number.isInteger(value) && value >= 0 && value < 0x100)) throw misfit(what, value, "a u8");
  view.setUint8(at, value);
}

function misfit(what: string, value: bigint | number, type: string): WireError {
  return new WireError("Validation", `${what} must be ${type}, got ${String(value)}`);
}

/** Whether `length` bytes are all zero. */
export function isZero(view: DataView, at: number, length: number): boolean {
  let seen = 0;
  let i = 0;
  for (; i + 4 <= length; i += 4) seen |= view.getUint32(at + i, true);
  for (; i < length; i++) seen |= view.getUint8(at + i);
  return seen === 0;
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
