import type { PartitionCounters, SealedSegment } from "../contracts.js";
import { writeSoon } from "../io/files.js";
import type { Io, IoFile } from "../io/io.js";
import { asError } from "../io/os-error.js";
import { INDEX_SUFFIX, LOG_SUFFIX, numbered } from "../layout.js";
import { saveIndex } from "./index-file.js";
import type { StorageShard } from "../shard/storage-shard.js";
import type { LogOperation } from "./log-operation.js";
import { Segment, type SegmentFacts } from "./segment.js";
import { SparseIndex } from "./sparse-index.js";
import type { SyncDebt } from "./sync-debt.js";

export interface SegmentLogOptions {
  readonly segmentSizeBytes: number;
  readonly preallocate: boolean;
  readonly onWarning: (message: string) => void;
  readonly shard: StorageShard;
}

// Shared, and never changed: most groups plan nothing that lasts.
const NO_RUNS: Run[] = [];

/** Batches that go to one segment, back to back from `position` on. */
interface Run {
  readonly segment: Segment;
  /** Undefined for the active segment, which is open already or opened on demand. */
  readonly created: boolean;
  readonly position: number;
  readonly batches: LogOperation[];
  file?: IoFile;
}

/** The segments of a partition, oldest first, and the writing end of the newest. There is always at least one. */
export class SegmentLog {
  readonly segments: Segment[];
  readonly directory: string;
  private readonly io: Io;
  private readonly options: SegmentLogOptions;
  private readonly debt: SyncDebt;
  private file: IoFile | undefined;
  /** Path of the open file. */
  private path = "";
  private sizeBytes = 0;
  private messagesCount = 0;
  private runs: Run[] = NO_RUNS;
  /** The active segment was written at once, and what was written is not accepted yet. */
  private isActiveTouched = false;
  private reserveWarned = false;
  /** The next batch is the first since the partition was opened: it gets an index entry. */
  private untouched = true;

  constructor(io: Io, directory: string, segments: Segment[], options: SegmentLogOptions, debt: SyncDebt) {
    this.io = io;
    this.directory = directory;
    this.segments = segments;
    this.options = options;
    this.debt = debt;
    this.count();
  }

  get active(): Segment {
    const active = this.segments.at(-1);
    if (active === undefined) throw new RangeError("a partition has at least one segment");
    return active;
  }

  /** Offset of the oldest kept message; equals `nextOffset` when nothing is kept. */
  get startOffset(): number {
    return this.segments[0]?.startOffset ?? 0;
  }

  /** One past the newest message. */
  get nextOffset(): number {
    return this.active.nextOffset;
  }

  get counters(): PartitionCounters {
    return { segmentsCount: this.segments.length, sizeBytes: this.sizeBytes, messagesCount: this.messagesCount };
  }

  /** A full segment is sealed even while the next one does not exist yet. */
  get sealed(): readonly SealedSegment[] {
    const count = this.isFull(this.active) ? this.segments.length : this.segments.length - 1;
    return this.segments.slice(0, count).map((segment) => ({
      startOffset: segment.startOffset,
      endOffset: segment.nextOffset - 1,
      sizeBytes: segment.sizeBytes,
      newestTimestampMicros: segment.newestTimestampMicros,
    }));
  }

  isFull(segment: SegmentFacts): boolean {
    return segment.sizeBytes >= this.options.segmentSizeBytes;
  }

  pathOf(segment: SegmentFacts): string {
    return `${this.directory}/${numbered(segment.startOffset, LOG_SUFFIX)}`;
  }

  indexPathOf(segment: SegmentFacts): string {
    return `${this.directory}/${numbered(segment.startOffset, INDEX_SUFFIX)}`;
  }

  opened(path: string): IoFile | undefined {
    return path === this.path ? this.file : undefined;
  }

  /** The segment with an offset, else the first one behind it. */
  locate(offset: number): Segment | undefined {
    const first = this.firstWhere((segment) => segment.nextOffset > offset);
    return this.segments[first];
  }

  /** The first segment with a batch at or after a time. */
  locateTimestamp(timestampMicros: number): Segment | undefined {
    return this.segments[
      this.firstWhere((segment) => segment.isEmpty || segment.newestTimestampMicros >= timestampMicros)
    ];
  }

