import type {
  JournalEntry,
  OffsetKind,
  PartitionCounters,
  PartitionOptions,
  PartitionStore,
  ReadRequest,
  ReadResult,
  SealedSegment,
} from "../contracts.js";
import { WriteFailed } from "../errors.js";
import type { Io } from "../io/io.js";
import type { FileHolder } from "../shard/open-files.js";
import type { Superblock, SuperblockState } from "../records/superblock.js";
import { readCheckpoint, writeCheckpoint } from "./checkpoint-file.js";
import { DIRTY_FILES_MAX, type OffsetFiles } from "./offset-files.js";
import { OffsetReservation } from "./offset-reservation.js";
import { PartitionReader } from "./partition-reader.js";
import type { LogMark } from "./log-mark.js";
import { PartitionWriter, type WriterStart } from "./partition-writer.js";
import type { PrepareJournal } from "./prepare-journal.js";
import { ResidentTail } from "./resident-tail.js";
import { SegmentFiles } from "./segment-files.js";
import { SegmentIndexes } from "./segment-indexes.js";
import type { ReplayDebt } from "../shard/replay-budget.js";
import type { SegmentLog } from "./segment-log.js";
import type { SyncDebt } from "./sync-debt.js";

/** Operations above a checkpoint: bounds what recovery reads and replays. A checkpoint is due at half of it. */
const REPLAY_OPS_MAX = 131_072;
/** Segments removed in one go. */
const DELETE_MOST = 16;

export interface StoreParts {
  readonly io: Io;
  readonly directory: string;
  readonly options: PartitionOptions;
  readonly superblock: Superblock;
  readonly bootId: bigint;
  readonly debt: SyncDebt;
  readonly journal: PrepareJournal;
  readonly log: SegmentLog;
  readonly offsets: OffsetFiles;
  readonly checkpointOp: number;
  /** Bytes of batches above the checkpoint. */
  readonly replayBytes: number;
  readonly start: WriterStart;
}

/** The parts of a partition's log behind the one interface. */
export class FilePartitionStore implements PartitionStore, FileHolder {
  usedInSweep = 0;
  private readonly parts: StoreParts;
  private readonly resident: ResidentTail;
  private readonly files: SegmentFiles;
  private readonly indexes: SegmentIndexes;
  private readonly reader: PartitionReader;
  private readonly writer: PartitionWriter;
  private committedOp: number;
  private checkpointOp: number;
  private readonly replay: ReplayDebt;
  /** Retention met a segment that the journal still refers to. */
  private retentionWaits = false;
  /** Checkpoints and truncations, one after another. */
  private lifecycle: Promise<unknown> = Promise.resolve();
  private closing: Promise<void> | undefined;

  constructor(parts: StoreParts) {
    const { io, directory, options, log, superblock } = parts;
    this.parts = parts;
    const { shard } = options;
    this.resident = new ResidentTail(shard.resident);
    this.files = new SegmentFiles(io, directory);
    this.indexes = new SegmentIndexes(io, log, this.files, options.partitionId, options.onWarning);
    this.reader = new PartitionReader({
      log,
      resident: this.resident,
      files: this.files,
      indexes: this.indexes,
      partitionId: options.partitionId,
      checksums: options.validateChecksums ? shard.checksums : undefined,
      memory: shard.readMemory,
      onFilesUsed: this.useFiles,
    });
    this.writer = new PartitionWriter(
      {
        directory,
        shard,
        log,
        journal: parts.journal,
        resident: this.resident,
        reservation: new OffsetReservation(superblock, options.offsetReservationLease, () => this.facts()),
        debt: parts.debt,
        onFilesUsed: this.useFiles,
        onJournaled: options.onJournaled,
        onRejected: options.onRejected,
        onFailed: options.onFailed,
      },
      parts.start,
    );
    this.committedOp = parts.checkpointOp;
    this.checkpointOp = parts.checkpointOp;
    this.replay = shard.replay.open(parts.replayBytes);
  }

  get startOffset(): number {
    const { log } = this.parts;
    return log.startOffset === log.nextOffset ? this.writer.nextOffset : log.startOffset;
  }

  get residentFrom(): number {
    return this.resident.firstOffset;
  }

  get counters(): PartitionCounters {
    return this.parts.log.counters;
  }

