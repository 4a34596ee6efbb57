import type { Io, IoFile } from "../io/io.js";
import { LOG_SUFFIX, numbered } from "../layout.js";

/** Log files that one partition keeps open for readers; a partition without readers keeps none. */
const OPEN_MAX = 2;

interface OpenFile {
  readonly file: Promise<IoFile>;
  /** The file, once it is open. */
  opened: IoFile | undefined;
  users: number;
  /** Removed from the log: closes when the last user is done. */
  forgotten: boolean;
}

/** Open log files for reading, the least recently used closed first. A file stays readable while somebody uses it. */
export class SegmentFiles {
  private readonly io: Io;
  private readonly directory: string;
  /** In order of last use. */
  private readonly open = new Map<number, OpenFile>();

  constructor(io: Io, directory: string) {
    this.io = io;
    this.directory = directory;
  }

  pathOf(startOffset: number): string {
    return `${this.directory}/${numbered(startOffset, LOG_SUFFIX)}`;
  }

  /** The file of a segment for a use that ends before anything else happens; undefined when it is not open. */
  openedNow(startOffset: number): IoFile | undefined {
    return this.open.get(startOffset)?.opened;
  }

  async use<T>(startOffset: number, reader: (file: IoFile) => Promise<T>): Promise<T> {
    const entry = this.acquire(startOffset);
    try {
      return await reader(await entry.file);
    } catch (error) {
      this.forget(startOffset);
      throw error;
    } finally {
      entry.users--;
      await this.trim(entry);
    }
  }

  /** The file is gone, or may be stale: later users open it anew. */
  forget(startOffset: number): void {
    const entry = this.open.get(startOffset);
    if (entry === undefined) return;
    this.open.delete(startOffset);
    entry.forgotten = true;
    if (entry.users === 0) void closeQuietly(entry);
  }

  /** Closes what nobody uses; the rest closes with its last user. Later users open files anew. */
  async close(): Promise<void> {
    const entries = [...this.open.values()];
    this.open.clear();
    for (const entry of entries) entry.forgotten = true;
    await Promise.all(entries.filter((entry) => entry.users === 0).map(closeQuietly));
  }

  private acquire(startOffset: number): OpenFile {
    const entry = this.open.get(startOffset) ?? this.begin(startOffset);
    entry.users++;
    this.open.delete(startOffset);
    this.open.set(startOffset, entry);
    return entry;
  }

  private begin(startOffset: number): OpenFile {
    const file = this.io.open(this.pathOf(startOffset), "read");
    const entry: OpenFile = { file, opened: undefined, users: 0, forgotten: false };
    // A failure is met by whoever waits for the file.
    file.then(
      (opened) => (entry.opened = opened),
      () => undefined,
    );
    return entry;
  }

  private async trim(released: OpenFile): Promise<void> {
    if (released.forgotten && released.users === 0) await closeQuietly(released);
    for (const [startOffset, entry] of this.open) {
      if (this.open.size <= OPEN_MAX) break;
      if (entry.users > 0) continue;
      this.open.delete(startOffset);
      await closeQuietly(entry);
    }
  }
}

/** A file that never opened has nothing to close, and a failed close of a reader loses nothing. */
async function closeQuietly(entry: OpenFile): Promise<void> {
  const file = await entry.file.catch(() => undefined);
  await file?.close().catch(() => undefined);
}
