import {
  ErrorCode,
  HeaderKind,
  type HeaderField,
  type HeaderKindName,
  type HeaderPair,
  IggyError,
  type JsonValue,
  keysOf,
  MAX_HEADER_FIELD_SIZE,
  nameOf,
  readOptionValue,
  tryDecodeUserHeaders,
} from "@iggy/protocol";
import { object } from "./compounds.js";
import { base64, oneOf } from "./scalars.js";
import { type Shape, ShapeError } from "./shape.js";

/** Kind and bytes of a key or value, which the kind must be able to hold; a fault has the code of the field. */
const headerField = (code: number): Shape<HeaderField> => {
  const parts = object({
    kind: oneOf(...keysOf(HeaderKind)),
    value: base64({ min: 1, max: MAX_HEADER_FIELD_SIZE, code }),
  });
  return {
    schema: parts.schema,
    read: (json) => {
      const { kind, value } = parts.read(json);
      const field = { kind: HeaderKind[kind], bytes: value };
      if (!isSound(field)) throw new ShapeError(`must be the bytes of a header of kind ${kind}`, code, "value");
      return field;
    },
  };
};

/** Key and value of a user header, their bytes as on the wire. */
export const headerEntryShape: Shape<HeaderPair> = object({
  key: headerField(ErrorCode.InvalidHeaderKey),
  value: headerField(ErrorCode.InvalidHeaderValue),
});

/**
 * User headers as answers show them: entries when they are some, or base64 of the bytes when they are not, as those that
 * a client has encrypted.
 */
export function headersJson(bytes: Uint8Array): JsonValue {
  const fields = tryDecodeUserHeaders(bytes)?.fields() ?? [];
  const isReadable = fields.length > 0 && fields.every(({ key, value }) => isSound(key) && isSound(value));
  if (!isReadable) return bytes.length === 0 ? [] : base64Text(bytes);
  return fields.map(({ key, value }) => ({ key: fieldJson(key), value: fieldJson(value) }));
}

const fieldJson = ({ kind, bytes }: HeaderField): JsonValue => ({
  kind: nameOf<HeaderKindName>(HeaderKind, kind) ?? "raw",
  value: base64Text(bytes),
});

const base64Text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");

/** A known kind, and bytes that it can hold. */
function isSound({ kind, bytes }: HeaderField): boolean {
  try {
    return readOptionValue({ key: "a user header", kind, value: bytes }) !== undefined;
  } catch (error) {
    if (error instanceof IggyError) return false;
    throw error;
  }
}
