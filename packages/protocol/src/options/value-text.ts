import { encodeUtf8 } from "../codec/index.js";
import { HeaderKind, type HeaderKindName } from "../enums/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import type { OptionEntry } from "../primitives/option-block.js";
import { type OptionValue, readOptionValue } from "../primitives/option-value.js";
import { decodeBase64, encodeBase64 } from "../text/index.js";

// Text of a value as JSON shows it, reversible by its kind: strings as they are, `true` and `false`, base-10 integers,
// raw bytes in base64, floats as `0x` and their IEEE-754 bits, which keeps every bit of a NaN.
function textOf(entry: OptionEntry, value: OptionValue): string {
  switch (value.kind) {
    case "raw":
      return encodeBase64(value.value);
    case "float32":
    case "float64":
      return `0x${Array.from(entry.value, (byte) => byte.toString(16).padStart(2, "0"))
        .reverse()
        .join("")}`;
    default:
      return String(value.value);
  }
}

const integers: Partial<Readonly<Record<HeaderKindName, { readonly bytes: number; readonly signed: boolean }>>> = {
  int8: { bytes: 1, signed: true },
  int16: { bytes: 2, signed: true },
  int32: { bytes: 4, signed: true },
  int64: { bytes: 8, signed: true },
  int128: { bytes: 16, signed: true },
  uint8: { bytes: 1, signed: false },
  uint16: { bytes: 2, signed: false },
  uint32: { bytes: 4, signed: false },
  uint64: { bytes: 8, signed: false },
  uint128: { bytes: 16, signed: false },
};

/**
 * The entry of a text of `optionText`. Text of another form than that function writes is `InvalidHeaderValue`
 * (4019): a sign or zero in front, other padding, upper-case digits.
 */
export function optionFromText(key: string, kind: HeaderKindName, text: string): OptionEntry {
  const value = bytesOfText(kind, text);
  const entry = value === undefined ? undefined : { key, kind: HeaderKind[kind], value };
  const read = entry === undefined ? undefined : readOptionValue(entry);
  if (entry === undefined || read === undefined || textOf(entry, read) !== text) {
    throw new IggyError(ErrorCode.InvalidHeaderValue, `the text of ${key.slice(0, 64)} is no ${kind}`);
  }
  return entry;
}

function bytesOfText(kind: HeaderKindName, text: string): Uint8Array | undefined {
  switch (kind) {
    case "raw":
      return decodeBase64(text);
    case "string":
      return encodeUtf8(text);
    case "bool":
      return Uint8Array.of(text === "true" ? 1 : 0);
    case "float32":
      return hexBytes(text, 4);
    case "float64":
      return hexBytes(text, 8);
    default: {
      const { bytes = 0, signed = false } = integers[kind] ?? {};
      return /^-?[0-9]{1,39}$/.test(text) ? integerBytes(BigInt(text), bytes, signed) : undefined;
    }
  }
}

/** Bytes of `0x` and big-endian digits, in wire order. */
function hexBytes(text: string, length: number): Uint8Array | undefined {
  if (!/^0x[0-9a-f]+$/.test(text) || text.length !== 2 + 2 * length) return undefined;
  return integerBytes(BigInt(text), length, false);
}

function integerBytes(value: bigint, length: number, signed: boolean): Uint8Array | undefined {
  const bits = 8 * length;
  if ((signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)) !== value) return undefined;
  let rest = BigInt.asUintN(bits, value);
  return Uint8Array.from({ length }, () => {
    const byte = Number(rest & 0xffn);
    rest >>= 8n;
    return byte;
  });
}

/** The reversible text of a stored entry; undefined for a kind or a form that this release does not read. */
export function optionText(entry: OptionEntry): string | undefined {
  try {
    const value = readOptionValue(entry);
    return value === undefined ? undefined : textOf(entry, value);
  } catch (error) {
    if (error instanceof IggyError) return undefined;
    throw error;
  }
}
