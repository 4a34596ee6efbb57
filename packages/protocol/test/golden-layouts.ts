import { expect } from "vitest";
import { type Codec, decode, encode, WireError } from "../src/index.js";
import { fromHex as bytesOf, loadVectors, toHex as hexOf } from "./golden.js";

export { bytesOf, hexOf };

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

/** A file of golden vectors as lists of cases. */
export const vectors = (file: string): Record<string, JsonObject[]> => loadVectors(file);

/** A text of a case. */
export function textOf(entry: JsonObject, key: string): string {
  const value = entry[key];
  if (typeof value !== "string") throw new Error(`${key} is no text`);
  return value;
}

const camel = (key: string): string => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Keys of the vectors that only explain a value: codes beside names and names beside codes. */
const explanations = new Set(["kindCode", "scopeName", "note", "see", "builtFrom", "acceptedByServer"]);

/** Fields of a vector in our form: camelCase keys, byte strings as hex, options as raw entries. */
export function fieldsOf(json: Json): Json {
  if (Array.isArray(json)) return json.map(fieldsOf);
  if (json === null || typeof json !== "object") return json;
  if ("value_hex" in json && "key" in json) {
    return { key: json["key"] ?? null, kind: json["kind_code"] ?? null, value: json["value_hex"] ?? null };
  }
  if ("level" in json) return json["level"] ?? null;
  if ("mode" in json) {
    const start = Object.entries(json).filter(([key]) => key !== "code");
    return Object.fromEntries(start.map(([key, value]) => [camel(key), fieldsOf(value)]));
  }
  return Object.fromEntries(
    Object.entries(json)
      .map(([key, value]): [string, Json] => [camel(key.replace(/_hex$/, "")), fieldsOf(value)])
      .filter(([key]) => !explanations.has(key)),
  );
}

/** A decoded value in the form of the vectors: u64 and wider as decimal text, bytes as hex. */
export function plain(value: unknown): Json {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array) return hexOf(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
  }
  return value as Json;
}

/**
 * Both directions of a golden case at once: the bytes decode to the fields, and the decoded value encodes to the bytes
 * again, with the size that was computed before.
 */
export function expectGolden<T>(codec: Codec<T>, hex: string, fields: Json): void {
  const bytes = bytesOf(hex);
  const value = decode(codec, bytes);
  expect(plain(value)).toEqual(fields);
  expect(codec.size(value)).toBe(bytes.length);
  expect(hexOf(encode(codec, value))).toBe(hex);
  // A decoder that reads one byte too few would still give the fields: cut the input and see it notice, unless the
  // layout runs to the end of its input.
  if (codec.minSize === bytes.length && bytes.length > 0) {
    expect(() => decode(codec, bytes.subarray(0, bytes.length - 1))).toThrow(WireError);
  }
}

/** Bytes behind the last field are a kind of their own here; the vectors count them among the violated rules. */
const kinds: Readonly<Record<string, readonly string[]>> = { Validation: ["Validation", "TrailingBytes"] };

export function expectRefused(read: () => unknown, kind: string): void {
  let refusal: unknown;
  try {
    read();
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(WireError);
  expect(kinds[kind] ?? [kind]).toContain((refusal as WireError).kind);
}
