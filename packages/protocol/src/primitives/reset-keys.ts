import { type Codec, compareUtf8, list, name, u8, WireError } from "../codec/index.js";

const keys = list(u8, name);

const checkDistinct = (values: readonly string[], at?: number): void => {
  if (new Set(values).size !== values.length) throw new WireError("Validation", "a key is reset twice", at);
};

/** `[count u8][key name × count]`, no key twice. Written in ascending byte order, read in any. */
export const resetKeys: Codec<readonly string[]> = {
  ...keys,
  write: (w, values) => {
    checkDistinct(values);
    keys.write(w, [...values].sort(compareUtf8));
  },
  read: (r) => {
    const at = r.offset;
    const values = keys.read(r);
    checkDistinct(values, at);
    return values;
  },
  sample: (s) => [...new Set(keys.sample(s))].sort(compareUtf8),
};