  get sealedSegments(): readonly SealedSegment[] {
    return this.parts.log.sealed;
  }

  get checkpointDue(): boolean {
    if (this.committedOp <= this.checkpointOp) return false;
    return (
      this.retentionWaits ||
      this.parts.journal.bytes * 2 >= this.parts.options.journalBytesMax ||
      (this.writer.journaledOp - this.checkpointOp) * 2 >= REPLAY_OPS_MAX ||
      this.replay.isDue ||
      this.parts.offsets.dirtyCount + this.parts.debt.filesCount >= DIRTY_FILES_MAX
    );
  }

  append(entry: JournalEntry, kind: "batch" | "operation", durable: boolean): boolean {
    const { journal, options } = this.parts;
    const bytes = journal.bytes + this.writer.waitingBytes + entry.header.length + entry.body.length;
    if (bytes > options.journalBytesMax || this.writer.lastOp - this.checkpointOp >= REPLAY_OPS_MAX) return false;
    this.writer.append(entry, kind, durable);
    if (kind === "batch") this.replay.add(entry.body.length);
    return true;
  }

  commit(op: number): void {
    if (op > this.writer.journaledOp) throw new RangeError(`op ${op} is not journaled, so it can't be committed`);
    this.committedOp = Math.max(this.committedOp, op);
    this.writer.commit(this.committedOp);
  }

  /** Closes files when nobody uses them any more; a group that waits opens its own again. */
  closeFiles(): void {
    void this.files.close();
    const { log, journal } = this.parts;
    // Closing forces nothing to the disk, so its failure loses nothing: the sync opens the file anew and meets it.
    void this.writer.exclusive(() => Promise.allSettled([log.close(), journal.close()]));
  }

  private readonly useFiles = (): void => {
    this.parts.options.shard.openFiles.use(this);
  };

  read(request: ReadRequest): ReadResult | Promise<ReadResult> {
    return this.reader.read(request);
  }

  offsetAt(timestampMicros: number, ceilingOffset: number): Promise<number | undefined> {
    return this.reader.offsetAt(timestampMicros, ceilingOffset);
  }

  truncateAbove(op: number): Promise<void> {
    if (op < this.committedOp) throw new RangeError(`op ${op} lies below the commit point ${this.committedOp}`);
    return this.inOrder(() => this.writer.exclusive(() => this.truncate(op)));
  }

  deleteSegmentsThrough(offset: number, most = DELETE_MOST): Promise<number> {
    return this.typed(this.deleteOldest(offset, most));
  }

  private async deleteOldest(offset: number, most: number): Promise<number> {
    const { log, io, directory } = this.parts;
    const ending = log.sealed.filter((segment) => segment.endOffset <= offset).length;
    const free = log.segments.findIndex((segment) => segment.lastOp > this.checkpointOp);
    const count = Math.min(ending, free < 0 ? ending : free, most);
    this.retentionWaits ||= free >= 0 && free < Math.min(ending, most);
    if (count === 0) return 0;
    if (count === log.segments.length) {
      this.writer.checkUsable();
      await this.writer.exclusive(() => (count === log.segments.length ? log.openNext() : Promise.resolve()));
    }
    const removed = log.removeOldest(count);
    this.resident.dropBelow(log.startOffset);
    for (const segment of removed) {
      this.files.forget(segment.startOffset);
      this.indexes.forget(segment.startOffset);
      await io.remove(log.pathOf(segment));
      await io.remove(log.indexPathOf(segment));
    }
    await io.syncDirectory(directory);
    return removed.length;
  }

  checkpoint(op: number, checksum: bigint, state: Uint8Array): Promise<void> {
    if (op > this.committedOp) throw new RangeError(`op ${op} is not committed, so no checkpoint can cover it`);
    return this.typed(this.inOrder(() => this.takeCheckpoint(op, checksum, state)));
  }

  storeOffset(kind: OffsetKind, id: number, offset: number, durable: boolean): Promise<void> {
    return this.typed(this.parts.offsets.change(kind, id, offset, durable));
  }

  deleteOffset(kind: OffsetKind, id: number, durable: boolean): Promise<void> {
    return this.typed(this.parts.offsets.change(kind, id, undefined, durable));
  }

  async flush(): Promise<void> {
    this.writer.checkUsable();
    await this.typed(this.writer.afterQueued(() => this.settle()));
  }

