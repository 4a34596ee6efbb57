import { HEADER_SIZE, PrepareHeader, verifyPrepare } from "@iggy/protocol";
import type { JournalEntry, MetadataStore } from "../contracts.js";
import { StoreUnavailable, WriteFailed } from "../errors.js";
import type { Io } from "../io/io.js";
import { asError, isOutOfSpace } from "../io/os-error.js";
import type { Superblock } from "../records/superblock.js";
import { ENTRY_BYTES_MAX } from "./journal-group.js";
import type { MetadataJournal } from "./metadata-journal.js";
import { writeSnapshot } from "./snapshot-file.js";

/** Fewest free slots that a checkpoint has to leave untouched, whatever the queue depth. */
const MARGIN_MIN = 64;

interface Waiting {
  readonly entry: JournalEntry;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export interface MetadataStoreParts {
  readonly io: Io;
  readonly directory: string;
  readonly journal: MetadataJournal;
  readonly superblock: Superblock;
  readonly journalSlots: number;
  readonly prepareQueueDepth: number;
  readonly lastOp: number;
  readonly checkpointOp: number;
  readonly bootId: bigint;
}

const prepare = new PrepareHeader();

/** One writer: everything that waits is one group and one sync; the next group gathers meanwhile. */
export class FileMetadataStore implements MetadataStore {
  private readonly parts: MetadataStoreParts;
  private waiting: Waiting[] = [];
  private jobs: (() => Promise<void>)[] = [];
  private running = false;
  private failure: Error | undefined;
  private closed = false;
  private lastOp: number;
  private checkpointOp: number;
  /** Highest commit point that a journaled header names. */
  private commitMax = 0;

  constructor(parts: MetadataStoreParts) {
    this.parts = parts;
    this.lastOp = parts.lastOp;
    this.checkpointOp = parts.checkpointOp;
  }

  get freeSlots(): number {
    return this.parts.journalSlots - (this.lastOp - this.checkpointOp);
  }

  get checkpointDue(): boolean {
    return this.freeSlots <= Math.max(MARGIN_MIN, this.parts.prepareQueueDepth);
  }

  append(entry: JournalEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.checkUsable();
      this.checkEntry(entry);
      this.lastOp = entry.op;
      this.waiting.push({ entry, resolve, reject });
      this.start();
    });
  }

  async checkpoint(op: number, checksum: bigint, snapshot: Uint8Array): Promise<void> {
    if (op > this.lastOp) throw new RangeError(`op ${op} lies beyond the log, which ends at ${this.lastOp}`);
    try {
      await this.exclusive(() => this.takeCheckpoint(op, checksum, snapshot));
    } catch (error) {
      throw WriteFailed.of(this.parts.directory, error);
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    while (this.waiting.length > 0) await this.exclusive(() => Promise.resolve());
    await this.exclusive(() => this.parts.journal.close());
  }

  private async takeCheckpoint(op: number, checksum: bigint, state: Uint8Array): Promise<void> {
    this.checkUsable();
    if (op <= this.checkpointOp) return;
    const { io, directory, superblock, journal, bootId } = this.parts;
    await writeSnapshot(io, directory, { op, checksum, state });
    this.checkpointOp = op;
    const commitMax = Math.max(op, this.commitMax);
    await superblock.update((old) => ({ ...old, commitMax, checkpointOp: op, checkpointChecksum: checksum, bootId }));
    try {
      await journal.dropBelow(op);
    } catch (error) {
      if (error instanceof WriteFailed) this.failure = error;
      throw error;
    }
  }

  private checkUsable(): void {
    const { path } = this.parts.journal;
    if (this.failure !== undefined) throw new StoreUnavailable(path, "failed", this.failure);
    if (this.closed) throw new StoreUnavailable(path, "closed");
  }

  private checkEntry({ op, header, body }: JournalEntry): void {
    if (op !== this.lastOp + 1) throw new RangeError(`op ${op} does not follow op ${this.lastOp}`);
    if (header.length !== HEADER_SIZE || !verifyPrepare(header)) throw new RangeError(`op ${op} is not sealed`);
    const size = HEADER_SIZE + body.length;
    if (prepare.at(header).size !== size || prepare.op !== op) throw new RangeError(`op ${op} has another header`);
    if (size > ENTRY_BYTES_MAX) throw new RangeError(`op ${op} has ${size} bytes, at most ${ENTRY_BYTES_MAX} fit`);
    if (this.freeSlots <= 0) throw new RangeError("no journal slot is free: a checkpoint is overdue");
  }

  /** Runs a job between two groups. */
  private exclusive(job: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.jobs.push(() => job().then(resolve, reject));
      this.start();
    });
  }

  private start(): void {
    if (this.running) return;
    this.running = true;
    void Promise.resolve().then(() => this.run());
  }

  private async run(): Promise<void> {
    // In turns, so that neither jobs nor groups can hold the others up.
    while (this.jobs.length > 0 || this.waiting.length > 0) {
      await this.jobs.shift()?.();
      if (this.waiting.length > 0) await this.writeGroup();
    }
    this.running = false;
  }

  private async writeGroup(): Promise<void> {
    const group = this.takeGroup();
    const fault = await this.store(group.map(({ entry }) => entry));
    if (fault === undefined) {
      for (const { resolve } of group) resolve();
      return;
    }
    // What is queued behind a lost entry can't be stored either.
    const rejected = [...group, ...this.waiting];
    this.waiting = [];
    this.lastOp -= rejected.length;
    if (!fault.outOfSpace) this.failure = fault;
    for (const { reject } of rejected) reject(fault);
  }

  /** As many as wait, up to the size that a torn end may have. */
  private takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { entry } of this.waiting) {
      bytes += entry.header.length + entry.body.length;
      if (count > 0 && bytes > ENTRY_BYTES_MAX) break;
      count++;
    }
    return this.waiting.splice(0, count);
  }

  private async store(entries: readonly JournalEntry[]): Promise<WriteFailed | undefined> {
    const { journal } = this.parts;
    try {
      await journal.write(entries);
    } catch (error) {
      return this.takeBack(asError(error));
    }
    try {
      await journal.sync();
    } catch (error) {
      return new WriteFailed(journal.path, false, asError(error));
    }
    for (const { header } of entries) this.commitMax = Math.max(this.commitMax, prepare.at(header).commit);
    return undefined;
  }

  private async takeBack(error: Error): Promise<WriteFailed> {
    const { journal } = this.parts;
    if (!isOutOfSpace(error)) return new WriteFailed(journal.path, false, error);
    try {
      await journal.cut();
    } catch (failure) {
      return new WriteFailed(journal.path, false, asError(failure));
    }
    return new WriteFailed(journal.path, true, error);
  }
}
