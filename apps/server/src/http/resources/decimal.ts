import { type Shape, ShapeError } from "../json/index.js";

/** A number that need not be whole. */
export const decimal: Shape<number> = {
  schema: { type: "number" },
  read: (json) => {
    if (typeof json === "number") return json;
    throw new ShapeError("must be a number");
  },
};
