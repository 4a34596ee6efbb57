import type { JsonOptionValue, JsonValue } from "@iggy/protocol";
import { objectMembers } from "./compounds.js";
import { describeJson, type Shape, ShapeError } from "./shape.js";

/** Options by name, in the order of the body. */
export type OptionMap = readonly (readonly [name: string, value: JsonOptionValue])[];

/** Values of a create body: booleans, non-negative integers, texts of the form of a configuration file. */
export const optionMapShape: Shape<OptionMap> = {
  schema: {
    type: "object",
    additionalProperties: {
      oneOf: [{ type: "boolean" }, { type: "integer", minimum: 0, maximum: 2n ** 64n - 1n }, { type: "string" }],
    },
  },
  read: (json) => {
    const members = objectMembers(json);
    return Object.keys(members).map((name) => [name, readOptionJson(name, members[name])]);
  },
};

/** One value of an options map or an update body; what is no value of an option at all is refused. */
export function readOptionJson(name: string, json: JsonValue | undefined): JsonOptionValue {
  if (typeof json === "boolean" || typeof json === "string") return json;
  if (typeof json === "bigint" && json >= 0n) return json;
  if (typeof json === "number" && Number.isSafeInteger(json) && json >= 0) return BigInt(json);
  const fault = typeof json === "number" || typeof json === "bigint" ? "any other number" : describeJson(json);
  throw new ShapeError(
    `must be true, false, a non-negative integer or a text, not ${fault}`,
    undefined,
    name.slice(0, 64),
  );
}
