import { viewOf } from "../bytes.js";
import type { Io, IoFile } from "../io/io.js";
import { JOURNAL_SUFFIX, numbered } from "../layout.js";
import {
  type BatchAt,
  ENTRY_HEAD_BYTES,
  type EntryFields,
  entryLength,
  writeBatchEntry,
  writeOperationEntry,
} from "./journal-entry.js";
import { encodeJournalHeader, JOURNAL_HEADER_BYTES } from "./journal-file.js";
import type { SyncDebt } from "./sync-debt.js";

/** A file that has grown to this is followed by the next one, so that a checkpoint can drop what it covers. */
const FILE_BYTES = 16 * 1024 * 1024;

const STAGING_BYTES_MIN = 4096;
/** A larger staging buffer, which one large group needed, is given back. */
const STAGING_BYTES_KEPT = 256 * 1024;
/** Idle partitions are many; they hold no staging buffer. */
const NOTHING = new Uint8Array(0);

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
  private chain: bigint;
  private file: IoFile | undefined;
  private staging: Uint8Array = NOTHING;
  private stagingView = viewOf(NOTHING);
  private staged = 0;
  private stagedChain: bigint;
  private stagedOps = 0;

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
    this.chain = state.chain;
    this.stagedChain = state.chain;
    this.debt = debt;
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  }

  get lastOp(): number {
    return this.newest.lastOp;
  }

  /** The handle behind a path, when it is open. */
  opened(path: string): IoFile | undefined {
    return path === this.pathOf(this.newest) ? this.file : undefined;
  }

  /** Returns the end of the journal as it will be behind the entry. */
  stageBatch(fields: EntryFields, batch: BatchAt): JournalMark {
    const at = this.reserve(ENTRY_HEAD_BYTES);
    this.stagedChain = writeBatchEntry(this.staging, this.stagingView, at, fields, this.stagedChain, batch);
    return this.stagedMark(fields.op);
  }

  stageOperation(fields: EntryFields, body: Uint8Array): JournalMark {
    const at = this.reserve(entryLength(body.length));
    this.stagedChain = writeOperationEntry(this.staging, this.stagingView, at, fields, this.stagedChain, body);
    return this.stagedMark(fields.op);
  }

  async writeStaged(): Promise<void> {
    const file = await this.openNewest();
    this.debt.addFile(this.pathOf(this.newest));
    await file.write([this.staging.subarray(0, this.staged)], this.newest.sizeBytes);
  }

  accept(): void {
    this.newest.sizeBytes += this.staged;
    this.newest.lastOp += this.stagedOps;
    this.chain = this.stagedChain;
    this.clearStaging();
  }

  /** Takes the staged entries away again, from the disk too, so that a crash can't bring them back. */
  async rollBack(): Promise<void> {
    this.clearStaging();
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
      await file.write([encodeJournalHeader({ ...this.identity, firstOp: state.firstOp, previous: this.chain })], 0);
    } catch (error) {
      await file.close();
      await this.io.remove(path);
      throw error;
    }
    this.debt.addFile(path);
    this.debt.addDirectory(this.directory);
    await this.file?.close();
    this.file = file;
    this.files.push(state);
  }

  /** Removes the files that hold nothing above `op`, but for the newest. */
  async dropThrough(op: number): Promise<void> {
    for (let oldest = this.files[0]; oldest !== undefined && this.files.length > 1; oldest = this.files[0]) {
      if (oldest.lastOp > op) break;
      this.files.shift();
      const path = this.pathOf(oldest);
      this.debt.forgive(path);
      await this.io.remove(path);
    }
  }

  mark(): JournalMark {
    const { firstOp, sizeBytes, lastOp } = this.newest;
    return { firstOp, sizeBytes, lastOp, chain: this.chain };
  }

  /** Cuts everything behind a mark off, durably. */
  async truncateTo(mark: JournalMark): Promise<void> {
    await this.close();
    while (this.newest.firstOp > mark.firstOp) {
      const dropped = this.files.pop();
      if (dropped === undefined) break;
      this.debt.forgive(this.pathOf(dropped));
      await this.io.remove(this.pathOf(dropped));
    }
    const file = await this.openNewest();
    await file.truncate(mark.sizeBytes);
    await file.sync();
    await this.io.syncDirectory(this.directory);
    this.newest.sizeBytes = mark.sizeBytes;
    this.newest.lastOp = mark.lastOp;
    this.chain = mark.chain;
    this.clearStaging();
  }

  async close(): Promise<void> {
    const file = this.file;
    this.file = undefined;
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
    return (this.file ??= await this.io.open(this.pathOf(this.newest), "write"));
  }

  private stagedMark(lastOp: number): JournalMark {
    const { firstOp, sizeBytes } = this.newest;
    return { firstOp, sizeBytes: sizeBytes + this.staged, lastOp, chain: this.stagedChain };
  }

  private reserve(bytes: number): number {
    const at = this.staged;
    this.staged += bytes;
    this.stagedOps++;
    if (this.staged > this.staging.length) {
      const larger = new Uint8Array(Math.max(this.staged, this.staging.length * 2, STAGING_BYTES_MIN));
      larger.set(this.staging.subarray(0, at));
      this.useStaging(larger);
    }
    return at;
  }

  private clearStaging(): void {
    this.staged = 0;
    this.stagedOps = 0;
    this.stagedChain = this.chain;
    if (this.staging.length > STAGING_BYTES_KEPT) this.useStaging(NOTHING);
  }

  private useStaging(bytes: Uint8Array): void {
    this.staging = bytes;
    this.stagingView = viewOf(bytes);
  }
}
