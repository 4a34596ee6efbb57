import type { Codec, ValueOf } from "./codec.js";
import { expectEnd } from "./codec.js";
import { keysOf } from "./keys.js";
import type { Reader } from "./reader.js";
import { rowsOf } from "./rows.js";
import { pick, type Sample } from "./sample.js";
import { WireError } from "./wire-error.js";

// The package's one place of casts: a record of codecs becomes a record of their values.
type Fields = Readonly<Record<string, Codec<unknown>>>;
export type StructOf<F> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** Fields one after another, in the order of the declaration. */
export function struct<F extends Fields>(type: string, fields: F): Codec<StructOf<F>> {
  const entries = Object.entries(fields).map(([key, codec]) => ({ key, codec }));
  const gathered = (valueOf: (codec: Codec<unknown>) => unknown): StructOf<F> => {
    const value: Record<string, unknown> = {};
    for (const { key, codec } of entries) value[key] = valueOf(codec);
    return value as StructOf<F>;
  };
  return {
    type,
    minSize: entries.reduce((sum, { codec }) => sum + codec.minSize, 0),
    size: (value) => {
      let size = 0;
      for (const { key, codec } of entries) size += codec.size(value[key]);
      return size;
    },
    write: (w, value) => {
      for (const { key, codec } of entries) codec.write(w, value[key]);
    },
    read: (r) => gathered((codec) => codec.read(r)),
    sample: (s) => gathered((codec) => codec.sample(s)),
    rows: () => entries.flatMap(({ key, codec }) => rowsOf(key, codec)),
  };
}

/** No bytes. */
export type Empty = Readonly<Record<string, never>>;
export const empty: Codec<Empty> = {
  type: "empty",
  minSize: 0,
  size: () => 0,
  write: () => undefined,
  read: () => ({}),
  sample: () => ({}),
  rows: () => [],
};

export interface ListLimits {
  readonly min?: number;
  readonly max?: number;
}

/** A count, then that many items. */
export function list<T>(count: Codec<number>, item: Codec<T>, limits: ListLimits = {}): Codec<readonly T[]> {
  const min = limits.min ?? 0;
  const max = limits.max ?? Infinity;
  const check = (length: number, at?: number): void => {
    if (length < min || length > max) {
      throw new WireError(
        "Validation",
        `a list of ${String(length)} items, allowed ${String(min)}..${String(max)}`,
        at,
      );
    }
  };
  return {
    type: `[${count.type} count] × ${item.type}`,
    minSize: count.minSize + min * item.minSize,
    size: (value) => value.reduce((sum, entry) => sum + item.size(entry), count.size(value.length)),
    write: (w, value) => {
      check(value.length);
      count.write(w, value.length);
      for (const entry of value) item.write(w, entry);
    },
    read: (r) => {
      const at = r.offset;
      const length = count.read(r);
      check(length, at);
      return readItems(r, item, length);
    },
    sample: (s) => sampleMany(s, item, Math.max(min, s.integer(3))),
  };
}

/** Reads a counted run. The count is bounded by what the remaining bytes can hold before anything is built. */
export function readItems<T>(r: Reader, item: Codec<T>, length: number): T[] {
  if (length * item.minSize > r.remaining) {
    throw new WireError("UnexpectedEof", `a count of ${String(length)} exceeds the remaining bytes`, r.offset);
  }
  const values: T[] = [];
  for (let i = 0; i < length; i++) values.push(item.read(r));
  return values;
}

const sampleMany = <T>(s: Sample, item: Codec<T>, length: number): T[] => Array.from({ length }, () => item.sample(s));

/** Items until the bytes end. */
export function listToEnd<T>(item: Codec<T>): Codec<readonly T[]> {
  return {
    type: `${item.type} to end`,
    minSize: 0,
    size: (value) => value.reduce((sum, entry) => sum + item.size(entry), 0),
    write: (w, value) => {
      for (const entry of value) item.write(w, entry);
    },
    read: (r) => {
      const values: T[] = [];
      while (r.remaining > 0) values.push(item.read(r));
      return values;
    },
    sample: (s) => sampleMany(s, item, s.integer(3)),
  };
}

/** A flag byte, then the value only when it is set. `flag` decides whether other bytes than 0 and 1 are refused. */
export function optional<T>(flag: Codec<boolean>, inner: Codec<T>): Codec<T | null> {
  return {
    type: `flag, then ${inner.type} if set`,
    minSize: flag.minSize,
    size: (value) => flag.size(value !== null) + (value === null ? 0 : inner.size(value)),
    write: (w, value) => {
      flag.write(w, value !== null);
      if (value !== null) inner.write(w, value);
    },
    read: (r) => (flag.read(r) ? inner.read(r) : null),
    sample: (s) => (s.boolean() ? inner.sample(s) : null),
  };
}

/** `[length u32]` around a value that must fill it exactly. */
export function prefixed<T>(inner: Codec<T>): Codec<T> {
  return {
    type: `[u32 length] ${inner.type}`,
    minSize: 4 + inner.minSize,
    size: (value) => 4 + inner.size(value),
    write: (w, value) => {
      w.u32(inner.size(value));
      inner.write(w, value);
    },
    read: (r) => {
      const nested = r.nested(r.u32());
      const value = inner.read(nested);
      expectEnd(nested);
      return value;
    },
    sample: (s) => inner.sample(s),
  };
}

/** The same bytes under another type. `to` may refuse a value with a WireError; it learns where the bytes start. */
export function mapped<Wire, T>(
  inner: Codec<Wire>,
  to: (wire: Wire, offset: number) => T,
  from: (value: T) => Wire,
  sample: (s: Sample) => T = (s) => to(inner.sample(s), 0),
): Codec<T> {
  return {
    type: inner.type,
    minSize: inner.minSize,
    size: (value) => inner.size(from(value)),
    write: (w, value) => inner.write(w, from(value)),
    read: (r) => {
      const at = r.offset;
      return to(inner.read(r), at);
    },
    sample,
    ...(inner.rows === undefined ? {} : { rows: inner.rows.bind(inner) }),
  };
}

/** A u8 or u32 code that must be one of a table, read as its name. */
export function codeOf<N extends string>(
  what: string,
  base: Codec<number>,
  table: Readonly<Record<N, number>>,
): Codec<N> {
  const names = keysOf(table);
  const byCode = new Map<number, N>(names.map((key) => [table[key], key]));
  return {
    ...mapped<number, N>(
      base,
      (code, at) => {
        const found = byCode.get(code);
        if (found === undefined) throw new WireError("UnknownDiscriminant", `${String(code)} is no ${what}`, at);
        return found;
      },
      (value) => table[value],
      (s) => pick(s, names),
    ),
    type: `${base.type} ${what}`,
  };
}
