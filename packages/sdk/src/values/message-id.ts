import { u128, wrongType } from "./check.js";

/** A 128-bit number, or the text of a UUID; 0 and `undefined` ask for a random one. */
export type MessageId = bigint | number | string;

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/**
 * The number of an id; undefined when a random one is wanted. A UUID reads as its bytes lie on the wire: the first is the
 * lowest.
 */
export function toMessageId(id: MessageId | undefined): bigint | undefined {
  if (id === undefined) return undefined;
  if (typeof id === "string") {
    if (!uuid.test(id)) throw wrongType("message.id", "a bigint, a number or a UUID", id);
    const digits = id.replaceAll("-", "").match(/../g) ?? [];
    return BigInt(`0x${digits.reverse().join("")}`);
  }
  const value = u128("message.id", id);
  return value === 0n ? undefined : value;
}

/** The UUID text of an id. */
export function messageIdText(id: bigint): string {
  const digits = id.toString(16).padStart(32, "0").match(/../g) ?? [];
  const text = digits.reverse().join("");
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}
