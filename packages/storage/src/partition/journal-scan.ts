import { readFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { JOURNAL_SUFFIX, numbered, numbersOf } from "../layout.js";
import { findEntry, isBeginningOfEntry, readEntry, type StoredEntry } from "./journal-entry.js";
import { decodeJournalHeader, JOURNAL_HEADER_BYTES } from "./journal-file.js";
import type { JournalFileState, JournalMark } from "./prepare-journal.js";

const NOTHING = new Uint8Array(0);

export interface ScannedEntry extends StoredEntry {
  /** The end of the journal right behind it. */
  readonly mark: JournalMark;
}

export interface JournalScan {
  /** Op before the first that the journal has. */
  readonly baseOp: number;
  /** Entries in op order without a gap, up to the end or the first fault. */
  readonly entries: readonly ScannedEntry[];
  /** The files that hold them, with sizes that end behind the last. */
  readonly files: readonly JournalFileState[];
  readonly chain: bigint;
  /** Newest log view of any file. */
  readonly logView: number;
  /** Where the entries end before the bytes do. */
  readonly fault: string | undefined;
  /** The fault is no write that broke off: what lies there can't be the beginning of an entry. */
  readonly isDamaged: boolean;
  /** Whole entries behind the fault. */
  readonly strays: readonly StoredEntry[];
  /** Names of all files that were found. */
  readonly found: readonly number[];
}

/**
 * Reads the journal above `checkpointOp`; older files, whose removal a crash undid, are removed again. Nothing is judged here: whether a fault is
 * a torn end or damage needs the segments too.
 */
export async function scanJournal(
  io: Io,
  directory: string,
  incarnation: number,
  checkpointOp: number,
): Promise<JournalScan> {
  const all = numbersOf((await io.list(directory)) ?? [], JOURNAL_SUFFIX);
  const oldest = all.findLast((firstOp) => firstOp <= checkpointOp + 1) ?? 0;
  const found = all.filter((firstOp) => firstOp >= oldest);
  for (const firstOp of all) {
    if (firstOp < oldest) await io.remove(`${directory}/${numbered(firstOp, JOURNAL_SUFFIX)}`);
  }
  const entries: ScannedEntry[] = [];
  const files: JournalFileState[] = [];
  const strays: StoredEntry[] = [];
  let chain = 0n;
  let logView = 0;
  let fault: string | undefined;
  let isDamaged = false;
  for (const firstOp of found) {
    const path = `${directory}/${numbered(firstOp, JOURNAL_SUFFIX)}`;
    const bytes = (await readFile(io, path)) ?? NOTHING;
    const header = decodeJournalHeader(bytes);
    const last = files.at(-1);
    const follows =
      header?.incarnation === incarnation &&
      header.firstOp === firstOp &&
      (last === undefined || (firstOp === last.lastOp + 1 && header.previous === chain));
    if (fault !== undefined || !follows) {
      fault ??= `${path} does not continue the journal`;
      collectStrays(bytes, JOURNAL_HEADER_BYTES, strays);
      continue;
    }
    if (last === undefined) chain = header.previous;
    logView = Math.max(logView, header.logView);
    const file: JournalFileState = { firstOp, lastOp: firstOp - 1, sizeBytes: JOURNAL_HEADER_BYTES };
    files.push(file);
    for (let entry = readEntry(bytes, file.sizeBytes); entry !== undefined; entry = readEntry(bytes, file.sizeBytes)) {
      if (entry.op !== file.lastOp + 1 || entry.previous !== chain) break;
      file.lastOp = entry.op;
      file.sizeBytes += entry.length;
      chain = entry.chain;
      entries.push({ ...entry, mark: { ...file, chain } });
    }
    if (file.sizeBytes < bytes.length) {
      fault = `${path} is damaged at byte ${file.sizeBytes}`;
      isDamaged = !isBeginningOfEntry(bytes, file.sizeBytes);
      collectStrays(bytes, file.sizeBytes, strays);
    }
  }
  return { baseOp: (found[0] ?? 1) - 1, entries, files, chain, logView, fault, isDamaged, strays, found };
}

function collectStrays(bytes: Uint8Array, from: number, strays: StoredEntry[]): void {
  let at = from;
  for (let next = findEntry(bytes, at); next !== undefined; next = findEntry(bytes, at)) {
    strays.push(next.entry);
    at = next.at + next.entry.length;
  }
}