  /** Whether a segment is still a part of the log. */
  holds(segment: Segment): boolean {
    return this.segments[this.firstWhere((other) => other.startOffset >= segment.startOffset)] === segment;
  }

  /**
   * Decides where batches go, in order. Only appended bytes decide about a new segment, never how batches are grouped,
   * so that all replicas seal at the same offsets; a gap in the offsets begins one too.
   */
  plan(group: readonly LogOperation[]): void {
    this.runs = [];
    let run: Run = { segment: this.active, created: false, position: this.active.sizeBytes, batches: [] };
    let end = run.position;
    let nextOffset = this.active.nextOffset;
    for (const batch of group) {
      if (!batch.isBatch) continue;
      if (end >= this.options.segmentSizeBytes || batch.baseOffset !== nextOffset) {
        if (run.batches.length > 0) this.runs.push(run);
        run = { segment: newSegment(batch.baseOffset), created: true, position: 0, batches: [] };
        end = 0;
      }
      batch.segmentStart = run.segment.startOffset;
      batch.position = end;
      run.batches.push(batch);
      end += batch.bytes;
      nextOffset = batch.baseOffset + batch.messagesCount;
    }
    if (run.batches.length > 0) this.runs.push(run);
  }

  async writePlanned(): Promise<void> {
    for (const run of this.runs) {
      run.file = run.created ? await this.create(run.segment) : await this.openActive();
      this.debt.addFile(run.created ? this.pathOf(run.segment) : this.path);
      await writeSoon(
        run.file,
        run.batches.map((batch) => batch.body),
        run.position,
        this.options.shard.pace,
      );
    }
  }

  /**
   * Plans a group whose batches all go to the active segment, which is open and takes writes at once, and gathers their
   * records. False when it takes more than that; nothing is planned then.
   */
  planNow(group: readonly LogOperation[], records: Uint8Array[]): boolean {
    const { startOffset } = this.active;
    let { nextOffset, sizeBytes: end } = this.active;
    for (const batch of group) {
      if (!batch.isBatch) continue;
      if (end >= this.options.segmentSizeBytes || batch.baseOffset !== nextOffset) return false;
      batch.segmentStart = startOffset;
      batch.position = end;
      records.push(batch.body);
      end += batch.bytes;
      nextOffset = batch.baseOffset + batch.messagesCount;
    }
    return records.length === 0 || this.file?.writeNow !== undefined;
  }

  writeNow(records: readonly Uint8Array[]): void {
    if (records.length === 0) return;
    this.debt.addFile(this.path);
    this.isActiveTouched = true;
    this.file?.writeNow?.(records, this.active.sizeBytes);
  }

  /** The written operations become a part of the log. Returns files that are not written any more, for closing. */
  accept(group: readonly LogOperation[]): readonly IoFile[] {
    const replaced: IoFile[] = [];
    for (const batch of group) {
      if (!batch.isBatch) continue;
      if (batch.segmentStart !== this.active.startOffset) {
        const run = this.runs.find(({ segment }) => segment.startOffset === batch.segmentStart);
        if (run?.file === undefined) throw new RangeError("a batch is accepted that was not planned");
        if (this.file !== undefined) replaced.push(this.file);
        this.segments.push(run.segment);
        this.use(run.file);
      }
      this.active.admit(batch, batch.op, this.untouched);
      this.untouched = false;
      this.sizeBytes += batch.bytes;
      this.messagesCount += batch.messagesCount;
    }
    this.runs = NO_RUNS;
    this.isActiveTouched = false;
    return replaced.length === 0 ? NO_FILES : replaced;
  }

  /** Takes written bytes away again: the next batch goes to the same place. */
  async rollBack(): Promise<void> {
    const { runs } = this;
    this.runs = NO_RUNS;
    if (this.isActiveTouched) await this.file?.truncate(this.active.sizeBytes);
    this.isActiveTouched = false;
    for (const run of runs) {
      if (!run.created) {
        await run.file?.truncate(run.segment.sizeBytes);
        continue;
      }
      await run.file?.close();
      this.debt.forgive(this.pathOf(run.segment));
      await this.io.remove(this.pathOf(run.segment));
    }
  }

