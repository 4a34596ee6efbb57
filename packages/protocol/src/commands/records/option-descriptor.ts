import { bytes32, checked, lossyStr32, name, struct, u8, type ValueOf } from "../../codec/index.js";
import { nameOf, OptionScope } from "../../enums/index.js";

/** `u8`, 1 topic, 2 stream, 3 user. */
export const optionScope = checked(
  u8,
  (scope) => (nameOf(OptionScope, scope) === undefined ? `${String(scope)} is no option scope` : undefined),
  (s) => 1 + s.integer(2),
);

/** Bits of a descriptor's flags; higher bits are zero and ignored. */
export const OptionFlag = { updatable: 1, resettable: 2, secret: 4, readOnly: 8, critical: 16 } as const;

/**
 * What a server says about an option. `kind` is a `HeaderKind` code; `defaultValue` holds a value of that kind, empty
 * without one; the description is text for people.
 *
 *   key name · kind u8 · flags u8 · default [u32][bytes] · description [u32][UTF-8]
 */
export const optionDescriptor = struct("option descriptor", {
  key: name,
  kind: u8,
  flags: u8,
  defaultValue: bytes32,
  description: lossyStr32,
});
export type OptionDescriptor = ValueOf<typeof optionDescriptor>;
