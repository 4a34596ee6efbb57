import { BATCH_HEADER_SIZE, BatchView } from "@iggy/protocol";
import type { PartitionOptions, RecoveredPartition } from "../contracts.js";
import { PartitionFenced } from "../errors.js";
import { clearLeftovers, withFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { INDEX_SUFFIX, LOG_SUFFIX, numbered, numbersOf } from "../layout.js";
import type { Checkpoint } from "./checkpoint-file.js";
import { loadIndex } from "./index-file.js";
import type { StoredBatch } from "./journal-entry.js";
import type { JournalScan, ScannedEntry } from "./journal-scan.js";
import { RecordScanner } from "./record-scanner.js";
import { type BatchPlace, Segment } from "./segment.js";
import { buildIndex } from "./segment-indexes.js";
import { SegmentWindow } from "./segment-window.js";
import { SparseIndex } from "./sparse-index.js";
import { isIntact } from "./verify-record.js";

/** What is proven of a log, before anything on disk is changed. */
export interface ProvenLog {
  /** Last operation that is whole: journaled, and its batch intact. */
  readonly op: number;
  /** Everything up to here was on stable storage. */
  readonly syncedOp: number;
  readonly segments: readonly Segment[];
  /** Segments that may hold bytes behind the last sync. */
  readonly unsynced: ReadonlySet<Segment>;
  /** Log files on disk and their sizes. */
  readonly files: ReadonlyMap<number, number>;
  readonly entries: RecoveredPartition["entries"];
  /** One past the highest offset that any entry, proven or lost, names. */
  readonly namedOffset: number;
  /** What was lost although it had been synced, in words; undefined when nothing was. */
  readonly loss: string | undefined;
}

export interface RecoveryInput {
  readonly io: Io;
  readonly directory: string;
  readonly options: PartitionOptions;
  readonly checkpoint: Checkpoint | undefined;
  readonly scan: JournalScan;
  /** What the superblock knows to be synced. */
  readonly syncedOp: number;
  /** The operating system has run on since the last write: nothing that was written can be missing or another. */
  readonly isSameBoot: boolean;
}

const batchView = new BatchView();

/**
 * Finds the end of the log. The journal decides: an operation counts when its entry, all entries before it and all their
 * batches are whole. Where they are not, it depends on what can have happened:
 *
 *   - Above the last sync, a torn end is what a crash leaves; after a loss of power also holes with whole operations
 *     behind them. Both are cut.
 *   - Where only the process ended, a torn end is short and nothing else: bytes are written in their order, and what a
 *     refused write left is cut off before anything else is written. Other bytes than those that were written are damage.
 *   - A hole that no loss of power explains is damage, and so is anything missing below the last sync. It fences the
 *     partition, unless just the end of the log is gone and the topic promised no more than memory.
 *
 * Bytes behind the last journaled batch were never acknowledged, since an entry is written before that, and go.
 */
export class LogRecovery {
  private readonly input: RecoveryInput;
  private readonly window: SegmentWindow;
  private readonly segments: Segment[] = [];
  private readonly unsynced = new Set<Segment>();
  private readonly entries: {
    kind: "batch" | "operation";
    entry: { op: number; header: Uint8Array; body: Uint8Array };
  }[] = [];
  private files = new Map<number, number>();
  /** Entries of the index file of the segment that is being walked. */
  private storedIndex: SparseIndex | undefined;
  private shortened = false;

  constructor(input: RecoveryInput) {
    this.input = input;
    this.window = new SegmentWindow(input.io, (startOffset) => this.pathOf(startOffset));
  }

  async run(): Promise<ProvenLog> {
    try {
      return await this.prove();
    } finally {
      await this.window.close();
    }
  }

  private async prove(): Promise<ProvenLog> {
    const { scan, checkpoint } = this.input;
    const baseOp = checkpoint?.op ?? 0;
    if (scan.baseOp > baseOp) {
      throw this.fence(
        "missing-history",
        `the journal begins behind op ${scan.baseOp}, the checkpoint ends at ${baseOp}`,
      );
    }
    this.files = await this.listFiles();
    await this.takeCheckpointed();
    const above = scan.entries.filter((entry) => entry.op > baseOp);
    const proven = await this.walk(above);
    const op = Math.max(above[proven - 1]?.op ?? 0, baseOp);
    const damaged = above[proven];
    const fault = damaged === undefined ? scan.fault : `the batch of op ${damaged.op} is not whole`;
    let syncedOp = Math.max(this.input.syncedOp, checkpoint?.syncedOp ?? 0);
    let namedOffset = checkpoint?.nextOffset ?? 0;
    for (const { batch, syncedOp: stamped } of [...above, ...scan.strays]) {
      syncedOp = Math.max(syncedOp, stamped);
      if (batch !== undefined) namedOffset = Math.max(namedOffset, batch.baseOffset + batch.messagesCount);
    }
    const loss = await this.judge(op, syncedOp, fault, above.slice(proven));
    this.rememberSavedEntries();
    return {
      op,
      syncedOp: Math.min(op, syncedOp),
      segments: this.segments,
      unsynced: this.unsynced,
      files: this.files,
      entries: this.entries,
      namedOffset,
      loss,
    };
  }

  private async listFiles(): Promise<Map<number, number>> {
    const { io, directory } = this.input;
    const names = (await clearLeftovers(io, directory)) ?? [];
    const starts = numbersOf(names, LOG_SUFFIX);
    for (const start of numbersOf(names, INDEX_SUFFIX)) {
      if (!starts.includes(start)) await io.remove(`${directory}/${numbered(start, INDEX_SUFFIX)}`);
    }
    const sizes = new Map<number, number>();
    for (const start of starts) {
      sizes.set(start, await withFile(io, this.pathOf(start), "read", (file) => file.size()));
    }
    return sizes;
  }

  /** What the checkpoint counts was synced before it: it is taken without a walk when the files are that long. */
  private async takeCheckpointed(): Promise<void> {
    const rows = this.input.checkpoint?.segments ?? [];
    for (const row of rows) {
      const size = this.files.get(row.startOffset);
      if (size === undefined) {
        // Retention removes from the front, also after the checkpoint.
        if (this.segments.length === 0) continue;
        throw this.fence("damaged-log", `${this.pathOf(row.startOffset)} is missing`);
      }
      const segment = Segment.of(row);
      this.segments.push(segment);
      if (size >= row.sizeBytes) continue;
      if (row !== rows.at(-1) || this.input.options.persisted) {
        throw this.fence("damaged-log", `${this.pathOf(row.startOffset)} has ${size} of ${row.sizeBytes} bytes`);
      }
      this.shortened = true;
      await this.shorten(segment, size);
    }
    const end = rows.at(-1)?.nextOffset ?? 0;
    if (rows.length > 0 && this.segments.length === 0 && ![...this.files.keys()].some((start) => start >= end)) {
      throw this.fence("missing-history", "every segment of the last checkpoint is gone");
    }
    const active = this.segments.at(-1);
    if (active !== undefined) await this.beginTail(active);
  }

  /** The file lost its end: keeps the whole records before it. */
  private async shorten(segment: Segment, size: number): Promise<void> {
    const { io, options } = this.input;
    const { startOffset, lastOp } = segment;
    segment.reset(new Segment(startOffset).facts());
    await withFile(io, this.pathOf(startOffset), "read", async (file) => {
      const scanner = new RecordScanner(file, options.partitionId, 0, size);
      for (let step = scanner.next(); step === "record" || step === "more"; step = scanner.next()) {
        if (step === "more") await scanner.fill();
        else if (scanner.head.baseOffset === segment.nextOffset && isIntact(scanner.record, options.shard.checksums)) {
          segment.admit(placeOf(scanner.head), lastOp, false);
        } else break;
      }
    });
  }

  /** Prepares a segment for the batches behind what is proven of it already. */
  private async beginTail(segment: Segment): Promise<void> {
    const { io, directory, options } = this.input;
    const path = `${directory}/${numbered(segment.startOffset, INDEX_SUFFIX)}`;
    const size = this.files.get(segment.startOffset) ?? 0;
    let stored = await loadIndex(io, path, segment.startOffset, size);
    if (stored !== undefined && !(await this.fits(segment, stored))) stored = undefined;
    this.rememberSavedEntries();
    this.storedIndex = stored;
    segment.index = new SparseIndex();
    if (stored !== undefined) {
      for (let i = 0; i < stored.length && stored.positionAt(i) < segment.sizeBytes; i++) {
        segment.index.add(stored.offsetAt(i), stored.timestampAt(i), stored.positionAt(i));
      }
    }
    if (segment.isEmpty || segment.index.length > 0) return;
    options.onWarning(`${path}: index is missing or does not fit its log and is built again`);
    segment.index = await withFile(io, this.pathOf(segment.startOffset), "read", (file) =>
      buildIndex(file, options.partitionId, segment.sizeBytes),
    );
  }

  /** Whether the last entry below the proven end names a batch that is there. */
  private async fits(segment: Segment, index: SparseIndex): Promise<boolean> {
    const entry = index.floorOfPosition(segment.sizeBytes - 1);
    if (entry < 0) return segment.isEmpty;
    const bytes = await this.window.bytes(segment.startOffset, index.positionAt(entry), BATCH_HEADER_SIZE);
    return bytes !== undefined && batchView.at(bytes).baseOffset === index.offsetAt(entry);
  }

  private rememberSavedEntries(): void {
    const segment = this.segments.findLast(({ index }) => index !== undefined);
    const stored = this.storedIndex;
    if (segment?.index === undefined || stored === undefined) return;
    const { index } = segment;
    let same = 0;
    while (same < Math.min(index.length, stored.length) && index.positionAt(same) === stored.positionAt(same)) same++;
    segment.savedEntries = same;
  }

  /** Proves entries one after another; returns how many are whole. */
  private async walk(entries: readonly ScannedEntry[]): Promise<number> {
    for (const [i, { op, header, body, batch }] of entries.entries()) {
      if (batch === undefined) {
        this.entries.push({ kind: "operation", entry: { op, header, body } });
        continue;
      }
      const batchHeader = await this.proveBatch(op, batch);
      if (batchHeader === undefined) return i;
      this.entries.push({ kind: "batch", entry: { op, header, body: batchHeader } });
    }
    return entries.length;
  }

  private async proveBatch(op: number, batch: StoredBatch): Promise<Uint8Array | undefined> {
    const { segmentStart, position, bytes } = batch;
    const known = this.segmentAt(segmentStart);
    if (known !== undefined && position + bytes <= known.sizeBytes) {
      const header = await this.window.bytes(segmentStart, position, BATCH_HEADER_SIZE);
      return header !== undefined && isSame(header, batch) ? copyOf(header) : undefined;
    }
    const segment = known ?? (await this.nextSegment(batch));
    if (segment === undefined || segment !== this.segments.at(-1) || position !== segment.sizeBytes) return undefined;
    const record = await this.window.bytes(segmentStart, position, bytes);
    if (record === undefined || !isSame(record, batch) || !this.isIntact(record)) return undefined;
    const view = batchView.at(record);
    if (view.partitionId !== this.input.options.partitionId || view.baseOffset < segment.nextOffset) return undefined;
    const place = placeOf(view);
    segment.admit(place, op, this.isIndexed(position, place.baseOffset));
    this.unsynced.add(segment);
    return copyOf(record.subarray(0, BATCH_HEADER_SIZE));
  }

  private segmentAt(startOffset: number): Segment | undefined {
    const last = this.segments.at(-1);
    // Nearly always the last: only what was journaled around a checkpoint lies in an earlier one.
    return last?.startOffset === startOffset ? last : this.segments.find((other) => other.startOffset === startOffset);
  }

  private async nextSegment(batch: StoredBatch): Promise<Segment | undefined> {
    const { segmentStart, position, baseOffset } = batch;
    const isNext =
      position === 0 && segmentStart === baseOffset && baseOffset >= (this.segments.at(-1)?.nextOffset ?? 0);
    if (!isNext || !this.files.has(segmentStart)) return undefined;
    const segment = new Segment(segmentStart);
    await this.beginTail(segment);
    this.segments.push(segment);
    return segment;
  }

  private isIndexed(position: number, offset: number): boolean {
    const stored = this.storedIndex;
    if (stored === undefined) return false;
    const entry = stored.floorOfPosition(position);
    return entry >= 0 && stored.positionAt(entry) === position && stored.offsetAt(entry) === offset;
  }

  /** Decides about what is behind the proven end. Returns what of it had been synced, in words. */
  private async judge(
    op: number,
    syncedOp: number,
    fault: string | undefined,
    behind: readonly ScannedEntry[],
  ): Promise<string | undefined> {
    const { scan, options, isSameBoot } = this.input;
    const isBelowSync = op < syncedOp || this.shortened;
    if (fault === undefined && !isBelowSync) return undefined;
    const what = fault ?? "the end of the log is gone";
    const damage = isSameBoot ? this.damageInFullLength(what, behind[0]) : undefined;
    if (damage !== undefined) throw this.fence("damaged-log", damage);
    const lostFile = behind[0]?.batch?.segmentStart;
    if (isSameBoot && lostFile !== undefined && !this.files.has(lostFile)) {
      throw this.fence("damaged-log", `${this.pathOf(lostFile)} is missing`);
    }
    const isEnd = scan.strays.length === 0 && !(await this.anyIntact(behind));
    if (!isBelowSync) {
      if (isEnd || !isSameBoot) return undefined;
      throw this.fence("damaged-log", `${what}, and whole operations follow`);
    }
    if (isEnd && !options.persisted && !(await this.recordsFollow())) return what;
    throw this.fence("damaged-log", `${what}, and everything up to op ${syncedOp} had been synced`);
  }

  /** What lies behind the proven end and is no write that broke off, since it is there in full length; in words. */
  private damageInFullLength(fault: string, first: ScannedEntry | undefined): string | undefined {
    const { scan } = this.input;
    const batch = first?.batch;
    const isBatchThere =
      batch !== undefined && (this.files.get(batch.segmentStart) ?? 0) >= batch.position + batch.bytes;
    if (!isBatchThere && !scan.isDamaged) return undefined;
    const what = isBatchThere ? fault : (scan.fault ?? fault);
    return `${what}, although it was written in full length and the system has run on since`;
  }

  private async anyIntact(entries: readonly ScannedEntry[]): Promise<boolean> {
    for (const { batch } of entries) {
      if (batch === undefined) continue;
      const record = await this.window.bytes(batch.segmentStart, batch.position, batch.bytes);
      if (record !== undefined && isSame(record, batch) && this.isIntact(record)) return true;
    }
    return false;
  }

  /** Whether the segments go on with whole records where the journal ends: then the journal lost its end, not the log. */
  private async recordsFollow(): Promise<boolean> {
    const known = new Map(this.segments.map((segment) => [segment.startOffset, segment.sizeBytes]));
    for (const [startOffset, size] of this.files) {
      const position = known.get(startOffset) ?? 0;
      const head = await this.window.bytes(startOffset, position, BATCH_HEADER_SIZE);
      const length = head === undefined ? 0 : batchView.at(head).batchLength;
      if (length < BATCH_HEADER_SIZE || position + length > size) continue;
      const record = await this.window.bytes(startOffset, position, length);
      if (record !== undefined && this.isIntact(record)) return true;
    }
    return false;
  }

  private isIntact(record: Uint8Array): boolean {
    return isIntact(record, this.input.options.shard.checksums);
  }

  private pathOf(startOffset: number): string {
    return `${this.input.directory}/${numbered(startOffset, LOG_SUFFIX)}`;
  }

  private fence(reason: PartitionFenced["reason"], detail: string): PartitionFenced {
    return new PartitionFenced(reason, this.input.directory, detail);
  }
}

/** A view would keep the whole chunk alive. */
function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

function placeOf(view: BatchView): BatchPlace {
  return {
    baseOffset: view.baseOffset,
    messagesCount: view.messageCount,
    timestampMicros: view.baseTimestamp,
    bytes: view.batchLength,
  };
}

/** Whether bytes begin with the header of the batch that was journaled. */
function isSame(bytes: Uint8Array, batch: StoredBatch): boolean {
  const view = batchView.at(bytes);
  return (
    view.batchLength === batch.bytes &&
    view.baseOffset === batch.baseOffset &&
    view.messageCount === batch.messagesCount &&
    view.checksum === batch.checksum
  );
}
