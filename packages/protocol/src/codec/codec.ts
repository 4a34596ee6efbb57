import { Reader } from "./reader.js";
import type { Sample } from "./sample.js";
import { WireError } from "./wire-error.js";
import { Writer } from "./writer.js";

/** One row of a layout table: `path` of the field, its wire type in words. */
export interface LayoutRow {
  readonly path: string;
  readonly type: string;
}

/**
 * A layout as a value. From one declaration come the encoder, the decoder, the encoded size, the TypeScript type, the
 * layout table of the documentation and the random values of the property tests.
 */
export interface Codec<T> {
  /** Wire type in words, for layout tables and error messages. */
  readonly type: string;
  /** Fewest bytes a value takes: bounds how many items a count may claim. */
  readonly minSize: number;
  size(value: T): number;
  write(writer: Writer, value: T): void;
  read(reader: Reader): T;
  sample(source: Sample): T;
  /** Rows of a compound layout; absent on leaves. */
  rows?(): readonly LayoutRow[];
}

export type ValueOf<C> = C extends Codec<infer T> ? T : never;

/** Encodes into a buffer of exactly the right size. */
export function encode<T>(codec: Codec<T>, value: T): Uint8Array {
  const writer = new Writer(new Uint8Array(codec.size(value)));
  codec.write(writer, value);
  return writer.bytes;
}

/** Decodes a value and ignores bytes after it, as plain requests do. */
export function decode<T>(codec: Codec<T>, bytes: Uint8Array): T {
  return codec.read(new Reader(bytes));
}

/** Decodes a value that must fill the input. */
export function decodeExact<T>(codec: Codec<T>, bytes: Uint8Array): T {
  const reader = new Reader(bytes);
  const value = codec.read(reader);
  expectEnd(reader);
  return value;
}

export function expectEnd(reader: Reader): void {
  if (reader.remaining > 0) {
    throw new WireError("TrailingBytes", `${String(reader.remaining)} bytes after the last field`, reader.offset);
  }
}
