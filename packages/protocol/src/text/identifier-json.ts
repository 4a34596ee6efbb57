import { decode, encode, WireError } from "../codec/index.js";
import { type Identifier, identifier } from "../primitives/identifier.js";
import { decodeBase64, encodeBase64 } from "./base64.js";

/** JSON form of an identifier: its kind, and its value bytes in base64. */
export interface IdentifierJson {
  readonly kind: "numeric" | "string";
  readonly value: string;
}

export function identifierToJson(id: Identifier): IdentifierJson {
  // The wire form is kind, length, value.
  return { kind: id.kind, value: encodeBase64(encode(identifier, id).subarray(2)) };
}

/** A wrong value, or one that does not fit its kind, is malformed (3). */
export function identifierFromJson({ kind, value }: IdentifierJson): Identifier {
  const bytes = decodeBase64(value);
  if (bytes === undefined || bytes.length > 255) throw new WireError("Validation", "the value is no base64 identifier");
  const wire = new Uint8Array(2 + bytes.length);
  wire[0] = kind === "numeric" ? 1 : 2;
  wire[1] = bytes.length;
  wire.set(bytes, 2);
  return decode(identifier, wire);
}
