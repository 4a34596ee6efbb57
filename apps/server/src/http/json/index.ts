export {
  type IntegerForm,
  JsonError,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
  stringifyJson,
} from "@iggy/protocol";
export { parseJsonBytes } from "./parse-bytes.js";
export * from "./shapes/index.js";
