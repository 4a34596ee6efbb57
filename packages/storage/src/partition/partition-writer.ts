import { BATCH_HEADER_SIZE, BatchView, PrepareHeader } from "@iggy/protocol";
import type { JournalEntry } from "../contracts.js";
import { StoreUnavailable, WriteFailed } from "../errors.js";
import { asError, isOutOfSpace } from "../io/os-error.js";
import { OPERATION_BYTES_MAX } from "./journal-entry.js";
import type { OffsetReservation } from "./offset-reservation.js";
import type { JournalMark, PrepareJournal } from "./prepare-journal.js";
import { RECORD_BYTES_MAX } from "./record-scanner.js";
import type { ResidentTail } from "./resident-tail.js";
import type { SegmentFacts } from "./segment.js";
import type { PlannedBatch, SegmentLog } from "./segment-log.js";
import type { SyncDebt } from "./sync-debt.js";

const PREPARE_HEADER_BYTES = 256;

/** The ends of segments and journal right behind an operation. */
export interface LogMark {
  readonly op: number;
  readonly segment: SegmentFacts;
  readonly journal: JournalMark;
  readonly nextOffset: number;
  readonly timestampMicros: number;
}

interface Pending {
  readonly entry: JournalEntry;
  readonly durable: boolean;
  /** Undefined for an operation that is no batch. */
  readonly batch: PlannedBatch | undefined;
  readonly timestampMicros: number;
  journal: JournalMark | undefined;
}

export interface WriterParts {
  readonly directory: string;
  readonly log: SegmentLog;
  readonly journal: PrepareJournal;
  readonly resident: ResidentTail;
  readonly reservation: OffsetReservation;
  readonly debt: SyncDebt;
  readonly onJournaled: (op: number) => void;
  readonly onRejected: (fromOp: number, error: Error) => void;
  readonly onFailed: (error: Error) => void;
}

export interface WriterStart {
  readonly op: number;
  readonly syncedOp: number;
  readonly nextOffset: number;
  readonly timestampMicros: number;
}

const prepareHeader = new PrepareHeader();
const batchView = new BatchView();

/**
 * The one writer of a partition. It takes everything that is queued, writes the batches to the segments, then the
 * entries to the journal, then syncs both when one of the operations asks for it, and reports the last one; meanwhile the
 * next group gathers. The journal comes second: an entry never names a batch that is not written.
 */
export class PartitionWriter {
  private readonly parts: WriterParts;
  private queue: Pending[] = [];
  private jobs: (() => Promise<void>)[] = [];
  private running = false;
  private failure: Error | undefined;
  private closed = false;
  private queuedOp: number;
  private queuedOffset: number;
  private queueBytes = 0;
  private journaled: WriterStart;
  /** A checkpoint's sync that took over a part of the debt. */
  private elsewhere: Promise<void> = Promise.resolve();
  private readonly marks: LogMark[];

  constructor(parts: WriterParts, start: WriterStart) {
    this.parts = parts;
    this.queuedOp = start.op;
    this.queuedOffset = start.nextOffset;
    this.journaled = start;
    const { op, nextOffset, timestampMicros } = start;
    this.marks = [
      { op, segment: parts.log.active.facts(), journal: parts.journal.mark(), nextOffset, timestampMicros },
    ];
  }

  /** Highest operation that is written. */
  get journaledOp(): number {
    return this.journaled.op;
  }

  get syncedOp(): number {
    return this.journaled.syncedOp;
  }

  /** Offset of the next message behind what is written. */
  get nextOffset(): number {
    return this.journaled.nextOffset;
  }

  get timestampMicros(): number {
    return this.journaled.timestampMicros;
  }

  /** Highest operation that waits or is written. */
  get lastOp(): number {
    return this.queuedOp;
  }

  /** Bytes that wait to be written, bodies in full. */
  get waitingBytes(): number {
    return this.queueBytes;
  }

