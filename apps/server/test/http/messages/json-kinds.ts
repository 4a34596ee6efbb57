import type { JsonObject, JsonValue } from "../../../src/http/json/index.js";

export const isArray = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !isArray(value);
