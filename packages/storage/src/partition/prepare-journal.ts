import { writeSoon } from "../io/files.js";
import type { Io, IoFile } from "../io/io.js";
import { JOURNAL_SUFFIX, numbered } from "../layout.js";
import type { Staging } from "../shard/staging.js";
import type { WritePace } from "../shard/write-pace.js";
import { ChainEnd } from "./chain-end.js";
import { stageBatchEntry, stageOperationEntry } from "./journal-entry.js";
import { encodeJournalHeader, JOURNAL_HEADER_BYTES } from "./journal-file.js";
import type { LogOperation } from "./log-operation.js";
import type { SyncDebt } from "./sync-debt.js";

/** A file that has grown to this is followed by the next one, so that a checkpoint can drop what it covers. */
const FILE_BYTES = 16 * 1024 * 1024;

export interface JournalFileState {
  readonly firstOp: number;
  /** `firstOp - 1` while it holds no entry. */
  lastOp: number;
  sizeBytes: number;
}

/** The end of the journal as it was after some operation. */
export interface JournalMark {
  readonly firstOp: number;
  readonly sizeBytes: number;
  readonly lastOp: number;
  readonly chain: bigint;
}

export interface JournalState {
  readonly files: JournalFileState[];
  readonly chain: bigint;
}

/**
 * The prepare journal of one incarnation: files of entries, the newest one open. Entries are staged, written in one
 * go, and count once `accept` was called; until then `rollBack` takes them away.
 */
export class PrepareJournal {
  readonly directory: string;
  private readonly io: Io;
  private readonly incarnation: number;
  private readonly logView: number;
  private readonly debt: SyncDebt;
  private readonly files: JournalFileState[];
  private readonly chain: ChainEnd;
  private readonly stagedChain: ChainEnd;
  private sizeBytes: number;
  private file: IoFile | undefined;
  /** Path of the open file. */
  private path = "";

  constructor(
    io: Io,
    directory: string,
    identity: { readonly incarnation: number; readonly logView: number },
    state: JournalState,
    debt: SyncDebt,
  ) {
    this.io = io;
    this.directory = directory;
    this.incarnation = identity.incarnation;
    this.logView = identity.logView;
    this.files = state.files;
    this.sizeBytes = state.files.reduce((sum, file) => sum + file.sizeBytes, 0);
    this.chain = ChainEnd.of(state.chain);
    this.stagedChain = ChainEnd.of(state.chain);
    this.debt = debt;
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.sizeBytes;
  }

  get lastOp(): number {
    return this.newest.lastOp;
  }

  /** The handle behind a path, when it is open. */
  opened(path: string): IoFile | undefined {
    return path === this.path ? this.file : undefined;
  }

  /** Puts the entries of operations together, which follow the last accepted one. `syncedOp` is known to be synced. */
  stage(operations: readonly LogOperation[], syncedOp: number, staging: Staging): void {
    const { firstOp, sizeBytes } = this.newest;
    const chain = this.stagedChain;
    chain.copy(this.chain);
    for (const operation of operations) {
      const { op, header, body, segmentStart, position } = operation;
      if (operation.isBatch) stageBatchEntry(staging, chain, op, syncedOp, header, body, segmentStart, position);
      else stageOperationEntry(staging, chain, op, syncedOp, header, body);
      operation.journalFile = firstOp;
      operation.journalEnd = sizeBytes + staging.length;
      operation.chainLow = chain.low;
      operation.chainHigh = chain.high;
    }
  }

  async write(staging: Staging, pace: WritePace): Promise<void> {
    const file = await this.openNewest();
    this.debt.addFile(this.path);
    await writeSoon(file, [staging.written], this.newest.sizeBytes, pace);
  }

  get canWriteNow(): boolean {
    return this.file?.writeNow !== undefined && !this.needsRotation;
  }

  writeNow(staging: Staging): void {
    this.debt.addFile(this.path);
    this.file?.writeNow?.([staging.written], this.newest.sizeBytes);
  }

