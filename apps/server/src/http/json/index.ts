export { JsonError, JsonSyntaxError } from "./json-error.js";
export type { JsonObject, JsonValue } from "./json-value.js";
export { parseJson, parseJsonBytes } from "./parse.js";
export * from "./shapes/index.js";
export { type IntegerForm, stringifyJson } from "./stringify.js";
