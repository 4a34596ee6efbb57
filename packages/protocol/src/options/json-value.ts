import { utf8Length } from "../codec/index.js";
import { HeaderKind, type OptionScopeName } from "../enums/index.js";
import { type OptionEntry, optionLimits } from "../primitives/option-block.js";
import { optionBool, optionString, optionU32, optionU64 } from "../primitives/option-value.js";
import { U64_MAX } from "../text/index.js";
import { optionSpec } from "./catalogue.js";

/** A value of a JSON body: a boolean, a non-negative integer up to u64::MAX, or a text in configuration form. */
export type JsonOptionValue = boolean | bigint | string;

/** A kind that no key takes: admission refuses it in its own order, with the error of the key. */
const impossible = (key: string): OptionEntry => ({ key, kind: HeaderKind.int8, value: Uint8Array.of(0) });

/**
 * The entry of a JSON value. An integer takes the canonical kind of its key where it fits, else uint64. What can not be
 * a value at all (a text that is empty or over 255 bytes) becomes one that the key refuses.
 */
export function optionFromJson(scope: OptionScopeName, key: string, value: JsonOptionValue): OptionEntry {
  if (typeof value === "boolean") return optionBool(key, value);
  if (typeof value === "bigint") {
    if (value < 0n || value > U64_MAX) return impossible(key);
    const isSmall = optionSpec(scope, key)?.kind === "uint32" && value <= 0xffff_ffffn;
    return isSmall ? optionU32(key, Number(value)) : optionU64(key, value);
  }
  const length = utf8Length(value);
  return length === 0 || length > optionLimits.maxValueBytes ? impossible(key) : optionString(key, value);
}