  append(entry: JournalEntry, kind: "batch" | "operation", durable: boolean): void {
    this.checkUsable();
    if (entry.op !== this.queuedOp + 1) throw new RangeError(`op ${entry.op} does not follow op ${this.queuedOp}`);
    const bytesMax = kind === "batch" ? RECORD_BYTES_MAX : OPERATION_BYTES_MAX;
    if (entry.body.length > bytesMax) throw new RangeError(`op ${entry.op} has more than ${bytesMax} bytes`);
    if (entry.header.length !== PREPARE_HEADER_BYTES) throw new RangeError("a prepare header has 256 bytes");
    const batch = kind === "batch" ? this.placeOf(entry) : undefined;
    const timestampMicros = prepareHeader.at(entry.header).timestamp;
    this.queue.push({ entry, durable, batch, timestampMicros, journal: undefined });
    this.queuedOp = entry.op;
    if (batch !== undefined) this.queuedOffset = batch.baseOffset + batch.messagesCount;
    this.queueBytes += bytesOf(entry);
    this.start();
  }

  /** Runs a job between two groups, when nothing else touches the files. */
  exclusive<T>(job: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.jobs.push(() => job().then(resolve, reject));
      this.start();
    });
  }

  /** Runs a job once everything that is queued now is written. */
  async afterQueued<T>(job: () => Promise<T>): Promise<T> {
    const op = this.queuedOp;
    while (this.journaledOp < op && this.queuedOp >= op && this.failure === undefined) {
      await this.exclusive(() => Promise.resolve());
    }
    return this.exclusive(job);
  }

  /** Syncs everything written so far. To be called from a job. A failure ends the writer. */
  async sync(): Promise<void> {
    try {
      await this.elsewhere;
      const { log, journal, debt } = this.parts;
      await debt.settle((path) => log.opened(path) ?? journal.opened(path));
      this.journaled = { ...this.journaled, syncedOp: this.journaled.op };
    } catch (error) {
      throw this.fail(error);
    }
  }

  /** Leaves the sync of a taken part of the debt to a checkpoint; `op` is what it covers. */
  async syncElsewhere(op: number, settle: () => Promise<void>): Promise<void> {
    const earlier = this.elsewhere;
    const work = (async () => {
      await earlier;
      await settle();
    })();
    this.elsewhere = work;
    // The waiters meet the failure too; this keeps it from counting as unhandled when there are none.
    work.catch(() => undefined);
    try {
      await work;
    } catch (error) {
      throw this.fail(error);
    }
    if (op > this.journaled.syncedOp) this.journaled = { ...this.journaled, syncedOp: op };
  }

  /** Forgets the way back below an op: it is committed. */
  commit(op: number): void {
    let keep = 0;
    while ((this.marks[keep + 1]?.op ?? Infinity) <= op) keep++;
    if (keep > 0) this.marks.splice(0, keep);
  }

  /** The state right behind an op that is not below the commit point. */
  markAt(op: number): LogMark | undefined {
    return this.marks.find((mark) => mark.op === op);
  }

  /** Everything behind a mark was taken off the disk; what waits goes too. To be called from a job. */
  returnTo(mark: LogMark): void {
    const { op, nextOffset, timestampMicros } = mark;
    this.dropQueue();
    this.journaled = { op, syncedOp: Math.min(this.journaled.syncedOp, op), nextOffset, timestampMicros };
    this.queuedOp = op;
    this.queuedOffset = nextOffset;
    this.marks.splice(this.marks.findIndex((other) => other.op === mark.op) + 1);
  }

  checkUsable(): void {
    if (this.failure !== undefined) throw new StoreUnavailable(this.parts.directory, "failed", this.failure);
    if (this.closed) throw new StoreUnavailable(this.parts.directory, "closed");
  }

  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  close(): void {
    this.closed = true;
  }

  private placeOf({ op, body }: JournalEntry): PlannedBatch {
    if (body.length < BATCH_HEADER_SIZE) throw new RangeError(`op ${op} is no batch`);
    const { baseOffset, batchLength, messageCount, baseTimestamp } = batchView.at(body);
    if (batchLength !== body.length || messageCount === 0) throw new RangeError(`the batch of op ${op} is not whole`);
    if (baseOffset < this.queuedOffset) {
      throw new RangeError(`the batch of op ${op} begins at offset ${baseOffset}, next is ${this.queuedOffset}`);
    }
    return {
      op,
      record: body,
      baseOffset,
      messagesCount: messageCount,
      timestampMicros: baseTimestamp,
      bytes: body.length,
      segmentStart: 0,
      position: 0,
      after: undefined,
    };
  }

  private start(): void {
    if (this.running) return;
    this.running = true;
    // Begins behind the current turn, so that everything it appends is one group. A callback that throws is a fault of
    // this program and ends the process.
    void Promise.resolve().then(() => this.run());
  }

  private async run(): Promise<void> {
    // In turns, so that neither jobs nor groups can hold the others up.
    while (this.jobs.length > 0 || this.queue.length > 0) {
      await this.jobs.shift()?.();
      if (this.queue.length > 0) await this.takeGroup();
    }
    this.running = false;
  }

  private async takeGroup(): Promise<void> {
    const group = this.queue;
    this.queue = [];
    const fault = await this.writeGroup(group);
    if (fault === undefined) {
      this.parts.onJournaled(this.journaled.op);
      this.parts.reservation.renewAhead(this.journaled.nextOffset);
    } else if (fault.outOfSpace) {
      this.dropQueue();
      this.queuedOp = this.journaled.op;
      this.queuedOffset = this.journaled.nextOffset;
      this.parts.onRejected(this.journaled.op + 1, fault);
    } else {
      this.fail(fault);
    }
  }

  private async writeGroup(group: readonly Pending[]): Promise<WriteFailed | undefined> {
    const { log, journal, reservation } = this.parts;
    const batches = group.flatMap(({ batch }) => batch ?? []);
    const last = batches.at(-1);
    try {
      if (last !== undefined) await reservation.cover(last.baseOffset + last.messagesCount);
      if (journal.needsRotation) await journal.rotate();
      log.plan(batches);
      await log.writePlanned();
      this.stage(group);
      await journal.writeStaged();
    } catch (error) {
      return this.takeBack(asError(error));
    }
    try {
      await this.accept(group);
      if (group.some(({ durable }) => durable)) await this.sync();
    } catch (error) {
      return new WriteFailed(this.parts.directory, false, asError(error));
    }
    return undefined;
  }

  private stage(group: readonly Pending[]): void {
    const { journal } = this.parts;
    const { syncedOp } = this.journaled;
    for (const pending of group) {
      const { op, header, body } = pending.entry;
      pending.journal =
        pending.batch === undefined
          ? journal.stageOperation({ op, header, syncedOp }, body)
          : journal.stageBatch({ op, header, syncedOp }, pending.batch);
    }
  }

  /** A full disk is no damage: what was written of the group is taken away, and the next group goes to its place. */
  private async takeBack(error: Error): Promise<WriteFailed> {
    const { log, journal, directory } = this.parts;
    if (!isOutOfSpace(error)) return new WriteFailed(directory, false, error);
    try {
      // The journal first: an entry must never name a batch that is taken away.
      await journal.rollBack();
      await log.rollBack();
    } catch (failure) {
      return new WriteFailed(directory, false, asError(failure));
    }
    return new WriteFailed(directory, true, error);
  }

  private async accept(group: readonly Pending[]): Promise<void> {
    const { log, journal, resident } = this.parts;
    let segment = log.active.facts();
    journal.accept();
    await log.accept();
    let { nextOffset, timestampMicros } = this.journaled;
    for (const pending of group) {
      const { batch, entry } = pending;
      this.queueBytes -= bytesOf(entry);
      timestampMicros = Math.max(timestampMicros, pending.timestampMicros);
      if (batch !== undefined) {
        resident.push(batch.record, batch.baseOffset, batch.messagesCount, batch.timestampMicros);
        nextOffset = batch.baseOffset + batch.messagesCount;
        segment = batch.after ?? segment;
      }
      if (pending.journal !== undefined) {
        this.marks.push({ op: entry.op, segment, journal: pending.journal, nextOffset, timestampMicros });
      }
    }
    const op = group.at(-1)?.entry.op ?? this.journaled.op;
    this.journaled = { op, syncedOp: this.journaled.syncedOp, nextOffset, timestampMicros };
  }

  private dropQueue(): void {
    this.queue = [];
    this.queueBytes = 0;
  }

  /** Ends the writer: it takes nothing more, and what waits is dropped. */
  fail(error: unknown): Error {
    if (this.failure === undefined) {
      this.failure = WriteFailed.of(this.parts.directory, error);
      this.dropQueue();
      this.parts.onFailed(this.failure);
    }
    return this.failure;
  }
}

function bytesOf(entry: JournalEntry): number {
  return entry.header.length + entry.body.length;
}
