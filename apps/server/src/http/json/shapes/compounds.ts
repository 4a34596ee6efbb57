import type { JsonObject, JsonValue } from "@iggy/protocol";
import { describeJson, type Shape, ShapeError, type ShapeValue } from "./shape.js";

type Fields = Readonly<Record<string, Shape<unknown>>>;
export type ObjectOf<F> = { readonly [K in keyof F]: ShapeValue<F[K]> };

export interface ObjectRules {
  /** Members that no field names: left alone unless this refuses them. */
  readonly unknown?: "ignored" | "refused";
}

/** An object with these members. */
export function object<F extends Fields>(fields: F, { unknown = "ignored" }: ObjectRules = {}): Shape<ObjectOf<F>> {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => field.isOptional !== true).map(([name]) => name);
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(entries.map(([name, field]) => [name, field.schema])),
      ...(required.length === 0 ? {} : { required }),
      ...(unknown === "ignored" ? {} : { additionalProperties: false }),
    },
    read: (json) => {
      const members = objectMembers(json);
      if (unknown === "refused") refuseUnknown(members, fields);
      const value: Record<string, unknown> = {};
      for (const [name, field] of entries) value[name] = readMember(field, members[name], name);
      // The one place where a record of shapes becomes a record of their values.
      return value as ObjectOf<F>;
    },
  };
}

function refuseUnknown(members: JsonObject, fields: Fields): void {
  for (const name in members) {
    if (!Object.hasOwn(fields, name)) throw new ShapeError("is no member here", undefined, name.slice(0, 64));
  }
}

function readMember(field: Shape<unknown>, value: JsonValue | undefined, name: string): unknown {
  try {
    return field.read(value);
  } catch (error) {
    throw error instanceof ShapeError ? error.within(name) : error;
  }
}

/** The members of an object. */
export function objectMembers(json: JsonValue | undefined): JsonObject {
  if (typeof json !== "object" || json === null || isArray(json)) {
    throw new ShapeError(`must be an object, not ${describeJson(json)}`);
  }
  return json;
}

export interface ListRules {
  readonly min?: number;
  readonly max?: number;
  /** Error of a wrong length. */
  readonly code?: number;
}

/** An array of such items. */
export function list<T>(item: Shape<T>, { min = 0, max, code }: ListRules = {}): Shape<readonly T[]> {
  return {
    schema: {
      type: "array",
      items: item.schema,
      ...(min === 0 ? {} : { minItems: min }),
      ...(max === undefined ? {} : { maxItems: max }),
    },
    read: (json) => {
      if (!isArray(json)) throw new ShapeError(`must be an array, not ${describeJson(json)}`);
      if (json.length < min || json.length > (max ?? Infinity)) {
        throw new ShapeError(`takes ${min} to ${max ?? "any number of"} items, not ${json.length}`, code);
      }
      return json.map((value, index) => readMember(item, value, `[${index}]`)) as readonly T[];
    },
  };
}

/** A member that may be missing, and what it is then. */
export const optional = <T, D>(shape: Shape<T>, absent: D): Shape<T | D> => ({
  schema: shape.schema,
  isOptional: true,
  read: (json) => (json === undefined ? absent : shape.read(json)),
});

/** `null` beside the shape. */
export const nullable = <T>(shape: Shape<T>): Shape<T | null> => ({
  schema: { anyOf: [shape.schema, { type: "null" }] },
  ...(shape.isOptional === undefined ? {} : { isOptional: shape.isOptional }),
  read: (json) => (json === null ? null : shape.read(json)),
});

/** The same wire form for another type of value. */
export const mapped = <T, U>(shape: Shape<T>, map: (value: T) => U): Shape<U> => ({
  schema: shape.schema,
  ...(shape.isOptional === undefined ? {} : { isOptional: shape.isOptional }),
  read: (json) => map(shape.read(json)),
});

const isArray = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);
