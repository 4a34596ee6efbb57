import { decodeUtf8, encodeUtf8 } from "../codec/index.js";
import { HeaderKind, type HeaderKindName, headerKindSize, nameOf } from "../enums/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import type { OptionEntry } from "./option-block.js";

/** A typed option value. Integers of 64 bits and more are bigints. */
export type OptionValue =
  | { readonly kind: "raw"; readonly value: Uint8Array }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "int8" | "int16" | "int32" | "uint8" | "uint16" | "uint32"; readonly value: number }
  | { readonly kind: "int64" | "int128" | "uint64" | "uint128"; readonly value: bigint }
  | { readonly kind: "float32" | "float64"; readonly value: number };

export const optionRaw = (key: string, value: Uint8Array): OptionEntry => ({ key, kind: HeaderKind.raw, value });

export const optionString = (key: string, text: string): OptionEntry => ({
  key,
  kind: HeaderKind.string,
  value: encodeUtf8(text),
});

export const optionBool = (key: string, value: boolean): OptionEntry => ({
  key,
  kind: HeaderKind.bool,
  value: Uint8Array.of(value ? 1 : 0),
});

export const optionU8 = (key: string, value: number): OptionEntry => ({
  key,
  kind: HeaderKind.uint8,
  value: Uint8Array.of(value),
});

export function optionU32(key: string, value: number): OptionEntry {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return { key, kind: HeaderKind.uint32, value: bytes };
}

export function optionU64(key: string, value: bigint): OptionEntry {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return { key, kind: HeaderKind.uint64, value: bytes };
}

/**
 * The typed value of an entry; undefined for a kind that this release does not know, which a reader skips. A known kind
 * of a wrong size, or text that is no UTF-8, is `InvalidHeaderValue` (4019).
 */
export function readOptionValue(entry: OptionEntry): OptionValue | undefined {
  const kind = nameOf<HeaderKindName>(HeaderKind, entry.kind);
  return kind === undefined ? undefined : readValue(kind, entry.value, entry.key);
}

function readValue(kind: HeaderKindName, value: Uint8Array, key: string): OptionValue {
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  if (kind !== "raw" && kind !== "string" && value.length !== headerKindSize[kind]) throw invalidValue(kind, key);
  switch (kind) {
    case "raw":
      return { kind, value };
    case "string": {
      const text = decodeUtf8(value);
      if (text === undefined) throw invalidValue(kind, key);
      return { kind, value: text };
    }
    case "bool": {
      const byte = view.getUint8(0);
      if (byte > 1) throw invalidValue(kind, key);
      return { kind, value: byte === 1 };
    }
    case "int8":
      return { kind, value: view.getInt8(0) };
    case "int16":
      return { kind, value: view.getInt16(0, true) };
    case "int32":
      return { kind, value: view.getInt32(0, true) };
    case "int64":
      return { kind, value: view.getBigInt64(0, true) };
    case "int128":
      return { kind, value: (view.getBigInt64(8, true) << 64n) | view.getBigUint64(0, true) };
    case "uint8":
      return { kind, value: view.getUint8(0) };
    case "uint16":
      return { kind, value: view.getUint16(0, true) };
    case "uint32":
      return { kind, value: view.getUint32(0, true) };
    case "uint64":
      return { kind, value: view.getBigUint64(0, true) };
    case "uint128":
      return { kind, value: (view.getBigUint64(8, true) << 64n) | view.getBigUint64(0, true) };
    case "float32":
      return { kind, value: view.getFloat32(0, true) };
    case "float64":
      return { kind, value: view.getFloat64(0, true) };
  }
}

const invalidValue = (kind: HeaderKindName, key: string): IggyError =>
  new IggyError(ErrorCode.InvalidHeaderValue, `the ${kind} value of ${key.slice(0, 64)} has a wrong form`);
