import type { JournalEntry } from "../contracts.js";
import { DamagedFile, WriteFailed } from "../errors.js";
import { readFile, withFile } from "../io/files.js";
import type { Io, IoFile } from "../io/io.js";
import { asError } from "../io/os-error.js";
import {
  claimedLength,
  encodeGroup,
  findGroup,
  GROUP_BYTES_MAX,
  linkOf,
  readGroup,
  type StoredGroup,
} from "./journal-group.js";

export const JOURNAL_NAME = "journal.wal";
const COPY_BYTES = 1024 * 1024;

interface GroupPlace {
  readonly lastOp: number;
  readonly position: number;
}

export interface JournalContents {
  readonly entries: readonly JournalEntry[];
  readonly groups: GroupPlace[];
  /** End of the last whole group. */
  readonly sizeBytes: number;
  /** Bytes of a torn group behind it. */
  readonly tornBytes: number;
}

/** Undefined when there is no journal. Throws `DamagedFile`, which names the place, for anything but a torn end. */
export async function readJournal(io: Io, directory: string): Promise<JournalContents | undefined> {
  const path = `${directory}/${JOURNAL_NAME}`;
  const bytes = await readFile(io, path);
  if (bytes === undefined) return undefined;
  const entries: JournalEntry[] = [];
  const groups: GroupPlace[] = [];
  let at = 0;
  let last: JournalEntry | undefined;
  for (let group = readGroup(bytes, at); group !== undefined; group = readGroup(bytes, at)) {
    last = follow(path, at, group, last);
    entries.push(...group.entries);
    groups.push({ lastOp: last.op, position: at });
    at += group.length;
  }
  const tornBytes = bytes.length - at;
  if (tornBytes > 0) expectTornEnd(path, bytes, at);
  return { entries, groups, sizeBytes: at, tornBytes };
}

/** Checks that the entries of a group continue the log, and gives the last of them. */
function follow(path: string, at: number, group: StoredGroup, before: JournalEntry | undefined): JournalEntry {
  let last = before;
  for (const entry of group.entries) {
    if (last !== undefined) {
      if (entry.op !== last.op + 1) throw new DamagedFile(path, `op ${entry.op} follows op ${last.op} at byte ${at}`);
      if (linkOf(entry).parent !== linkOf(last).identity) {
        throw new DamagedFile(path, `op ${entry.op} at byte ${at} is no child of the op before it`);
      }
    }
    last = entry;
  }
  if (last === undefined) throw new DamagedFile(path, `an empty group at byte ${at}`);
  return last;
}

/** A crash tears the end of the last group at most; anything else was damaged while it lay there. */
function expectTornEnd(path: string, bytes: Uint8Array, at: number): void {
  const left = bytes.length - at;
  const isOneGroup = left <= Math.min(claimedLength(bytes, at) ?? GROUP_BYTES_MAX, GROUP_BYTES_MAX);
  const next = findGroup(bytes, at + 1);
  if (next !== undefined)
    throw new DamagedFile(path, `damaged at byte ${at}, and whole entries follow at byte ${next}`);
  if (!isOneGroup) throw new DamagedFile(path, `damaged at byte ${at}, wider than a crash can tear`);
}

/** The one file of the metadata journal, open for appending. */
export class MetadataJournal {
  private readonly io: Io;
  private readonly directory: string;
  private readonly groups: GroupPlace[];
  private sizeBytes: number;
  private file: IoFile | undefined;

  constructor(io: Io, directory: string, contents: Pick<JournalContents, "groups" | "sizeBytes">) {
    this.io = io;
    this.directory = directory;
    this.groups = contents.groups;
    this.sizeBytes = contents.sizeBytes;
  }

  get path(): string {
    return `${this.directory}/${JOURNAL_NAME}`;
  }

  /** Writes a group behind the others. It counts once `sync` resolved. */
  async write(entries: readonly JournalEntry[]): Promise<void> {
    const file = await this.open();
    const pieces = encodeGroup(entries);
    await file.write(pieces, this.sizeBytes);
    this.groups.push({ lastOp: entries.at(-1)?.op ?? 0, position: this.sizeBytes });
    this.sizeBytes += pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  async sync(): Promise<void> {
    await (await this.open()).sync();
  }

  /** Takes bytes behind the last group away, durably. */
  async cut(): Promise<void> {
    const file = await this.open();
    await file.truncate(this.sizeBytes);
    await file.sync();
  }

  /** Drops the groups that lie wholly below `op`; the entry at `op` stays. */
  async dropBelow(op: number): Promise<void> {
    const kept = this.groups.findIndex((group) => group.lastOp >= op);
    const start = this.groups[kept]?.position ?? this.sizeBytes;
    if (start === 0) return;
    const temporary = `${this.path}.tmp`;
    const source = await this.open();
    await withFile(this.io, temporary, "write", async (target) => {
      await target.truncate(0);
      await copyRange(source, start, this.sizeBytes, target);
      await target.sync();
    });
    await this.replaceBy(temporary);
    this.groups.splice(0, kept < 0 ? this.groups.length : kept);
    for (const [i, group] of this.groups.entries()) {
      this.groups[i] = { lastOp: group.lastOp, position: group.position - start };
    }
    this.sizeBytes -= start;
  }

  /** A failure leaves it open which file the name will mean: nothing may be appended any more. */
  private async replaceBy(temporary: string): Promise<void> {
    try {
      await this.close();
      await this.io.rename(temporary, this.path);
      await this.io.syncDirectory(this.directory);
    } catch (error) {
      throw new WriteFailed(this.path, false, asError(error));
    }
  }

  async close(): Promise<void> {
    const file = this.file;
    this.file = undefined;
    await file?.close();
  }

  private async open(): Promise<IoFile> {
    return (this.file ??= await this.io.open(this.path, "write"));
  }
}

async function copyRange(source: IoFile, start: number, end: number, target: IoFile): Promise<void> {
  const chunk = new Uint8Array(Math.min(COPY_BYTES, end - start));
  for (let at = start; at < end; at += chunk.length) {
    const piece = chunk.subarray(0, Math.min(chunk.length, end - at));
    await source.read(piece, at);
    await target.write([piece], at - start);
  }
}
