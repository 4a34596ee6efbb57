import { encodeUtf8 } from "@iggy/protocol";

/** A 64-bit value as a caller may write it: a `bigint`, or a `number` that holds it exactly. */
export type U64Like = bigint | number;
/** Bytes as a caller may write them; text is UTF-8. */
export type BytesLike = Uint8Array | string;

const maxU32 = 0xffff_ffff;
const maxU64 = 0xffff_ffff_ffff_ffffn;
const maxU128 = (1n << 128n) - 1n;

/** An integer from `min` to `max`, both included. */
export function integer(argument: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number") throw wrongType(argument, "a number", value);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new RangeError(`${argument} takes an integer from ${String(min)} to ${String(max)}, got ${String(value)}`);
  }
  return value;
}

export const u32 = (argument: string, value: unknown): number => integer(argument, value, 0, maxU32);

export const u64 = (argument: string, value: unknown): bigint => unsigned(argument, value, maxU64);

export const u128 = (argument: string, value: unknown): bigint => unsigned(argument, value, maxU128);

function unsigned(argument: string, value: unknown, max: bigint): bigint {
  if (typeof value === "bigint") {
    if (value < 0n || value > max) {
      throw new RangeError(`${argument} takes 0 to ${String(max)}, got ${String(value)}`);
    }
    return value;
  }
  if (typeof value !== "number") throw wrongType(argument, "a bigint or a number", value);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(
      `${argument} takes a non-negative integer; ${String(value)} is none that a number holds exactly, use a bigint`,
    );
  }
  return BigInt(value);
}

export function bytes(argument: string, value: unknown): Uint8Array {
  if (typeof value === "string") return encodeUtf8(value);
  if (value instanceof Uint8Array) return value;
  throw wrongType(argument, "a Uint8Array or a string", value);
}

export function text(argument: string, value: unknown): string {
  if (typeof value !== "string") throw wrongType(argument, "a string", value);
  return value;
}

/** The error for a value of a wrong JavaScript type. The value itself stays out: it may be a secret. */
export function wrongType(argument: string, wanted: string, value: unknown): TypeError {
  const got = value === null ? "null" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
  return new TypeError(`${argument} takes ${wanted}, got ${got}`);
}