  close(): Promise<void> {
    return (this.closing ??= (async () => {
      await this.lifecycle;
      await this.typed(this.writer.afterQueued(() => this.shutDown()));
    })());
  }

  private async settle(): Promise<void> {
    const { log, debt, offsets } = this.parts;
    this.writer.checkUsable();
    await log.saveIndexes(debt);
    await this.writer.sync();
    await offsets.settle();
  }

  private async shutDown(): Promise<void> {
    const { log, journal, superblock, options } = this.parts;
    try {
      if (!this.writer.hasFailed) {
        await this.settle();
        // Nothing confirmed can be missing after this, so the reserved offsets are given back.
        await superblock.update((old) => ({ ...old, ...this.facts(), reservedOffset: this.writer.nextOffset }));
      }
    } finally {
      this.replay.clear();
      this.writer.close();
      this.resident.clear();
      options.shard.openFiles.forget(this);
      await Promise.all([log.close(), journal.close(), this.files.close()]);
    }
  }

  private async takeCheckpoint(op: number, checksum: bigint, state: Uint8Array): Promise<void> {
    if (op <= this.checkpointOp) return;
    const { io, directory, log, journal, debt, offsets, superblock } = this.parts;
    this.writer.checkUsable();
    await log.saveIndexes(debt);
    const cut = await this.writer.exclusive(async () => {
      await journal.rotate();
      this.replay.clear();
      this.retentionWaits = false;
      return {
        debt: debt.take(),
        op: this.writer.journaledOp,
        nextOffset: this.writer.nextOffset,
        timestampMicros: this.writer.timestampMicros,
        segments: log.segments.filter((segment) => !segment.isEmpty).map((segment) => segment.facts()),
      };
    });
    await this.writer.syncElsewhere(cut.op, () => cut.debt.settle(() => undefined));
    await offsets.settle();
    const { nextOffset, timestampMicros, segments } = cut;
    await writeCheckpoint(io, directory, {
      op,
      syncedOp: cut.op,
      checksum,
      nextOffset,
      timestampMicros,
      segments,
      state,
    });
    this.checkpointOp = op;
    await superblock.update((old) => ({ ...old, ...this.facts(), checkpointOp: op, checkpointChecksum: checksum }));
    await journal.dropThrough(op);
  }

  private async truncate(op: number): Promise<void> {
    const { log, journal, io, directory, superblock } = this.parts;
    const mark = this.writer.markAt(op);
    if (mark === undefined) {
      if (op >= this.writer.lastOp) return;
      throw new RangeError(`op ${op} is no operation of the log`);
    }
    try {
      await superblock.update((old) => ({ ...old, syncedOp: Math.min(old.syncedOp, op) }));
      await this.forgetInCheckpoint(io, directory, mark);
      await journal.truncateTo(mark.journal);
      await log.truncateTo(mark.segment);
      log.active.index ??= await this.indexes.of(log.active);
    } catch (error) {
      throw this.writer.fail(error);
    }
    this.resident.dropFrom(mark.nextOffset);
    this.writer.returnTo(mark);
  }

  /** A checkpoint counts every byte that was there when it was taken; those that are taken away must not be missed. */
  private async forgetInCheckpoint(io: Io, directory: string, mark: LogMark): Promise<void> {
    const checkpoint = await readCheckpoint(io, directory);
    if (checkpoint === undefined || checkpoint.syncedOp <= mark.op) return;
    const kept = checkpoint.segments.filter((row) => row.startOffset < mark.segment.startOffset);
    await writeCheckpoint(io, directory, {
      ...checkpoint,
      syncedOp: mark.op,
      segments: mark.segment.sizeBytes > 0 ? [...kept, mark.segment] : kept,
    });
  }

  /** What every write of the superblock brings up to date. */
  private facts(): Partial<SuperblockState> {
    const { nextOffset, syncedOp } = this.writer;
    return { commitMax: this.committedOp, nextOffset, syncedOp, bootId: this.parts.bootId };
  }

  /** Gives what the operating system refused its typed name. */
  private async typed<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw WriteFailed.of(this.parts.directory, error);
    }
  }

  private inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.lifecycle.then(work);
    this.lifecycle = done.catch(() => undefined);
    return done;
  }
}
