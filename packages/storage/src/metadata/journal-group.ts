import { HEADER_SIZE, PrepareHeader, storedChecksum, verifyPrepare, Xxh3Stream, xxh3_64 } from "@iggy/protocol";
import { getU64, setU64, viewOf } from "../bytes.js";
import type { JournalEntry } from "../contracts.js";

/**
 * What one sync of the metadata journal covers. It is whole or it is not: a crash may tear any part of a group, none of
 * which was acknowledged, and never touches an earlier one.
 *
 *   0 magic u32 "IGMG"    8 op of the first u64       24 XXH3-64 of bytes 0..24
 *   4 entries u32        16 bytes of the entries u64  32 XXH3-64 of bytes 0..32 and of the entries
 *                                                     40 entries: prepare header, body, back to back
 */
export const GROUP_HEAD_BYTES = 40;
const MAGIC = 0x474d4749;
const HEAD_CHECKSUM_AT = 24;
const CHECKSUM_AT = 32;

/** An entry above this is none. */
export const ENTRY_BYTES_MAX = 64 * 1024 * 1024;
/** Bounds what a torn end can be. */
export const GROUP_BYTES_MAX = 2 * ENTRY_BYTES_MAX;

/** Pieces to be written back to back. */
export function encodeGroup(entries: readonly JournalEntry[]): Uint8Array[] {
  const pieces = entries.flatMap(({ header, body }) => [header, body]);
  const head = new Uint8Array(GROUP_HEAD_BYTES);
  const view = viewOf(head);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, entries.length, true);
  setU64(view, 8, entries[0]?.op ?? 0);
  setU64(
    view,
    16,
    pieces.reduce((sum, piece) => sum + piece.length, 0),
  );
  view.setBigUint64(HEAD_CHECKSUM_AT, xxh3_64(head, 0, HEAD_CHECKSUM_AT), true);
  const hash = new Xxh3Stream().update(head.subarray(0, CHECKSUM_AT));
  for (const piece of pieces) hash.update(piece);
  view.setBigUint64(CHECKSUM_AT, hash.digest(), true);
  return [head, ...pieces];
}

export interface StoredGroup {
  readonly entries: readonly JournalEntry[];
  /** Bytes with the head. */
  readonly length: number;
}

/** Bytes that the head of a group at `at` claims for it, or undefined when no whole head is there. */
export function claimedLength(bytes: Uint8Array, at: number): number | undefined {
  if (at + GROUP_HEAD_BYTES > bytes.length) return undefined;
  const view = viewOf(bytes);
  if (view.getUint32(at, true) !== MAGIC) return undefined;
  if (view.getBigUint64(at + HEAD_CHECKSUM_AT, true) !== xxh3_64(bytes, at, HEAD_CHECKSUM_AT)) return undefined;
  return GROUP_HEAD_BYTES + getU64(view, at + 16);
}

/** The group at `at`, or undefined when none is whole there. */
export function readGroup(bytes: Uint8Array, at: number): StoredGroup | undefined {
  const length = claimedLength(bytes, at);
  if (length === undefined || at + length > bytes.length) return undefined;
  const view = viewOf(bytes);
  const hash = new Xxh3Stream()
    .update(bytes.subarray(at, at + CHECKSUM_AT))
    .update(bytes.subarray(at + GROUP_HEAD_BYTES, at + length));
  if (view.getBigUint64(at + CHECKSUM_AT, true) !== hash.digest()) return undefined;
  const entries: JournalEntry[] = [];
  const end = at + length;
  for (let next = at + GROUP_HEAD_BYTES; next < end;) {
    const entry = readEntry(bytes, next, end);
    if (entry === undefined) return undefined;
    entries.push(entry);
    next += entry.header.length + entry.body.length;
  }
  const isCounted = entries.length === view.getUint32(at + 4, true) && entries[0]?.op === getU64(view, at + 8);
  return isCounted ? { entries, length } : undefined;
}

/** The first whole group behind a damaged place. */
export function findGroup(bytes: Uint8Array, from: number): number | undefined {
  for (let at = bytes.indexOf(MAGIC & 0xff, from); at >= 0; at = bytes.indexOf(MAGIC & 0xff, at + 1)) {
    if (readGroup(bytes, at) !== undefined) return at;
  }
  return undefined;
}

const prepare = new PrepareHeader();

function readEntry(bytes: Uint8Array, at: number, end: number): JournalEntry | undefined {
  if (at + HEADER_SIZE > end) return undefined;
  const { size, op, checksumBody } = prepare.at(bytes, at);
  if (size < HEADER_SIZE || size > ENTRY_BYTES_MAX || at + size > end || !verifyPrepare(bytes, at)) return undefined;
  const header = bytes.subarray(at, at + HEADER_SIZE);
  const body = bytes.subarray(at + HEADER_SIZE, at + size);
  return checksumBody !== 0n && checksumBody !== xxh3_64(body) ? undefined : { op, header, body };
}

/** Identity of an entry, and of the one that it follows. */
export function linkOf(entry: JournalEntry): { readonly identity: bigint; readonly parent: bigint } {
  return { identity: storedChecksum(entry.header), parent: prepare.at(entry.header).parent };
}