  /** Begins the segment after a full active one, so that the full one can be removed. */
  async openNext(): Promise<void> {
    const segment = newSegment(this.active.nextOffset);
    const file = await this.create(segment);
    await this.file?.close();
    this.segments.push(segment);
    this.use(file);
  }

  /** Takes the oldest segments out of the log; their files are for the caller to remove. */
  removeOldest(count: number): Segment[] {
    const removed = this.segments.splice(0, count);
    this.count();
    for (const segment of removed) {
      this.debt.forgive(this.pathOf(segment));
      this.debt.forgive(this.indexPathOf(segment));
    }
    return removed;
  }

  /** Cuts everything behind `facts`, a state that the log had, off; durably. */
  async truncateTo(end: SegmentFacts): Promise<void> {
    await this.close();
    // Retention may have removed the segment that ended right there: then the next one begins there.
    const isRemoved = end.startOffset < this.startOffset;
    const facts = isRemoved ? new Segment(this.startOffset).facts() : end;
    while (this.active.startOffset > facts.startOffset) {
      const dropped = this.segments.pop();
      if (dropped === undefined) break;
      for (const path of [this.pathOf(dropped), this.indexPathOf(dropped)]) {
        this.debt.forgive(path);
        await this.io.remove(path);
      }
    }
    this.active.reset(facts);
    this.count();
    const file = await this.openActive();
    await file.truncate(facts.sizeBytes);
    await file.sync();
    await this.io.syncDirectory(this.directory);
  }

  /**
   * Writes what the index files lack, to be synced with `debt`; a sealed segment then forgets its index until a reader
   * asks for it. Appends may go on meanwhile.
   */
  async saveIndexes(debt: SyncDebt): Promise<void> {
    for (const segment of [...this.segments]) {
      const { index, savedEntries } = segment;
      if (index === undefined) continue;
      const count = index.length;
      if (count > savedEntries) {
        const path = this.indexPathOf(segment);
        await saveIndex(this.io, path, segment.startOffset, index, savedEntries, count);
        segment.savedEntries = count;
        debt.addFile(path);
        debt.addDirectory(this.directory);
      }
      if (segment !== this.active && index.length === count) segment.index = undefined;
    }
  }

  async close(): Promise<void> {
    const file = this.file;
    this.file = undefined;
    this.path = "";
    await file?.close();
  }

  private async openActive(): Promise<IoFile> {
    return this.file ?? this.use(await this.io.open(this.pathOf(this.active), "write"));
  }

  private use(file: IoFile): IoFile {
    this.file = file;
    this.path = this.pathOf(this.active);
    return file;
  }

  private async create(segment: Segment): Promise<IoFile> {
    const path = this.pathOf(segment);
    const file = await this.io.open(path, "create-exclusive");
    this.debt.addFile(path);
    this.debt.addDirectory(this.directory);
    if (this.options.preallocate) await this.reserve(file, path);
    return file;
  }

  /** Reserving is a favour to the file system: where it is not granted, the log works without. Warns once. */
  private async reserve(file: IoFile, path: string): Promise<void> {
    try {
      if (file.reserve === undefined) throw new Error("this system can't");
      await file.reserve(this.options.segmentSizeBytes);
    } catch (error) {
      if (!this.reserveWarned) this.options.onWarning(`${path}: no disk space is reserved: ${asError(error).message}`);
      this.reserveWarned = true;
    }
  }

  private count(): void {
    this.sizeBytes = this.segments.reduce((sum, segment) => sum + segment.sizeBytes, 0);
    this.messagesCount = this.segments.reduce((sum, segment) => sum + segment.messagesCount, 0);
  }

  /** First position whose segment fulfils a condition that, once true, stays true. */
  private firstWhere(condition: (segment: Segment) => boolean): number {
    let low = 0;
    let high = this.segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const segment = this.segments[middle];
      if (segment !== undefined && !condition(segment)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const NO_FILES: readonly IoFile[] = [];

function newSegment(startOffset: number): Segment {
  const segment = new Segment(startOffset);
  segment.index = new SparseIndex();
  return segment;
}
