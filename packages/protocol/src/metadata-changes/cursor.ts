import { checked, decodeExact, encode, struct, u128, u32, u64, type ValueOf, WireError } from "../codec/index.js";
import { decodeBase64Url, encodeBase64Url } from "../text/base64.js";

const layout = struct("cursor", { logId: u128, op: u64, checksum: u128, ordinal: u32 });

/**
 * The last record that a reader consumed. `logId` names the history, `op` 0 its beginning; a record's op carries the
 * checksum of its prepare, its ordinal counts from 0 within the op.
 *
 * `[log_id u128][op u64][checksum u128][ordinal u32]`, 44 bytes
 */
export type MetadataCursor = ValueOf<typeof layout>;

/** Op 0 names the beginning of a history, so nothing may stand behind it. */
export const isCanonicalCursor = (cursor: MetadataCursor): boolean =>
  cursor.op !== 0n || (cursor.checksum === 0n && cursor.ordinal === 0);

export const cursorFault = (cursor: MetadataCursor): string | undefined =>
  isCanonicalCursor(cursor) ? undefined : "a cursor at op 0 has a checksum or an ordinal";

export const metadataCursor = checked(layout, cursorFault, (s) => {
  const cursor = layout.sample(s);
  return isCanonicalCursor(cursor) ? cursor : { ...cursor, op: 1n };
});

/** The layout alone, for a field of zeros that holds no cursor. */
export const rawCursor = layout;

export const noCursor: MetadataCursor = { logId: 0n, op: 0n, checksum: 0n, ordinal: 0 };

const prefix = "mc1_";

/** `mc1_` and 59 characters of base64url. */
export function cursorText(cursor: MetadataCursor): string {
  return prefix + encodeBase64Url(encode(metadataCursor, cursor));
}

/** Anything but the canonical text of a canonical cursor is malformed (3). */
export function parseCursor(text: string): MetadataCursor {
  const bytes = text.startsWith(prefix) ? decodeBase64Url(text.slice(prefix.length)) : undefined;
  if (bytes === undefined) throw new WireError("Validation", "the text is no metadata cursor");
  return decodeExact(metadataCursor, bytes);
}
