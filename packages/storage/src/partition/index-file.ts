import { getU64, setU64, viewOf } from "../bytes.js";
import { readFile, withFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { SparseIndex } from "./sparse-index.js";

/**
 * The `.index` file of a segment: a header, then entries.
 *
 *   0 magic u32 "IGIX"     6 entry size u16     16 16 zero bytes
 *   4 version u16          8 start offset u64
 *
 *   entry: offset u64 · append time u64, µs · position in the log u64; the entry size leaves room for more
 *
 * It is derived from the log and holds no checksum: an entry counts only when the log has that batch at that place.
 */
const MAGIC = 0x58494749;
const VERSION = 1;
const HEADER_BYTES = 32;
const ENTRY_BYTES = 24;
/** Encoded in one go: a fraction of a millisecond, so that a checkpoint does not hold up the event loop. */
const ENTRIES_AT_ONCE = 4096;

/** Adds the entries from `saved` to `count`, or writes the file anew when `saved` is 0. Not synced. */
export async function saveIndex(
  io: Io,
  path: string,
  startOffset: number,
  index: SparseIndex,
  saved: number,
  count: number,
): Promise<void> {
  await withFile(io, path, "write", async (file) => {
    for (let from = saved; from < count; from += ENTRIES_AT_ONCE) {
      const entries = encodeEntries(index, from, Math.min(count, from + ENTRIES_AT_ONCE));
      if (from > 0) await file.write([entries], HEADER_BYTES + from * ENTRY_BYTES);
      else await file.write([encodeHeader(startOffset), entries], 0);
    }
    await file.truncate(HEADER_BYTES + count * ENTRY_BYTES);
  });
}

/**
 * The entries of a file that can be true of a log of `logBytes`, or undefined when the file is absent or contradicts
 * itself. A partial last entry is left out.
 */
export async function loadIndex(
  io: Io,
  path: string,
  startOffset: number,
  logBytes: number,
): Promise<SparseIndex | undefined> {
  const bytes = await readFile(io, path);
  if (bytes === undefined || bytes.length < HEADER_BYTES) return undefined;
  const view = viewOf(bytes);
  const entryBytes = view.getUint16(6, true);
  if (
    view.getUint32(0, true) !== MAGIC ||
    view.getUint16(4, true) !== VERSION ||
    entryBytes < ENTRY_BYTES ||
    getU64(view, 8) !== startOffset
  ) {
    return undefined;
  }
  const index = new SparseIndex();
  for (let at = HEADER_BYTES; at + entryBytes <= bytes.length; at += entryBytes) {
    const offset = getU64(view, at);
    const timestamp = getU64(view, at + 8);
    const position = getU64(view, at + 16);
    if (position >= logBytes) break;
    if (!follows(index, startOffset, offset, timestamp, position)) return undefined;
    index.add(offset, timestamp, position);
  }
  return index;
}

function follows(
  index: SparseIndex,
  startOffset: number,
  offset: number,
  timestamp: number,
  position: number,
): boolean {
  const last = index.length - 1;
  if (last < 0) return offset === startOffset && position === 0;
  return offset > index.offsetAt(last) && timestamp >= index.timestampAt(last) && position > index.positionAt(last);
}

function encodeHeader(startOffset: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint16(6, ENTRY_BYTES, true);
  setU64(view, 8, startOffset);
  return bytes;
}

function encodeEntries(index: SparseIndex, from: number, to: number): Uint8Array {
  const bytes = new Uint8Array((to - from) * ENTRY_BYTES);
  const view = viewOf(bytes);
  for (let entry = from, at = 0; entry < to; entry++, at += ENTRY_BYTES) {
    setU64(view, at, index.offsetAt(entry));
    setU64(view, at + 8, index.timestampAt(entry));
    setU64(view, at + 16, index.positionAt(entry));
  }
  return bytes;
}
