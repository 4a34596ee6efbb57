import { withFile, replaceFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { INDEX_SUFFIX, JOURNAL_SUFFIX, LOG_SUFFIX, numbered } from "../layout.js";
import { encodeJournalHeader, JOURNAL_HEADER_BYTES } from "./journal-file.js";
import type { JournalScan } from "./journal-scan.js";
import type { ProvenLog } from "./log-recovery.js";
import type { JournalFileState, JournalState } from "./prepare-journal.js";
import { Segment } from "./segment.js";
import { SparseIndex } from "./sparse-index.js";

export interface RepairInput {
  readonly io: Io;
  readonly directory: string;
  readonly journalDirectory: string;
  readonly incarnation: number;
  readonly logView: number;
  readonly onWarning: (message: string) => void;
}

/** The journal that ends with `op`, and whether anything on disk lies beyond it. */
export interface JournalEnd {
  readonly state: JournalState;
  readonly isCut: boolean;
  /** The journal ends below `op`, which only the checkpoint covers: it begins anew behind it. */
  readonly isRestart: boolean;
}

export function journalEnd(scan: JournalScan, op: number): JournalEnd {
  const last = scan.entries.findLast((entry) => entry.op <= op);
  const chain = last?.chain ?? scan.entries[0]?.previous ?? scan.chain;
  const files: JournalFileState[] = scan.files.filter((file) => file.firstOp <= op + 1).map((file) => ({ ...file }));
  const newest = files.at(-1);
  if (newest === undefined || newest.lastOp < op) {
    const restarted: JournalFileState = { firstOp: op + 1, lastOp: op, sizeBytes: 0 };
    return { state: { files: [restarted], chain: 0n }, isCut: true, isRestart: true };
  }
  const isCut = scan.fault !== undefined || newest.lastOp > op || files.length < scan.found.length;
  newest.lastOp = op;
  newest.sizeBytes = last?.mark.firstOp === newest.firstOp ? last.mark.sizeBytes : JOURNAL_HEADER_BYTES;
  return { state: { files, chain }, isCut, isRestart: false };
}

/** Takes everything behind the end off the journal, durably. */
export async function cutJournal(input: RepairInput, scan: JournalScan, end: JournalEnd): Promise<void> {
  const { io, journalDirectory, incarnation, logView } = input;
  const newest = end.state.files.at(-1);
  if (newest === undefined) return;
  if (end.isRestart) {
    const header = encodeJournalHeader({ incarnation, firstOp: newest.firstOp, previous: end.state.chain, logView });
    await replaceFile(io, journalDirectory, numbered(newest.firstOp, JOURNAL_SUFFIX), [header]);
    newest.sizeBytes = header.length;
  } else {
    await cutFile(io, `${journalDirectory}/${numbered(newest.firstOp, JOURNAL_SUFFIX)}`, newest.sizeBytes);
  }
  const kept = new Set(end.state.files.map((file) => file.firstOp));
  for (const firstOp of scan.found) {
    if (!kept.has(firstOp)) await io.remove(`${journalDirectory}/${numbered(firstOp, JOURNAL_SUFFIX)}`);
  }
  await io.syncDirectory(journalDirectory);
}

/**
 * Takes everything behind the proven end off the segments, durably, and sees to an active segment that begins or ends
 * where the log goes on. Returns the segments.
 */
export async function cutSegments(input: RepairInput, proven: ProvenLog, nextOffset: number): Promise<Segment[]> {
  const { io, directory, onWarning } = input;
  const segments = [...proven.segments];
  const kept = new Set(segments.map((segment) => segment.startOffset));
  const active = segments.at(-1);
  const oldest = segments[0]?.startOffset ?? 0;
  let changed = false;
  if (active?.isEmpty === true && active.startOffset !== nextOffset) {
    segments.pop();
    kept.delete(active.startOffset);
  }
  for (const [startOffset, size] of proven.files) {
    if (kept.has(startOffset)) continue;
    if (startOffset < oldest) {
      onWarning(`${directory}/${numbered(startOffset, LOG_SUFFIX)} lies before the log and is ignored`);
      continue;
    }
    if (size === 0 && startOffset === nextOffset && startOffset === endOf(segments)) {
      segments.push(emptySegment(startOffset));
      continue;
    }
    if (size > 0) onWarning(`${directory}/${numbered(startOffset, LOG_SUFFIX)}: ${size} unacknowledged bytes removed`);
    await io.remove(`${directory}/${numbered(startOffset, LOG_SUFFIX)}`);
    await io.remove(`${directory}/${numbered(startOffset, INDEX_SUFFIX)}`);
    changed = true;
  }
  for (const segment of segments) {
    const surplus = (proven.files.get(segment.startOffset) ?? 0) - segment.sizeBytes;
    if (surplus <= 0) continue;
    const path = `${directory}/${numbered(segment.startOffset, LOG_SUFFIX)}`;
    onWarning(`${path}: ${surplus} unacknowledged bytes behind byte ${segment.sizeBytes} removed`);
    await cutFile(io, path, segment.sizeBytes);
  }
  if (segments.length === 0) {
    await withFile(io, `${directory}/${numbered(nextOffset, LOG_SUFFIX)}`, "write", (file) => file.sync());
    segments.push(emptySegment(nextOffset));
    changed = true;
  }
  if (changed) await io.syncDirectory(directory);
  return segments;
}

function endOf(segments: readonly Segment[]): number {
  return segments.at(-1)?.nextOffset ?? 0;
}

function emptySegment(startOffset: number): Segment {
  const segment = new Segment(startOffset);
  segment.index = new SparseIndex();
  return segment;
}

async function cutFile(io: Io, path: string, size: number): Promise<void> {
  await withFile(io, path, "write", async (file) => {
    await file.truncate(size);
    await file.sync();
  });
}
