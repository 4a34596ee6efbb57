import { byteSizeJson, type JsonValue, utf8Length } from "@iggy/protocol";
import { decodeStandardBase64 } from "./standard-base64.js";
import { describeJson, type Shape, ShapeError } from "./shape.js";

export interface LengthRules {
  /** Bytes, of UTF-8 for a text. */
  readonly min?: number;
  readonly max?: number;
  /** Error of a wrong length. */
  readonly code?: number;
}

const refuseKind = (expected: string, value: JsonValue | undefined): never => {
  throw new ShapeError(value === undefined ? "is missing" : `must be ${expected}, not ${describeJson(value)}`);
};

function checkLength(length: number, { min = 0, max = Infinity, code }: LengthRules): void {
  if (length >= min && length <= max) return;
  throw new ShapeError(`takes ${min} to ${max} bytes, not ${length}`, code);
}

export const text = (rules: LengthRules = {}): Shape<string> => ({
  schema: { type: "string", ...(rules.min ? { minLength: 1 } : {}), ...(rules.max ? { maxLength: rules.max } : {}) },
  read: (json) => {
    if (typeof json !== "string") return refuseKind("a text", json);
    checkLength(utf8Length(json), rules);
    return json;
  },
});

export const flag: Shape<boolean> = {
  schema: { type: "boolean" },
  read: (json) => (typeof json === "boolean" ? json : refuseKind("true or false", json)),
};

/** One of these words. */
export const oneOf = <W extends string>(...words: readonly W[]): Shape<W> => ({
  schema: { type: "string", enum: words },
  read: (json) => {
    if (typeof json !== "string") return refuseKind("a text", json);
    const word = words.find((candidate) => candidate === json);
    if (word === undefined) throw new ShapeError(`must be one of ${words.join(", ")}`);
    return word;
  },
});

const smallInteger = (bits: 8 | 16 | 32): Shape<number> => {
  const max = 2 ** bits - 1;
  return {
    schema: { type: "integer", minimum: 0, maximum: max },
    read: (json) => {
      if (typeof json !== "number" && typeof json !== "bigint") return refuseKind("a number", json);
      if (typeof json === "bigint" || !Number.isInteger(json) || json < 0 || json > max) {
        throw new ShapeError(`must be an integer from 0 to ${max}`);
      }
      return json;
    },
  };
};

export const u8 = smallInteger(8);
export const u16 = smallInteger(16);
export const u32 = smallInteger(32);

/** A number, or the same as decimal text for writers that round. */
const largeInteger = (bits: 64 | 128): Shape<bigint> => {
  const max = 2n ** BigInt(bits) - 1n;
  return {
    schema: {
      oneOf: [
        { type: "integer", minimum: 0, maximum: max },
        { type: "string", pattern: "^[0-9]{1,39}$" },
      ],
    },
    read: (json) => {
      const value = integerOf(json);
      if (value === undefined || value < 0n || value > max) {
        throw new ShapeError(`must be an integer from 0 to ${String(max)}`);
      }
      return value;
    },
  };
};

function integerOf(json: JsonValue | undefined): bigint | undefined {
  if (typeof json === "bigint") return json;
  if (typeof json === "number") return Number.isSafeInteger(json) ? BigInt(json) : undefined;
  if (typeof json === "string") return /^[0-9]{1,39}$/.test(json) ? BigInt(json) : undefined;
  return refuseKind("a number", json);
}

export const u64 = largeInteger(64);
export const u128 = largeInteger(128);

/** Bytes in standard base64 with padding. */
export const base64 = (rules: LengthRules = {}): Shape<Uint8Array> => ({
  schema: { type: "string", contentEncoding: "base64" },
  read: (json) => {
    if (typeof json !== "string") return refuseKind("a text in base64", json);
    const bytes = decodeStandardBase64(json);
    if (bytes === undefined) throw new ShapeError("must be standard base64 with padding");
    checkLength(bytes.length, rules);
    return bytes;
  },
});

/** Bytes as answers show them: the number that is exact in the largest unit, `1.5 GiB`. */
export const byteSizeSchema = { type: "string", pattern: "^[0-9]+(\\.[0-9]{1,3})? ([KMGTPE]i?)?B$" } as const;
export const byteSizeText = (bytes: number | bigint): string => byteSizeJson(BigInt(bytes));
