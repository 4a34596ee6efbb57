import { isArray, isObject } from "./json-kinds.js";
import type { JsonObject, JsonValue } from "../../../src/http/json/index.js";

/** Why a value does not match a schema, with the path of what is wrong; undefined when it does. The words are those of our document. */
export function schemaFault(
  value: JsonValue,
  schema: JsonValue | undefined,
  document: JsonObject,
  path = "$",
): string | undefined {
  if (!isObject(schema)) return undefined;
  const resolved = resolve(schema, document);
  const { anyOf, oneOf, type, enum: words } = resolved;
  const options = isArray(anyOf) ? anyOf : isArray(oneOf) ? oneOf : undefined;
  if (options !== undefined) {
    const faults = options.map((option) => schemaFault(value, option, document, path));
    return faults.includes(undefined) ? undefined : faults.join(" or ");
  }
  if (isArray(words) && !words.includes(value)) return `${path} is none of the words`;
  switch (type) {
    case "object":
      return isObject(value) ? objectFault(value, resolved, document, path) : `${path} is no object`;
    case "array":
      if (!isArray(value)) return `${path} is no array`;
      return value.map((item, i) => schemaFault(item, resolved["items"], document, `${path}[${i}]`)).find(Boolean);
    case "string":
      return typeof value === "string" ? textFault(value, resolved, path) : `${path} is no text`;
    case "integer":
    case "number":
      return numberFault(value, resolved, path);
    case "boolean":
      return typeof value === "boolean" ? undefined : `${path} is no boolean`;
    case "null":
      return value === null ? undefined : `${path} is not null`;
    default:
      return undefined;
  }
}

export function resolve(schema: JsonObject, document: JsonObject): JsonObject {
  const { $ref } = schema;
  if (typeof $ref !== "string") return schema;
  let found: JsonValue | undefined = document;
  for (const step of $ref.slice(2).split("/")) found = isObject(found) ? found[step] : undefined;
  return isObject(found) ? found : {};
}

function objectFault(value: JsonObject, schema: JsonObject, document: JsonObject, path: string): string | undefined {
  const { properties, required, additionalProperties } = schema;
  const known = isObject(properties) ? properties : {};
  for (const name of isArray(required) ? required : []) {
    if (typeof name === "string" && value[name] === undefined) return `${path}.${name} is missing`;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const own = known[name];
    if (own === undefined && additionalProperties === false) return `${path}.${name} is unknown`;
    const rule = own ?? (additionalProperties === false ? undefined : additionalProperties);
    const fault = schemaFault(member, rule, document, `${path}.${name}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function textFault(value: string, { pattern, contentEncoding }: JsonObject, path: string): string | undefined {
  if (typeof pattern === "string" && !new RegExp(pattern, "u").test(value)) return `${path} does not match ${pattern}`;
  const isBase64 = contentEncoding !== "base64" || Buffer.from(value, "base64").toString("base64") === value;
  return isBase64 ? undefined : `${path} is no base64`;
}

function numberFault(value: JsonValue, { type, minimum, maximum }: JsonObject, path: string): string | undefined {
  if (typeof value !== "number" && typeof value !== "bigint") return `${path} is no number`;
  if (type === "integer" && typeof value === "number" && !Number.isInteger(value)) return `${path} is no integer`;
  const isLow = isNumber(minimum) && value < minimum;
  const isHigh = isNumber(maximum) && value > maximum;
  return isLow || isHigh ? `${path} is out of range` : undefined;
}

const isNumber = (value: JsonValue | undefined): value is number | bigint =>
  typeof value === "number" || typeof value === "bigint";
