import { type Shape, ShapeError } from "../json/index.js";

const U64_MAX = 2n ** 64n - 1n;

/** A number of a query in canonical decimal: no sign, no zero in front. */
export const canonicalU64: Shape<bigint> = {
  schema: { type: "integer", minimum: 0, maximum: U64_MAX },
  read: (json) => {
    const value = typeof json === "string" && /^(0|[1-9][0-9]{0,19})$/.test(json) ? BigInt(json) : undefined;
    if (value === undefined || value > U64_MAX) throw new ShapeError("must be an integer in canonical decimal");
    return value;
  },
};

/** A text that a query has once. */
export const oneLine: Shape<string> = {
  schema: { type: "string" },
  read: (json) => {
    if (typeof json !== "string") throw new ShapeError("must be given once");
    return json;
  },
};