  /** What was staged and written becomes a part of the journal. */
  accept(stagedBytes: number, lastOp: number): void {
    const { newest } = this;
    newest.sizeBytes += stagedBytes;
    newest.lastOp = lastOp;
    this.sizeBytes += stagedBytes;
    this.chain.copy(this.stagedChain);
  }

  /** Takes what is not accepted away again, from the disk too, so that a crash can't bring it back. */
  async rollBack(): Promise<void> {
    const file = await this.openNewest();
    await file.truncate(this.newest.sizeBytes);
    await file.sync();
  }

  get needsRotation(): boolean {
    return this.newest.sizeBytes >= FILE_BYTES;
  }

  /** Goes on in a new file, unless the newest has no entries. A failure leaves the journal as it was. */
  async rotate(): Promise<void> {
    const { lastOp, firstOp } = this.newest;
    if (lastOp < firstOp) return;
    const state: JournalFileState = { firstOp: lastOp + 1, lastOp, sizeBytes: JOURNAL_HEADER_BYTES };
    const path = this.pathOf(state);
    const file = await this.io.open(path, "write");
    try {
      await file.truncate(0);
      await file.write(
        [encodeJournalHeader({ ...this.identity, firstOp: state.firstOp, previous: this.chain.checksum })],
        0,
      );
    } catch (error) {
      await file.close();
      await this.io.remove(path);
      throw error;
    }
    this.debt.addFile(path);
    this.debt.addDirectory(this.directory);
    await this.file?.close();
    this.file = file;
    this.path = path;
    this.files.push(state);
    this.sizeBytes += state.sizeBytes;
  }

  /** Removes the files that hold nothing above `op`, but for the newest. */
  async dropThrough(op: number): Promise<void> {
    for (let oldest = this.files[0]; oldest !== undefined && this.files.length > 1; oldest = this.files[0]) {
      if (oldest.lastOp > op) break;
      this.files.shift();
      this.sizeBytes -= oldest.sizeBytes;
      const path = this.pathOf(oldest);
      this.debt.forgive(path);
      await this.io.remove(path);
    }
  }

  mark(): JournalMark {
    const { firstOp, sizeBytes, lastOp } = this.newest;
    return { firstOp, sizeBytes, lastOp, chain: this.chain.checksum };
  }

  /** Cuts everything behind a mark off, durably. */
  async truncateTo(mark: JournalMark): Promise<void> {
    await this.close();
    // A checkpoint may have dropped the file that ended right there: then the next one begins there.
    const isDropped = mark.firstOp < (this.files[0]?.firstOp ?? 0);
    const firstOp = isDropped ? mark.lastOp + 1 : mark.firstOp;
    while (this.newest.firstOp > firstOp) {
      const dropped = this.files.pop();
      if (dropped === undefined) break;
      this.debt.forgive(this.pathOf(dropped));
      await this.io.remove(this.pathOf(dropped));
    }
    const file = await this.openNewest();
    const sizeBytes = isDropped ? JOURNAL_HEADER_BYTES : mark.sizeBytes;
    await file.truncate(sizeBytes);
    await file.sync();
    await this.io.syncDirectory(this.directory);
    this.newest.sizeBytes = sizeBytes;
    this.newest.lastOp = mark.lastOp;
    this.sizeBytes = this.files.reduce((sum, { sizeBytes: bytes }) => sum + bytes, 0);
    this.chain.copy(ChainEnd.of(mark.chain));
  }

  async close(): Promise<void> {
    const file = this.file;
    this.file = undefined;
    this.path = "";
    await file?.close();
  }

  private get identity(): { incarnation: number; logView: number } {
    return { incarnation: this.incarnation, logView: this.logView };
  }

  private get newest(): JournalFileState {
    const newest = this.files.at(-1);
    if (newest === undefined) throw new RangeError("a journal has at least one file");
    return newest;
  }

  private pathOf(file: { readonly firstOp: number }): string {
    return `${this.directory}/${numbered(file.firstOp, JOURNAL_SUFFIX)}`;
  }

  private async openNewest(): Promise<IoFile> {
    if (this.file !== undefined) return this.file;
    const path = this.pathOf(this.newest);
    this.file = await this.io.open(path, "write");
    this.path = path;
    return this.file;
  }
}
