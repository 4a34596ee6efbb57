import { type Identifier, parseIdentifier } from "@iggy/protocol";
import { type Shape, ShapeError } from "../json/index.js";

const U32_MAX = 0xffff_ffff;
const U64_MAX = 2n ** 64n - 1n;

/** A number in a path or query, in decimal. */
const decimal = <T>(max: bigint, convert: (value: bigint) => T): Shape<T> => ({
  schema: { type: "integer", minimum: 0, maximum: max },
  read: (text) => {
    if (typeof text !== "string") throw new ShapeError("is missing");
    const value = /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
    if (value === undefined || value > max) throw new ShapeError(`must be an integer from 0 to ${String(max)}`);
    return convert(value);
  },
});

export const u32Text: Shape<number> = decimal(BigInt(U32_MAX), Number);
export const u64Text: Shape<bigint> = decimal(U64_MAX, (value) => value);

export const flagText: Shape<boolean> = {
  schema: { type: "boolean" },
  read: (text) => {
    if (text === "true" || text === "false") return text === "true";
    throw new ShapeError(text === undefined ? "is missing" : "must be true or false");
  },
};

/** The number or the name of a resource: text that reads as a decimal u32 is a number. */
export const identifierText: Shape<Identifier> = {
  schema: { type: "string", minLength: 1, maxLength: 255, description: "Id or name." },
  read: (text) => {
    if (typeof text !== "string") throw new ShapeError("is missing");
    return parseIdentifier(text);
  },
};
