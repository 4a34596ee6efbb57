import {
  encodeUserHeaders,
  header,
  type HeaderInput as WireHeaderInput,
  type HeaderValue as WireHeaderValue,
  IggyError as ProtocolError,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";

/** A typed key or value of a user header. */
export type HeaderValue = WireHeaderValue;

/**
 * What a header is made from. A `string`, `boolean` or `Uint8Array` stands for itself, a `bigint` is an int64, a `number`
 * a float64 when it has a fraction, else an int32 or int64 by its range. Any other kind is named with `HeaderValue`.
 */
export type HeaderInput = WireHeaderInput | number | bigint;

/** Headers by name, or pairs when keys are of other kinds than text. */
export type HeaderInputs =
  Readonly<Record<string, HeaderInput>> | Iterable<HeaderEntry | readonly [key: HeaderInput, value: HeaderInput]>;

export interface HeaderEntry {
  readonly key: HeaderInput;
  readonly value: HeaderInput;
}

type Big = bigint | number;

export const HeaderValue = {
  Raw: (value: Uint8Array): HeaderValue => ({ kind: "raw", value }),
  String: (value: string): HeaderValue => ({ kind: "string", value }),
  Bool: (value: boolean): HeaderValue => ({ kind: "bool", value }),
  Int8: header.int8,
  Int16: header.int16,
  Int32: header.int32,
  Int64: (value: Big): HeaderValue => header.int64(exact(value)),
  Int128: (value: Big): HeaderValue => header.int128(exact(value)),
  Uint8: header.uint8,
  Uint16: header.uint16,
  Uint32: header.uint32,
  Uint64: (value: Big): HeaderValue => header.uint64(exact(value)),
  Uint128: (value: Big): HeaderValue => header.uint128(exact(value)),
  Float32: header.float32,
  Float64: header.float64,
  /** Earlier name of `Float32`. */
  Float: header.float32,
  /** Earlier name of `Float64`. */
  Double: header.float64,
} as const;

/** Keys take the same kinds as values. */
export const HeaderKeyFactory = HeaderValue;

function exact(value: Big): bigint {
  if (typeof value === "bigint") return value;
  if (!Number.isSafeInteger(value)) {
    throw new RangeError(`${String(value)} is no integer that a number holds exactly, use a bigint`);
  }
  return BigInt(value);
}

function wireInput(input: HeaderInput): WireHeaderInput {
  if (typeof input === "bigint") return header.int64(input);
  if (typeof input !== "number") return input;
  if (!Number.isInteger(input)) return header.float64(input);
  return input >= -(2 ** 31) && input < 2 ** 31 ? header.int32(input) : header.int64(exact(input));
}

/** Encodes headers, and behind `common` ones if any; of two with one key the later wins. `undefined` without any. */
export function encodedHeaders(
  headers: HeaderInputs | undefined,
  common?: Readonly<Record<string, string>>,
): Uint8Array | undefined {
  if (headers === undefined) return undefined;
  try {
    const pairs = common === undefined ? pairsOf(headers) : [...Object.entries(common), ...pairsOf(headers)];
    const bytes = encodeUserHeaders(pairs.map(wirePair));
    return bytes.length === 0 ? undefined : bytes;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new ValidationError(error.code, `headers: ${error.message}`);
  }
}

function pairsOf(headers: HeaderInputs): readonly (readonly [HeaderInput, HeaderInput])[] {
  if (!isIterable(headers)) return Object.entries(headers);
  return Array.from(headers, (entry): readonly [HeaderInput, HeaderInput] =>
    "key" in entry ? [entry.key, entry.value] : entry,
  );
}

type Pair = HeaderEntry | readonly [key: HeaderInput, value: HeaderInput];

const isIterable = (headers: HeaderInputs): headers is Iterable<Pair> & HeaderInputs => Symbol.iterator in headers;

const wirePair = ([key, value]: readonly [HeaderInput, HeaderInput]): [WireHeaderInput, WireHeaderInput] => [
  wireInput(key),
  wireInput(value),
];
