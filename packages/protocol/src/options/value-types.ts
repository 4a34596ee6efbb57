import { decodeUtf8, utf8Length } from "../codec/index.js";
import {
  CompressionAlgorithm,
  HeaderKind,
  type HeaderKindName,
  nameOf,
  textLimits,
  UserStatus,
} from "../enums/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import type { OptionEntry } from "../primitives/index.js";
import { optionBool, optionRaw, optionString, optionU32, optionU64 } from "../primitives/option-value.js";
import { decodeBase64, parseByteSize, parseExpiry, parseTopicSize, parseU64 } from "../text/index.js";
import { invalidValue, OptionError } from "./option-error.js";

/**
 * What a key takes: its canonical kind, and how a value becomes canonical. A client may send the canonical kind or a
 * string in the form that configuration files use. `null` is a value that sets nothing and leaves the default.
 */
export interface ValueType {
  readonly kind: HeaderKindName;
  canonical(entry: OptionEntry): OptionEntry | null;
}

const textOf = (entry: OptionEntry): string | undefined =>
  entry.kind === HeaderKind.string ? decodeUtf8(entry.value) : undefined;

const isKind = (entry: OptionEntry, kind: HeaderKindName, size: number): boolean =>
  entry.kind === HeaderKind[kind] && entry.value.length === size;

const viewOf = ({ value }: OptionEntry): DataView => new DataView(value.buffer, value.byteOffset, value.byteLength);

/** One of several words, in any case; kept in lower case. */
export function choice(...words: readonly string[]): ValueType {
  return {
    kind: "string",
    canonical: (entry) => {
      const word = textOf(entry)?.toLowerCase();
      if (word === undefined || !words.includes(word)) throw invalidValue(entry.key, `takes ${words.join(" or ")}`);
      return optionString(entry.key, word);
    },
  };
}

const algorithmWord = choice(...Object.keys(CompressionAlgorithm));

/** `none` or `gzip`, or its code as one byte. */
export const compression: ValueType = {
  kind: "string",
  canonical: (entry) => {
    if (!isKind(entry, "uint8", 1)) return algorithmWord.canonical(entry);
    const name = nameOf(CompressionAlgorithm, viewOf(entry).getUint8(0));
    if (name === undefined) throw invalidValue(entry.key, "takes none (1) or gzip (2)");
    return optionString(entry.key, name);
  },
};

/**
 * A u64 from its own kind, from digits, or from a text with a unit. Digits are read exactly first, so that clients
 * without 64-bit numbers can send them. 0 sets nothing.
 */
function quantity(what: string, parseText: (text: string) => bigint, max?: bigint): ValueType {
  const read = (entry: OptionEntry): bigint | undefined => {
    if (isKind(entry, "uint64", 8)) return viewOf(entry).getBigUint64(0, true);
    const text = textOf(entry);
    if (text === undefined) return undefined;
    return /^[0-9]+$/.test(text) ? parseU64(text) : parsedText(parseText, text);
  };
  return {
    kind: "uint64",
    canonical: (entry) => {
      const value = read(entry);
      if (value === undefined) throw invalidValue(entry.key, `takes ${what}`);
      if (max !== undefined && value > max) throw invalidValue(entry.key, `takes up to ${String(max)}`);
      return value === 0n ? null : optionU64(entry.key, value);
    },
  };
}

function parsedText(parse: (text: string) => bigint, text: string): bigint | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof IggyError) return undefined;
    throw error;
  }
}

export const expiry = quantity(
  "microseconds, or a duration such as 7 days, never_expire or server_default",
  parseExpiry,
);
export const topicSize = quantity("bytes, or a size such as 10 GiB, unlimited or server_default", parseTopicSize);
export const byteSize = (max?: bigint): ValueType => quantity("bytes, or a size such as 128 MiB", parseByteSize, max);

/** A u32 within bounds; a value outside them is refused with `outOfRange`. */
export function count(min: number, max: number, outOfRange: number = ErrorCode.InvalidOptionValue): ValueType {
  const read = (entry: OptionEntry): number | undefined => {
    if (isKind(entry, "uint32", 4)) return viewOf(entry).getUint32(0, true);
    const value = parseU64(textOf(entry) ?? "");
    return value === undefined || value > 0xffff_ffffn ? undefined : Number(value);
  };
  return {
    kind: "uint32",
    canonical: (entry) => {
      const value = read(entry);
      const range = `takes a number from ${String(min)} to ${String(max)}`;
      if (value === undefined) throw invalidValue(entry.key, range);
      if (value < min || value > max) throw new OptionError(outOfRange, entry.key, range);
      return optionU32(entry.key, value);
    },
  };
}

export const bool: ValueType = {
  kind: "bool",
  canonical: (entry) => {
    const text = textOf(entry);
    const byte = isKind(entry, "bool", 1) ? viewOf(entry).getUint8(0) : undefined;
    if (byte === 1 || text === "true") return optionBool(entry.key, true);
    if (byte === 0 || text === "false") return optionBool(entry.key, false);
    throw invalidValue(entry.key, "takes true or false");
  },
};

export const STREAM_KEY_BYTES = 32;

/** 32 bytes, or their canonical base64. Whatever is wrong with it is one error. */
export const streamKey: ValueType = {
  kind: "raw",
  canonical: (entry) => {
    const text = textOf(entry);
    const bytes = entry.kind === HeaderKind.raw ? entry.value : text === undefined ? undefined : decodeBase64(text);
    if (bytes?.length !== STREAM_KEY_BYTES) throw new OptionError(ErrorCode.InvalidEncryptionKey, entry.key);
    return optionRaw(entry.key, bytes);
  },
};

/** A text that a column of the resource holds; anything else is the column's own error. */
function columnText(error: number, admits: (text: string) => boolean): ValueType {
  return {
    kind: "string",
    canonical: (entry) => {
      const text = textOf(entry);
      if (text === undefined || !admits(text)) throw new OptionError(error, entry.key);
      return optionString(entry.key, text);
    },
  };
}

const within = (text: string, min: number, max: number): boolean => {
  const length = utf8Length(text);
  return length >= min && length <= max;
};

export const streamName = columnText(ErrorCode.InvalidStreamName, (text) => within(text, 1, 255));
export const topicName = columnText(ErrorCode.InvalidTopicName, (text) => within(text, 1, 255));
export const username = columnText(ErrorCode.InvalidUsername, (text) =>
  within(text, textLimits.username.min, textLimits.username.max),
);
export const userStatus = columnText(ErrorCode.InvalidUserStatus, (text) => Object.hasOwn(UserStatus, text));

/** A value that the server computes or writes; no client sends one. */
export const serverText: ValueType = {
  kind: "string",
  canonical: (entry) => {
    throw new OptionError(ErrorCode.ReadOnlyOption, entry.key);
  },
};
export const serverBytes: ValueType = { ...serverText, kind: "raw" };
