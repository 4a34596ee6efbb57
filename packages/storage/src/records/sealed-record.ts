import { xxh3_64 } from "@iggy/protocol";
import { viewOf } from "../bytes.js";
import { DamagedFile } from "../errors.js";

/**
 * Small durable record, written by atomic replacement only.
 *
 *   0 magic u32 "IGRC"     6 version u16           12 4 zero bytes
 *   4 kind u16             8 payload length u32    16 payload, then XXH3-64 of all before
 */
const MAGIC = 0x43524749;
const HEAD_BYTES = 16;
const TRAILER_BYTES = 8;

export const RecordKind = { creation: 1, retirement: 2, checkpoint: 3 } as const;
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind];

export function sealRecord(kind: RecordKind, version: number, payload: readonly Uint8Array[]): Uint8Array {
  const length = payload.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = new Uint8Array(HEAD_BYTES + length + TRAILER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, kind, true);
  view.setUint16(6, version, true);
  view.setUint32(8, length, true);
  let at = HEAD_BYTES;
  for (const piece of payload) {
    bytes.set(piece, at);
    at += piece.length;
  }
  view.setBigUint64(at, xxh3_64(bytes, 0, at), true);
  return bytes;
}

/** The payload of a record; throws `DamagedFile` when it is not whole, not of this kind or of another version. */
export function openRecord(path: string, bytes: Uint8Array, kind: RecordKind, version: number): Uint8Array {
  const view = viewOf(bytes);
  if (bytes.length < HEAD_BYTES + TRAILER_BYTES || view.getUint32(0, true) !== MAGIC) {
    throw new DamagedFile(path, "not a record");
  }
  const end = HEAD_BYTES + view.getUint32(8, true);
  if (bytes.length !== end + TRAILER_BYTES) throw new DamagedFile(path, `${bytes.length} bytes are not its length`);
  if (view.getBigUint64(end, true) !== xxh3_64(bytes, 0, end)) throw new DamagedFile(path, "wrong checksum");
  if (view.getUint16(4, true) !== kind) throw new DamagedFile(path, "a record of another kind");
  const found = view.getUint16(6, true);
  if (found !== version) throw new DamagedFile(path, `format version ${found}, this server reads ${version}`);
  return bytes.subarray(HEAD_BYTES, end);
}
