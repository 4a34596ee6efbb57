import { BATCH_HEADER_SIZE, BatchView, PrepareHeader } from "@iggy/protocol";
import type { JournalEntry } from "../contracts.js";
import { StoreUnavailable, WriteFailed } from "../errors.js";
import { WRITE_NOW_BYTES_MAX } from "../io/files.js";
import type { IoFile } from "../io/io.js";
import { asError, isOutOfSpace } from "../io/os-error.js";
import { GroupCommit } from "../shard/group-commit.js";
import type { StorageShard } from "../shard/storage-shard.js";
import { OPERATION_BYTES_MAX } from "./journal-entry.js";
import { LogMark } from "./log-mark.js";
import { type BatchHead, LogOperation, PREPARE_HEADER_BYTES } from "./log-operation.js";
import type { OffsetReservation } from "./offset-reservation.js";
import type { PrepareJournal } from "./prepare-journal.js";
import { RECORD_BYTES_MAX } from "./record-scanner.js";
import type { ResidentTail } from "./resident-tail.js";
import type { SegmentLog } from "./segment-log.js";
import type { SyncDebt } from "./sync-debt.js";
import { UncommittedOperations } from "./uncommitted-operations.js";

export interface WriterParts {
  readonly directory: string;
  readonly shard: StorageShard;
  readonly log: SegmentLog;
  readonly journal: PrepareJournal;
  readonly resident: ResidentTail;
  readonly reservation: OffsetReservation;
  readonly debt: SyncDebt;
  /** Runs before files are used. */
  readonly onFilesUsed: () => void;
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
const NO_BATCH: BatchHead = { baseOffset: 0, messagesCount: 0, timestampMicros: 0 };

/**
 * The one writer of a partition. It takes everything that is queued, writes the batches to the segments, then the
 * entries to the journal, then syncs both when one of the operations asks for it, and reports the last one; meanwhile the
 * next group gathers. The journal comes second: an entry never names a batch that is not written.
 *
 * A group that only has to be written, to files that are open and take writes at once, is written and reported behind the
 * turn that brought it, without a promise. Everything else takes its time, and what is queued meanwhile waits for it.
 */
export class PartitionWriter {
  private readonly parts: WriterParts;
  private readonly groupCommit: GroupCommit;
  private readonly operations: UncommittedOperations;
  private jobs: (() => Promise<void>)[] = [];
  private isScheduled = false;
  private running = false;
  private failure: Error | undefined;
  private closed = false;
  private queuedOp: number;
  private queuedOffset: number;
  private queueBytes = 0;
  /** Highest operation that was queued and asks for a sync. */
  private durableOp = 0;
  /** Last operation of the group that is being written, 0 when none is. */
  private groupOp = 0;
  private writtenOp: number;
  private stableOp: number;
  private writtenOffset: number;
  private writtenMicros: number;
  /** A checkpoint's sync that took over a part of the debt. */
  private elsewhere: Promise<void> | undefined;

  constructor(parts: WriterParts, start: WriterStart) {
    const { op, syncedOp, nextOffset, timestampMicros } = start;
    const { log, journal, shard } = parts;
    this.parts = parts;
    this.groupCommit = new GroupCommit(shard.groupCommitDelayMicros, shard.clock);
    this.queuedOp = op;
    this.queuedOffset = nextOffset;
    this.writtenOp = op;
    this.stableOp = syncedOp;
    this.writtenOffset = nextOffset;
    this.writtenMicros = timestampMicros;
    this.operations = new UncommittedOperations(
      new LogMark(op, nextOffset, timestampMicros, log.active, journal.mark()),
    );
  }

  /** Highest operation that is written. */
  get journaledOp(): number {
    return this.writtenOp;
  }

  get syncedOp(): number {
    return this.stableOp;
  }

  /** Offset of the next message behind what is written. */
  get nextOffset(): number {
    return this.writtenOffset;
  }

