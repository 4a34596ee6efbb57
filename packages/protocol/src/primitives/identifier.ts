import { type Codec, encodeUtf8, type Reader, utf8Length, WireError } from "../codec/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";

/** Names a resource by its number or by its name. Zero is a legal number. */
export type Identifier =
  { readonly kind: "numeric"; readonly value: number } | { readonly kind: "string"; readonly value: string };

const numericKind = 1;
const stringKind = 2;
const maxNumericId = 0xffff_ffff;

/** `[kind u8][length u8][value]`: kind 1 is a u32 (length 4), kind 2 a name of 1 to 255 bytes of UTF-8. */
export const identifier: Codec<Identifier> = {
  type: "identifier",
  minSize: 3,
  size: (id) => (id.kind === "numeric" ? 6 : 2 + utf8Length(id.value)),
  write: (w, id) => {
    switch (id.kind) {
      case "numeric":
        w.u8(numericKind);
        w.u8(4);
        w.u32(id.value);
        return;
      case "string": {
        const length = utf8Length(id.value);
        if (length === 0 || length > 255) throw new WireError("Validation", nameLengthText(length));
        w.u8(stringKind);
        w.u8(length);
        w.text(id.value);
      }
    }
  },
  read: readIdentifier,
  sample: (s) =>
    s.boolean()
      ? { kind: "numeric", value: s.integer(maxNumericId) }
      : { kind: "string", value: s.text(1, s.boolean() ? 255 : 12) },
};

function readIdentifier(r: Reader): Identifier {
  const at = r.offset;
  const kind = r.u8();
  if (kind !== numericKind && kind !== stringKind) {
    throw new WireError("UnknownDiscriminant", `${String(kind)} is no identifier kind`, at);
  }
  const length = r.u8();
  if (kind === numericKind) {
    if (length !== 4) throw new WireError("Validation", `a numeric id takes 4 bytes, got ${String(length)}`, at);
    return { kind: "numeric", value: r.u32() };
  }
  if (length === 0) throw new WireError("Validation", nameLengthText(length), at);
  return { kind: "string", value: r.text(length) };
}

const nameLengthText = (length: number): string => `a name takes 1 to 255 bytes, got ${String(length)}`;

/** Identifier of a number, 0 to 4294967295; else `InvalidIdentifier` (6). */
export function numericId(value: number): Identifier {
  if (!Number.isInteger(value) || value < 0 || value > maxNumericId) {
    throw new IggyError(
      ErrorCode.InvalidIdentifier,
      `${String(value)} is no resource id: ids run from 0 to ${String(maxNumericId)}`,
    );
  }
  return { kind: "numeric", value };
}

/** Identifier of a name, 1 to 255 bytes of UTF-8, digits included; else `InvalidIdentifier` (6). */
export function namedId(value: string): Identifier {
  const length = encodeUtf8(value).length;
  if (length === 0 || length > 255) throw new IggyError(ErrorCode.InvalidIdentifier, nameLengthText(length));
  return { kind: "string", value };
}

/**
 * The text form of paths and command lines: text that reads as a u32 is a number, everything else a name.
 * A resource whose name is such a number is therefore reached by its id only.
 */
export function parseIdentifier(text: string): Identifier {
  if (/^\+?[0-9]+$/.test(text)) {
    const value = Number(text);
    if (value <= maxNumericId) return numericId(value);
  }
  return namedId(text);
}

export function identifierText(id: Identifier): string {
  return String(id.value);
}
