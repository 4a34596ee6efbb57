import { Reader, WireError } from "../codec/index.js";
import { HeaderKind } from "../enums/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import {
  fieldOf,
  type HeaderField,
  type HeaderInput,
  type HeaderValue,
  MAX_HEADER_FIELD_SIZE,
  valueOf,
} from "./header-value.js";
import { MAX_USER_HEADERS_SIZE } from "./limits.js";

/** Headers by name, or pairs where keys are of other kinds than text. */
export type HeaderInputs =
  Readonly<Record<string, HeaderInput>> | Iterable<readonly [key: HeaderInput, value: HeaderInput]>;

/** Bytes of a field beside its content: kind and length. */
const FIELD_OVERHEAD = 5;

/** Key and value of one header. */
export interface HeaderPair {
  readonly key: HeaderField;
  readonly value: HeaderField;
}

/**
 * Encodes user headers, in ascending order of key kind and key bytes; of two values under one key the last one stays.
 * No headers give no bytes.
 *
 *   key kind u8 · key length u32 · key · value kind u8 · value length u32 · value     (and so on)
 *
 * Errors: `InvalidHeaderKey` (4018), `InvalidHeaderValue` (4019), `TooBigUserHeaders` (4017) above 100,000 bytes.
 */
export function encodeUserHeaders(headers: HeaderInputs): Uint8Array {
  const inputs = isIterable(headers) ? headers : Object.entries(headers);
  return encodeHeaderFields(
    Array.from(inputs, ([key, value]) => ({
      key: fieldOf(key, ErrorCode.InvalidHeaderKey),
      value: fieldOf(value, ErrorCode.InvalidHeaderValue),
    })),
  );
}

/** The same of fields as they travel, which the caller has checked. */
export function encodeHeaderFields(fields: readonly HeaderPair[]): Uint8Array {
  const pairs = inOrder(fields);
  const size = pairs.reduce((sum, { key, value }) => sum + fieldSize(key) + fieldSize(value), 0);
  if (size > MAX_USER_HEADERS_SIZE) {
    throw new IggyError(
      ErrorCode.TooBigUserHeaders,
      `user headers of ${String(size)} bytes exceed ${String(MAX_USER_HEADERS_SIZE)}`,
    );
  }
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { key, value } of pairs) {
    for (const field of [key, value]) {
      view.setUint8(at, field.kind);
      view.setUint32(at + 1, field.bytes.length, true);
      bytes.set(field.bytes, at + FIELD_OVERHEAD);
      at += fieldSize(field);
    }
  }
  return bytes;
}

const fieldSize = (field: HeaderField): number => FIELD_OVERHEAD + field.bytes.length;

const isIterable = (headers: HeaderInputs): headers is Iterable<readonly [key: HeaderInput, value: HeaderInput]> =>
  Symbol.iterator in headers;

/** Ascending by key kind and key bytes, the last of equal keys. */
function inOrder(pairs: readonly HeaderPair[]): HeaderPair[] {
  const sorted = [...pairs].sort((a, b) => compareFields(a.key, b.key));
  return sorted.filter(({ key }, i) => {
    const following = sorted[i + 1];
    return following === undefined || compareFields(key, following.key) !== 0;
  });
}

function compareFields(a: HeaderField, b: HeaderField): number {
  if (a.kind !== b.kind) return a.kind - b.kind;
  const shared = Math.min(a.bytes.length, b.bytes.length);
  for (let i = 0; i < shared; i++) {
    const difference = (a.bytes[i] ?? 0) - (b.bytes[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.bytes.length - b.bytes.length;
}

/** User headers of a message. The fields are found once; a value is decoded when it is asked for. */
export class UserHeaders implements Iterable<[HeaderValue, HeaderValue]> {
  readonly #pairs: readonly HeaderPair[];

  /** @internal Use `decodeUserHeaders`. */
  constructor(pairs: readonly HeaderPair[]) {
    this.#pairs = pairs;
  }

  get size(): number {
    return this.#pairs.length;
  }

  has(key: HeaderInput): boolean {
    return this.#find(key) !== undefined;
  }

  /** The value under a key. `InvalidHeaderKind` (4040) for an unknown kind, `InvalidHeaderValue` (4019) for a wrong size. */
  get(key: HeaderInput): HeaderValue | undefined {
    const found = this.#find(key);
    return found === undefined ? undefined : valueOf(found.value);
  }

  /** The value under a text key, when it is text. */
  text(key: string): string | undefined {
    const value = this.get(key);
    return value?.kind === "string" ? value.value : undefined;
  }

  /** Decodes every pair, in ascending order of key kind and key bytes. */
  *[Symbol.iterator](): IterableIterator<[HeaderValue, HeaderValue]> {
    for (const { key, value } of this.#pairs) yield [valueOf(key, ErrorCode.InvalidHeaderKey), valueOf(value)];
  }

  /** The pairs as they travel, kinds that this release does not know included. */
  fields(): readonly HeaderPair[] {
    return this.#pairs;
  }

  /** Values under text keys. */
  toRecord(): Record<string, HeaderValue> {
    return Object.fromEntries(
      this.#pairs
        .filter(({ key }) => key.kind === HeaderKind.string)
        .map(({ key, value }) => [keyText(key), valueOf(value)]),
    );
  }

  #find(input: HeaderInput): HeaderPair | undefined {
    const key = fieldOf(input, ErrorCode.InvalidHeaderKey);
    return this.#pairs.find((pair) => compareFields(pair.key, key) === 0);
  }
}

function keyText(key: HeaderField): string {
  const value = valueOf(key, ErrorCode.InvalidHeaderKey);
  return value.kind === "string" ? value.value : "";
}

/**
 * Reads a block of user headers: pairs in any order, the last of equal keys counts. Only the structure is checked here;
 * a WireError (UnexpectedEof or Validation, code 3) tells that the bytes are no headers at all.
 */
export function decodeUserHeaders(bytes: Uint8Array): UserHeaders {
  const reader = new Reader(bytes);
  const pairs: HeaderPair[] = [];
  while (reader.remaining > 0) {
    const at = reader.offset;
    const key = readField(reader);
    if (reader.remaining === 0) throw new WireError("Validation", "a header key without a value", at);
    pairs.push({ key, value: readField(reader) });
  }
  return new UserHeaders(inOrder(pairs));
}

/** The same, or undefined for bytes that are no headers, such as those that a client has encrypted. */
export function tryDecodeUserHeaders(bytes: Uint8Array): UserHeaders | undefined {
  try {
    return decodeUserHeaders(bytes);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

function readField(reader: Reader): HeaderField {
  const at = reader.offset;
  const kind = reader.u8();
  if (kind === 0) throw new WireError("Validation", "0 is no header kind", at);
  const length = reader.u32();
  if (length === 0 || length > MAX_HEADER_FIELD_SIZE) {
    throw new WireError("Validation", `a header field takes 1 to 255 bytes, got ${String(length)}`, at);
  }
  return { kind, bytes: reader.take(length) };
}
