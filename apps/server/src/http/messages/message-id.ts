import { randomFillSync } from "node:crypto";
import { type JsonValue, type Shape, ShapeError, u128 } from "../json/index.js";

const ID_BYTES = 16;

/**
 * A message id: a number, decimal text, or a UUID with or without dashes, whose digits are those of the number from the
 * highest on. 32 decimal digits are a number.
 */
export const messageIdShape: Shape<bigint> = {
  schema: {
    oneOf: [
      { type: "integer", minimum: 0, maximum: 2n ** 128n - 1n },
      { type: "string", pattern: "^([0-9]{1,39}|[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12})$" },
    ],
  },
  read: (json) => uuidNumber(json) ?? u128.read(json),
};

function uuidNumber(json: JsonValue | undefined): bigint | undefined {
  if (typeof json !== "string" || /^[0-9]*$/.test(json)) return undefined;
  const digits = json.replaceAll("-", "");
  if (/^[0-9a-fA-F]{32}$/.test(digits)) return BigInt(`0x${digits}`);
  throw new ShapeError("must be a number, or the text of a number or of a UUID");
}

/** Random ids for messages without one, as a client makes them: the bytes of a UUID of version 4. */
export function randomIds(count: number): readonly Uint8Array[] {
  const bytes = randomFillSync(Buffer.allocUnsafeSlow(count * ID_BYTES));
  return Array.from({ length: count }, (_, index) => {
    const id = bytes.subarray(index * ID_BYTES, (index + 1) * ID_BYTES);
    id[6] = ((id[6] ?? 0) & 0x0f) | 0x40;
    id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
    return id;
  });
}
