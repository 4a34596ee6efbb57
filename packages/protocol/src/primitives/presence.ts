import { type Codec, mapped, optional, prefixed, str32, u8 } from "../codec/index.js";

/** One byte, written 0 or 1; only 1 reads as present. */
export const presentIfOne: Codec<boolean> = {
  type: "u8 (1 = present)",
  minSize: 1,
  size: () => 1,
  write: (w, value) => w.u8(value ? 1 : 0),
  read: (r) => r.u8() === 1,
  sample: (s) => s.boolean(),
};

/** `[has u8]([length u32][value])`: the length must be that of the value exactly. */
export const optionalPrefixed = <T>(inner: Codec<T>): Codec<T | null> => optional(presentIfOne, prefixed(inner));

/**
 * The asymmetric form of replies: `[01][length u32][value]`, or four zero bytes for none. A reader decides by the first
 * byte; the three behind a 0 are skipped.
 */
export const optionalPrefixedPadded = <T>(inner: Codec<T>): Codec<T | null> => {
  const present = prefixed(inner);
  return {
    type: `01 and ${present.type}, or 00000000`,
    minSize: 4,
    size: (value) => (value === null ? 4 : 1 + present.size(value)),
    write: (w, value) => {
      if (value === null) {
        w.u32(0);
        return;
      }
      u8.write(w, 1);
      present.write(w, value);
    },
    read: (r) => {
      if (u8.read(r) !== 0) return present.read(r);
      r.advance(3);
      return null;
    },
    sample: (s) => (s.boolean() ? present.sample(s) : null),
  };
};

/** `[length u32][UTF-8]`, where an empty text means absent. */
export const optionalStr32: Codec<string | null> = mapped<string, string | null>(
  str32,
  (text) => (text === "" ? null : text),
  (text) => text ?? "",
);
