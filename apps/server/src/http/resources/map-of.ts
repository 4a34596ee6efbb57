import { type JsonValue, objectMembers, type Shape, ShapeError } from "../json/index.js";

/** An object whose members are all of one shape, by names that the caller chooses. */
export const mapOf = <T extends JsonValue>(
  member: Shape<T>,
  description: string,
  isName: (name: string) => boolean = () => true,
): Shape<Readonly<Record<string, T>>> => ({
  schema: { type: "object", description, additionalProperties: member.schema },
  read: (json) =>
    Object.fromEntries(
      Object.entries(objectMembers(json)).map(([name, value]) => {
        if (!isName(name)) throw new ShapeError("is no name that this map takes", undefined, name.slice(0, 64));
        return [name, readWithin(member, value, name)];
      }),
    ),
});

function readWithin<T>(shape: Shape<T>, value: JsonValue | undefined, name: string): T {
  try {
    return shape.read(value);
  } catch (error) {
    throw error instanceof ShapeError ? error.within(name.slice(0, 64)) : error;
  }
}
