import { checked, list, name, u8 } from "../codec/index.js";

const keys = list(u8, name);

/**
 * `[count u8][key name × count]`, no key twice. The order is the sender's, kept as it is; SDKs send keys in ascending
 * byte order.
 */
export const resetKeys = checked(
  keys,
  (values) => (new Set(values).size === values.length ? undefined : "a key is reset twice"),
  (s) => [...new Set(keys.sample(s))],
);
