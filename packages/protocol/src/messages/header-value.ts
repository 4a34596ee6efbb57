import { encodeUtf8 } from "../codec/text.js";
import { HeaderKind, type HeaderKindName, headerKindSize } from "../enums/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import { type OptionValue, readOptionValue } from "../primitives/option-value.js";

/** A typed key or value of a user header. Integers of 64 bits and more are bigints. */
export type HeaderValue = OptionValue;

/** What a header is made from: text, booleans and bytes stand for themselves, numbers name their type. */
export type HeaderInput = string | boolean | Uint8Array | HeaderValue;

type NumberKind = "int8" | "int16" | "int32" | "uint8" | "uint16" | "uint32" | "float32" | "float64";
type BigKind = "int64" | "int128" | "uint64" | "uint128";

/** Numbers with their types: `{ attempt: header.uint32(2) }`. A value outside the type is refused when encoded (4019). */
export const header = {
  int8: (value: number): HeaderValue => ({ kind: "int8", value }),
  int16: (value: number): HeaderValue => ({ kind: "int16", value }),
  int32: (value: number): HeaderValue => ({ kind: "int32", value }),
  int64: (value: bigint): HeaderValue => ({ kind: "int64", value }),
  int128: (value: bigint): HeaderValue => ({ kind: "int128", value }),
  uint8: (value: number): HeaderValue => ({ kind: "uint8", value }),
  uint16: (value: number): HeaderValue => ({ kind: "uint16", value }),
  uint32: (value: number): HeaderValue => ({ kind: "uint32", value }),
  uint64: (value: bigint): HeaderValue => ({ kind: "uint64", value }),
  uint128: (value: bigint): HeaderValue => ({ kind: "uint128", value }),
  float32: (value: number): HeaderValue => ({ kind: "float32", value }),
  float64: (value: number): HeaderValue => ({ kind: "float64", value }),
} as const;

/** A key or value as it travels. */
export interface HeaderField {
  /** 1 to 15 for the known kinds; others are carried as they are. */
  readonly kind: number;
  /** 1 to 255 bytes. */
  readonly bytes: Uint8Array;
}

export const MAX_HEADER_FIELD_SIZE = 255;

export function typed(input: HeaderInput): HeaderValue {
  if (typeof input === "string") return { kind: "string", value: input };
  if (typeof input === "boolean") return { kind: "bool", value: input };
  return input instanceof Uint8Array ? { kind: "raw", value: input } : input;
}

/** Bytes of a key or value; `InvalidHeaderKey` (4018) or `InvalidHeaderValue` (4019) for one that its kind can't hold. */
export function fieldOf(input: HeaderInput, code: number): HeaderField {
  const value = typed(input);
  const bytes = valueBytes(value);
  if (bytes === undefined) throw new IggyError(code, `${String(value.value)} is no ${value.kind}`);
  if (bytes.length === 0 || bytes.length > MAX_HEADER_FIELD_SIZE) {
    throw new IggyError(code, `a header field takes 1 to 255 bytes, got ${String(bytes.length)}`);
  }
  return { kind: HeaderKind[value.kind], bytes };
}

/** The typed form of a field: `InvalidHeaderKind` (4040) for an unknown kind, else `code` when the bytes do not fit. */
export function valueOf(field: HeaderField, code: number = ErrorCode.InvalidHeaderValue): HeaderValue {
  const value = readField(field, code);
  if (value === undefined) {
    throw new IggyError(ErrorCode.InvalidHeaderKind, `${String(field.kind)} is no header kind`);
  }
  return value;
}

function readField(field: HeaderField, code: number): HeaderValue | undefined {
  try {
    return readOptionValue({ key: "a user header", kind: field.kind, value: field.bytes });
  } catch (error) {
    throw error instanceof IggyError && error.code !== code ? new IggyError(code, error.message) : error;
  }
}

function valueBytes(value: HeaderValue): Uint8Array | undefined {
  switch (value.kind) {
    case "raw":
      return value.value;
    case "string":
      return encodeUtf8(value.value);
    case "bool":
      return Uint8Array.of(value.value ? 1 : 0);
    case "int64":
    case "int128":
    case "uint64":
    case "uint128":
      return bigBytes(value.kind, value.value);
    case "int8":
    case "int16":
    case "int32":
    case "uint8":
    case "uint16":
    case "uint32":
    case "float32":
    case "float64":
      return numberBytes(value.kind, value.value);
  }
}

function bigBytes(kind: BigKind, value: bigint): Uint8Array | undefined {
  const size = headerKindSize[kind];
  const bits = BigInt(8 * size);
  const [least, end] = isSigned(kind) ? [-1n << (bits - 1n), 1n << (bits - 1n)] : [0n, 1n << bits];
  if (value < least || value >= end) return undefined;
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt.asUintN(64, value), true);
  if (size === 16) view.setBigUint64(8, BigInt.asUintN(64, value >> 64n), true);
  return bytes;
}

function numberBytes(kind: NumberKind, value: number): Uint8Array | undefined {
  const size = headerKindSize[kind];
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  if (kind === "float32") view.setFloat32(0, value, true);
  else if (kind === "float64") view.setFloat64(0, value, true);
  else {
    const bits = 8 * size;
    const [least, end] = isSigned(kind) ? [-(2 ** (bits - 1)), 2 ** (bits - 1)] : [0, 2 ** bits];
    if (!Number.isInteger(value) || value < least || value >= end) return undefined;
    for (let i = 0; i < size; i++) bytes[i] = value >> (8 * i);
  }
  return bytes;
}

const isSigned = (kind: HeaderKindName): boolean => kind.startsWith("int");
