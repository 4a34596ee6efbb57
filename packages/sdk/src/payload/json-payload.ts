import { decodeUtf8 } from "@iggy/protocol";
import { InvalidPayloadError, placeOf } from "./invalid-payload.js";
import type { PayloadCodec } from "./payload-codec.js";
import type { SchemaInput, SchemaIssue, SchemaOutput, SchemaResult, StandardSchema } from "./standard-schema.js";

/** JSON as UTF-8 text. What has no form in JSON, such as a `bigint`, fails. */
const json: PayloadCodec<unknown> = {
  encode(value) {
    let text: string | undefined;
    try {
      text = JSON.stringify(value);
    } catch {
      text = undefined;
    }
    if (text === undefined) throw new InvalidPayloadError("the value has no form in JSON");
    return text;
  },
  decode(payload) {
    const text = decodeUtf8(payload);
    if (text === undefined) throw new InvalidPayloadError("the payload is not UTF-8, so it is no JSON");
    try {
      const value: unknown = JSON.parse(text);
      return value;
    } catch {
      // The parser's own message repeats what it read.
      throw new InvalidPayloadError("the payload is no JSON");
    }
  },
};

/**
 * JSON payloads, checked by a schema of any library that follows Standard Schema: values before they are sent, payloads
 * after they were read. A value is sent as it is given, in the form that the schema takes; what the schema makes of it
 * (defaults, conversions) is what a consumer gets. Fails with `InvalidPayloadError`.
 */
export function jsonPayload(): PayloadCodec<unknown>;
export function jsonPayload<Schema extends StandardSchema>(
  schema: Schema,
): PayloadCodec<SchemaInput<Schema>, SchemaOutput<Schema>>;
export function jsonPayload(schema?: StandardSchema): PayloadCodec<unknown> {
  return schema === undefined ? json : schemaPayload(schema, json);
}

/** The same for payloads of another format than JSON. */
export function schemaPayload<Schema extends StandardSchema>(
  schema: Schema,
  format: PayloadCodec<SchemaInput<Schema>, unknown>,
): PayloadCodec<SchemaInput<Schema>, SchemaOutput<Schema>>;
export function schemaPayload(schema: StandardSchema, format: PayloadCodec<unknown>): PayloadCodec<unknown> {
  const validate = validatorOf(schema);
  return {
    encode: (value) =>
      after(validate(value), (result) => {
        outputOf(result, "the value");
        return format.encode(value);
      }),
    decode: (payload) =>
      after(format.decode(payload), (value) => after(validate(value), (result) => outputOf(result, "the payload"))),
  };
}

function validatorOf(schema: StandardSchema): StandardSchema["~standard"]["validate"] {
  // A schema of another library may come from plain JavaScript.
  const standard: Partial<StandardSchema["~standard"]> | undefined = (schema as Partial<StandardSchema>)["~standard"];
  if (standard?.version !== 1 || standard.validate === undefined) {
    throw new TypeError("schema takes a schema that follows Standard Schema, version 1");
  }
  return standard.validate;
}

function outputOf(result: SchemaResult<unknown>, what: string): unknown {
  if (result.issues === undefined) return result.value;
  throw new InvalidPayloadError(`${what} does not fit its schema${placesText(result.issues)}`, result.issues);
}

function placesText(issues: readonly SchemaIssue[]): string {
  const [first = ""] = issues.map(placeOf).filter((place) => place !== "");
  const more = issues.length - 1;
  const at = first === "" ? "" : ` at ${first}`;
  return more > 0 ? `${at} and ${String(more)} more` : at;
}

/** Goes on at once with a value, later with a promise: most schemas answer at once. */
function after<T, U>(value: T | Promise<T>, step: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(step) : step(value);
}