  get timestampMicros(): number {
    return this.writtenMicros;
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
    const batch = kind === "batch" ? this.headOf(entry) : NO_BATCH;
    const operation = new LogOperation(entry, durable, prepareHeader.at(entry.header).timestamp, batch);
    if (durable) {
      this.groupCommit.arrived(this.durableOp <= this.writtenOp);
      this.durableOp = entry.op;
    }
    this.operations.push(operation);
    this.queuedOp = entry.op;
    if (operation.isBatch) this.queuedOffset = operation.baseOffset + operation.messagesCount;
    this.queueBytes += operation.queuedBytes;
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
      this.stableOp = this.writtenOp;
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
    this.stableOp = Math.max(this.stableOp, op);
  }

  /** Forgets the way back below an op: it is committed. */
  commit(op: number): void {
    this.operations.commit(op);
  }

  /** The state right behind an op that is not below the commit point. */
  markAt(op: number): LogMark | undefined {
    return op > this.writtenOp ? undefined : this.operations.markAt(op);
  }

  /** Everything behind a mark was taken off the disk; what waits goes too. To be called from a job. */
  returnTo(mark: LogMark): void {
    const { op, nextOffset, timestampMicros } = mark;
    this.dropQueue();
    // What they held is with the resident tail.
    this.operations.dropAbove(op, () => undefined);
    this.writtenOp = op;
    this.stableOp = Math.min(this.stableOp, op);
    this.writtenOffset = nextOffset;
    this.writtenMicros = timestampMicros;
    this.queuedOp = op;
    this.queuedOffset = nextOffset;
    this.durableOp = Math.min(this.durableOp, op);
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
    this.dropQueue();
  }

  /** The turn that queued something is over. */
  endTurn(): void {
    this.isScheduled = false;
    if (this.running) return;
    const outcome = this.jobs.length > 0 ? "later" : this.takeGroupNow();
    if (outcome === "done") return;
    this.running = true;
    // A callback that throws is a fault of this program and ends the process.
    void this.run(outcome === "later" ? undefined : outcome);
  }

  private headOf({ op, body }: JournalEntry): BatchHead {
    if (body.length < BATCH_HEADER_SIZE) throw new RangeError(`op ${op} is no batch`);
    const { baseOffset, batchLength, messageCount, baseTimestamp } = batchView.at(body);
    if (batchLength !== body.length || messageCount === 0) throw new RangeError(`the batch of op ${op} is not whole`);
    if (baseOffset < this.queuedOffset) {
      throw new RangeError(`the batch of op ${op} begins at offset ${baseOffset}, next is ${this.queuedOffset}`);
    }
    return { baseOffset, messagesCount: messageCount, timestampMicros: baseTimestamp };
  }

  private get hasQueued(): boolean {
    return this.queuedOp > this.writtenOp;
  }

  private start(): void {
    if (this.running || this.isScheduled) return;
    this.isScheduled = true;
    this.parts.shard.turnEnd.schedule(this);
  }

  /** `fault`: a write at once failed, and what it left is to be taken away first. */
  private async run(fault?: Error): Promise<void> {
    if (fault !== undefined) this.refuse(await this.takeBack(fault));
    // In turns, so that neither jobs nor groups can hold the others up.
    while (this.jobs.length > 0 || this.hasQueued) {
      await this.jobs.shift()?.();
      if (!this.hasQueued) continue;
      const outcome = this.takeGroupNow();
      if (outcome === "later") await this.takeGroup();
      else if (outcome !== "done") this.refuse(await this.takeBack(outcome));
    }
    this.running = false;
  }

