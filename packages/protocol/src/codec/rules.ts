import type { Codec } from "./codec.js";
import { expectEnd } from "./codec.js";
import { pick, type Sample } from "./sample.js";
import { WireError } from "./wire-error.js";

/** A rule over a value: the text of the violation, or undefined when the value keeps it. */
export type Rule<T> = (value: T) => string | undefined;

/**
 * The same layout with a rule, kept on both sides: a value that breaks it is neither written nor read.
 * `sample` makes values that keep the rule; without it every sample of `inner` must.
 */
export function checked<T>(inner: Codec<T>, rule: Rule<T>, sample?: (source: Sample) => T): Codec<T> {
  const check = (value: T, at?: number): void => {
    const violation = rule(value);
    if (violation !== undefined) throw new WireError("Validation", violation, at);
  };
  return {
    ...inner,
    write: (w, value) => {
      check(value);
      inner.write(w, value);
    },
    read: (r) => {
      const at = r.offset;
      const value = inner.read(r);
      check(value, at);
      return value;
    },
    ...(sample === undefined ? {} : { sample }),
  };
}

/** A layout that fills its input: any byte after the last field is refused. */
export function exactly<T>(inner: Codec<T>): Codec<T> {
  return {
    ...inner,
    read: (r) => {
      const value = inner.read(r);
      expectEnd(r);
      return value;
    },
  };
}

/** A field that earlier writers leave out at the end of the input: `absent` stands for it then. Always written. */
export function tail<T>(inner: Codec<T>, absent: T): Codec<T> {
  return {
    ...inner,
    type: `${inner.type}, may be missing at the end`,
    minSize: 0,
    read: (r) => (r.remaining === 0 ? absent : inner.read(r)),
  };
}

/** One of the known codes, kept as a number. Other codes are refused as unknown. */
export function oneOf(what: string, base: Codec<number>, codes: readonly number[]): Codec<number> {
  const known = new Set(codes);
  const check = (code: number, at?: number): void => {
    if (!known.has(code)) throw new WireError("UnknownDiscriminant", `${String(code)} is no ${what}`, at);
  };
  return {
    ...base,
    type: `${base.type} ${what}`,
    write: (w, value) => {
      check(value);
      base.write(w, value);
    },
    read: (r) => {
      const at = r.offset;
      const code = base.read(r);
      check(code, at);
      return code;
    },
    sample: (s) => pick(s, codes),
  };
}
