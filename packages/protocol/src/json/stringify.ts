import type { JsonValue } from "./json-value.js";

/** How an answer shows u64 and u128 values, which are bigints here whatever their size. */
export type IntegerForm = "number" | "string";

/**
 * The JSON text of a value. Bigints are written with all their digits: as numbers, or as texts for readers that round.
 * Members that are undefined are left out. A number that JSON can't express is a mistake of the caller: `RangeError`.
 */
export function stringifyJson(value: JsonValue, integers: IntegerForm = "number"): string {
  if (typeof value === "bigint") return integers === "number" ? String(value) : `"${String(value)}"`;
  if (typeof value === "object" && value !== null) {
    return isArray(value) ? arrayText(value, integers) : objectText(value, integers);
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError(`${value} has no JSON form`);
  return JSON.stringify(value);
}

const isArray = (value: object): value is readonly JsonValue[] => Array.isArray(value);

function arrayText(values: readonly JsonValue[], integers: IntegerForm): string {
  let text = "[";
  let separator = "";
  for (const value of values) {
    text += separator + stringifyJson(value, integers);
    separator = ",";
  }
  return `${text}]`;
}

function objectText(object: { readonly [name: string]: JsonValue | undefined }, integers: IntegerForm): string {
  let text = "{";
  let separator = "";
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    text += `${separator}${JSON.stringify(name)}:${stringifyJson(value, integers)}`;
    separator = ",";
  }
  return `${text}}`;
}
