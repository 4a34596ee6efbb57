export { JsonError, JsonSyntaxError } from "./json-error.js";
export type { JsonObject, JsonValue } from "./json-value.js";
export { JSON_DEPTH_MAX, parseJson } from "./parse.js";
export { type IntegerForm, stringifyJson } from "./stringify.js";
