import { xxh3_64 } from "@iggy/protocol";
import { getU64, setU64, viewOf } from "../bytes.js";

/**
 * Header of a journal file; entries follow.
 *
 *   0 magic u32 "IGPJ"    8 incarnation u64      24 checksum of the entry before u64   36 20 zero bytes
 *   4 version u16        16 op of the first      32 log_view u32                       56 XXH3-64 of all before
 *   6 2 zero bytes          entry u64
 */
export const JOURNAL_HEADER_BYTES = 64;
const MAGIC = 0x4a504749;
const VERSION = 1;
const CHECKSUM_AT = 56;

export interface JournalFileHeader {
  readonly incarnation: number;
  readonly firstOp: number;
  /** Checksum of the entry before the first, 0 when there is none. */
  readonly previous: bigint;
  /** Last view in which the log was settled when the file was begun. */
  readonly logView: number;
}

export function encodeJournalHeader(header: JournalFileHeader): Uint8Array {
  const bytes = new Uint8Array(JOURNAL_HEADER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  setU64(view, 8, header.incarnation);
  setU64(view, 16, header.firstOp);
  view.setBigUint64(24, header.previous, true);
  view.setUint32(32, header.logView, true);
  view.setBigUint64(CHECKSUM_AT, xxh3_64(bytes, 0, CHECKSUM_AT), true);
  return bytes;
}

/** Undefined when the bytes are no whole header. */
export function decodeJournalHeader(bytes: Uint8Array): JournalFileHeader | undefined {
  if (bytes.length < JOURNAL_HEADER_BYTES) return undefined;
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== MAGIC || view.getUint16(4, true) !== VERSION) return undefined;
  if (view.getBigUint64(CHECKSUM_AT, true) !== xxh3_64(bytes, 0, CHECKSUM_AT)) return undefined;
  return {
    incarnation: getU64(view, 8),
    firstOp: getU64(view, 16),
    previous: view.getBigUint64(24, true),
    logView: view.getUint32(32, true),
  };
}