  /** Writes what is queued, when that needs nothing but a write to files that take one at once. Or gives what failed. */
  private takeGroupNow(): "done" | "later" | Error {
    const { log, journal, reservation, shard } = this.parts;
    const needsMore =
      !this.hasQueued ||
      this.durableOp > this.writtenOp ||
      this.queueBytes > WRITE_NOW_BYTES_MAX ||
      !journal.canWriteNow ||
      !shard.pace.begin() ||
      (this.queuedOffset > this.writtenOffset && !reservation.covers(this.queuedOffset));
    if (needsMore) return "later";
    const group = this.operations.range(this.writtenOp, this.queuedOp);
    const { records, staging } = shard;
    try {
      if (!log.planNow(group, records)) return "later";
      this.parts.onFilesUsed();
      log.writeNow(records);
      journal.stage(group, this.stableOp, staging);
      journal.writeNow(staging);
      shard.pace.end();
      this.accept(group, staging.length);
    } catch (error) {
      return asError(error);
    } finally {
      records.length = 0;
      staging.clear();
    }
    this.report();
    return "done";
  }

  private async takeGroup(): Promise<void> {
    const waitMicros = this.durableOp > this.writtenOp ? this.groupCommit.waitMicros : 0;
    if (waitMicros > 0) await this.groupCommit.wait(waitMicros);
    if (!this.hasQueued) return;
    const group = this.operations.range(this.writtenOp, this.queuedOp);
    this.groupOp = this.queuedOp;
    const fault = await this.writeGroup(group, this.durableOp > this.writtenOp);
    this.groupOp = 0;
    if (fault === undefined) this.report();
    else this.refuse(fault);
  }

  private report(): void {
    this.parts.onJournaled(this.writtenOp);
    this.parts.reservation.renewAhead(this.writtenOffset);
  }

  private refuse(fault: WriteFailed): void {
    if (!fault.outOfSpace || this.hasFailed) {
      this.fail(fault);
      this.dropQueue();
      return;
    }
    this.dropQueue();
    this.parts.onRejected(this.writtenOp + 1, fault);
  }

  private async writeGroup(group: readonly LogOperation[], durable: boolean): Promise<WriteFailed | undefined> {
    const { log, journal, reservation, shard, directory } = this.parts;
    const last = group.findLast(({ isBatch }) => isBatch);
    const staging = shard.stagingPool.take();
    this.parts.onFilesUsed();
    try {
      if (last !== undefined) await reservation.cover(last.baseOffset + last.messagesCount);
      if (journal.needsRotation) await journal.rotate();
      log.plan(group);
      await log.writePlanned();
      journal.stage(group, this.stableOp, staging);
      await journal.write(staging, shard.pace);
    } catch (error) {
      shard.stagingPool.give(staging);
      return this.takeBack(asError(error));
    }
    try {
      const replaced = this.accept(group, staging.length);
      shard.stagingPool.give(staging);
      if (replaced.length > 0) await Promise.all(replaced.map((file) => file.close()));
      if (durable) await this.sync();
    } catch (error) {
      return new WriteFailed(directory, false, asError(error));
    }
    return undefined;
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

  /** What is written becomes a part of the log, all at once. Returns files that are to be closed. */
  private accept(group: readonly LogOperation[], stagedBytes: number): readonly IoFile[] {
    const { log, journal, resident } = this.parts;
    const last = group.at(-1);
    if (last === undefined) return [];
    journal.accept(stagedBytes, last.op);
    const replaced = log.accept(group);
    for (const operation of group) {
      const { body, isBatch, baseOffset, messagesCount, timestampMicros, preparedMicros } = operation;
      this.queueBytes -= operation.queuedBytes;
      if (preparedMicros > this.writtenMicros) this.writtenMicros = preparedMicros;
      if (isBatch) {
        resident.push(body, operation.handOver(), baseOffset, messagesCount, timestampMicros);
        this.writtenOffset = baseOffset + messagesCount;
      } else operation.release();
    }
    this.writtenOp = last.op;
    return replaced;
  }

  /** Drops what waits, but for the group that is being written. */
  private dropQueue(): void {
    const kept = Math.max(this.writtenOp, this.groupOp);
    this.operations.dropAbove(kept, (operation) => {
      this.queueBytes -= operation.queuedBytes;
      operation.release();
    });
    this.queuedOp = kept;
    this.queuedOffset = this.writtenOffset;
    this.durableOp = Math.min(this.durableOp, kept);
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
