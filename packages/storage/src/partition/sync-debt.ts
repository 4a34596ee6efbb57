import { runBounded, withFile } from "../io/files.js";
import type { Io, IoFile } from "../io/io.js";
import { isMissing } from "../io/os-error.js";

/** Syncs that run at once: each holds a descriptor, and a thread for long. */
const BARRIERS_MAX = 16;

/** What was written and not yet forced to stable storage. */
export class SyncDebt {
  private readonly io: Io;
  private files = new Set<string>();
  private directories = new Set<string>();

  constructor(io: Io) {
    this.io = io;
  }

  get filesCount(): number {
    return this.files.size;
  }

  addFile(path: string): void {
    this.files.add(path);
  }

  addDirectory(path: string): void {
    this.directories.add(path);
  }

  /** The file is gone. */
  forgive(path: string): void {
    this.files.delete(path);
  }

  /** Hands the whole debt to somebody who will settle it; new writes gather anew. */
  take(): SyncDebt {
    const taken = new SyncDebt(this.io);
    taken.files = this.files;
    taken.directories = this.directories;
    this.files = new Set();
    this.directories = new Set();
    return taken;
  }

  /** Syncs everything. `opened` gives the handle of a file that is open anyway; a file removed meanwhile owes nothing. */
  async settle(opened: (path: string) => IoFile | undefined): Promise<void> {
    const barriers = [
      ...[...this.files].map((path) => () => this.syncFile(path, opened(path))),
      ...[...this.directories].map((path) => () => this.io.syncDirectory(path)),
    ];
    await runBounded(barriers, BARRIERS_MAX);
    this.files.clear();
    this.directories.clear();
  }

  private async syncFile(path: string, file: IoFile | undefined): Promise<void> {
    if (file !== undefined) {
      await file.sync();
      return;
    }
    try {
      await withFile(this.io, path, "read", (opened) => opened.sync());
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}
