import type { Io, IoFile, IoLock, OpenMode } from "./io.js";
import { MemoryDirectory, MemoryFile } from "./memory-disk.js";

/** An operating system's error, as Node shapes it. */
export class DiskError extends Error {
  readonly code: string;

  constructor(code: string, operation: DiskOperation, path: string) {
    super(`${code}: ${operation} ${path}`);
    this.name = "DiskError";
    this.code = code;
  }
}

export type DiskOperation =
  | "open"
  | "create"
  | "read"
  | "write"
  | "sync"
  | "truncate"
  | "list"
  | "rename"
  | "link"
  | "remove"
  | "make-directory"
  | "remove-directory"
  | "sync-directory"
  | "lock";

const MUTATIONS: ReadonlySet<DiskOperation> = new Set([
  "create",
  "write",
  "sync",
  "truncate",
  "rename",
  "link",
  "remove",
  "make-directory",
  "remove-directory",
  "sync-directory",
]);

export interface DiskFault {
  readonly operation: DiskOperation;
  /** Which paths fail; all when left out. */
  readonly path?: (path: string) => boolean;
  /** Symbolic error such as `EIO`. */
  readonly code: string;
  /** How often it fails; for ever when left out. */
  readonly times?: number;
}

export interface MemoryIoOptions {
  /** Chooses what tears and what survives; give a seeded one for runs that repeat. 0 <= value < 1. */
  readonly random?: () => number;
  /** Bytes that all files together may have; a write that passes it is cut short with ENOSPC. */
  readonly capacityBytes?: number;
  /** Runs before each operation takes effect: a simulator's clock goes here. */
  readonly latency?: () => Promise<void>;
  /** Files also take `writeNow` and `readNow`. A read that it says would block is left to `read`. */
  readonly immediate?: { readonly wouldBlock: () => boolean };
}

/**
 * A disk in memory that fails as disks do. One `MemoryIo` is one run of a process on it: `kill` ends the process and
 * keeps every write, `losePower` also drops a random part of what was not synced; both give the `Io` of the next run.
 */
export class MemoryIo implements Io {
  private readonly options: MemoryIoOptions;
  private readonly root: MemoryDirectory;
  private readonly boot: bigint;
  private readonly locks = new Set<string>();
  private readonly faults = new Map<DiskFault, number>();
  private running = true;
  private capacity: number;
  private mutationsLeft = Infinity;

  constructor(options: MemoryIoOptions = {}, root = new MemoryDirectory(), boot = 1n) {
    this.options = options;
    this.root = root;
    this.boot = boot;
    this.capacity = options.capacityBytes ?? Infinity;
  }

  /** The process ends; the operating system keeps what was written. */
  kill(): MemoryIo {
    this.running = false;
    return new MemoryIo({ ...this.options, capacityBytes: this.capacity }, this.root, this.boot);
  }

  /** The machine stops; what was not synced is kept or lost sector by sector. */
  losePower(): MemoryIo {
    this.running = false;
    this.root.losePower(this.random);
    return new MemoryIo({ ...this.options, capacityBytes: this.capacity }, this.root, this.boot + 1n);
  }

  /** Everything stops in the middle of the given mutating operation from now, 1 being the next. */
  haltAt(mutation: number): void {
    this.mutationsLeft = mutation;
  }

  get halted(): boolean {
    return !this.running;
  }

  /** Makes operations fail until the returned function is called. */
  fail(fault: DiskFault): () => void {
    this.faults.set(fault, fault.times ?? Infinity);
    return () => this.faults.delete(fault);
  }

  set capacityBytes(bytes: number) {
    this.capacity = bytes;
  }

  /** A copy of a file's bytes, or undefined when there is no such file. */
  contents(path: string): Uint8Array | undefined {
    return this.find(path) instanceof MemoryFile ? this.file(path).bytes().slice() : undefined;
  }

  /** Replaces a file's bytes behind the program's back, durably. */
  setContents(path: string, bytes: Uint8Array): void {
    const file = this.find(path) instanceof MemoryFile ? this.file(path) : new MemoryFile();
    file.truncate(0);
    file.write(bytes, 0);
    file.sync();
    const { directory, name } = this.place(path, "write");
    directory.change([[name, file]]);
    directory.sync();
  }

  /** Every file below a directory. */
  tree(path = ""): string[] {
    const entry = this.find(path);
    if (entry instanceof MemoryFile) return [path];
    return [...(entry?.entries.keys() ?? [])].sort().flatMap((name) => this.tree(`${path}/${name}`));
  }

  async open(path: string, mode: OpenMode): Promise<IoFile> {
    const existing = this.find(path);
    const creates = existing === undefined && mode !== "read";
    const effective = await this.begin(creates ? "create" : "open", path);
    const { directory, name } = this.place(path, "open");
    if (creates) {
      if (directory.entries.has(name) && mode === "create-exclusive") throw new DiskError("EEXIST", "create", path);
      if (effective && !directory.entries.has(name)) directory.change([[name, new MemoryFile()]]);
    } else if (mode === "create-exclusive") throw new DiskError("EEXIST", "create", path);
    this.finish(path);
    return this.handle(this.file(path), path);
  }

  async makeDirectory(path: string): Promise<void> {
    const effective = await this.begin("make-directory", path);
    if (effective) {
      let directory = this.root;
      for (const name of namesOf(path)) {
        let next = directory.entries.get(name);
        if (next === undefined) directory.change([[name, (next = new MemoryDirectory())]]);
        if (next instanceof MemoryFile) throw new DiskError("ENOTDIR", "make-directory", path);
        directory = next;
      }
    }
    this.finish(path);
  }

  async list(path: string): Promise<readonly string[] | undefined> {
    await this.begin("list", path);
    const entry = this.find(path);
    if (entry === undefined) return undefined;
    if (entry instanceof MemoryFile) throw new DiskError("ENOTDIR", "list", path);
    return [...entry.entries.keys()];
  }

  async rename(from: string, to: string): Promise<void> {
    const effective = await this.begin("rename", from);
    const source = this.place(from, "rename");
    const target = this.place(to, "rename");
    if (source.directory !== target.directory) throw new DiskError("EXDEV", "rename", from);
    const entry = source.directory.entries.get(source.name);
    if (entry === undefined) throw new DiskError("ENOENT", "rename", from);
    if (effective) {
      source.directory.change([
        [source.name, undefined],
        [target.name, entry],
      ]);
    }
    this.finish(from);
  }

  async link(from: string, to: string): Promise<void> {
    const effective = await this.begin("link", from);
    const file = this.file(from);
    const { directory, name } = this.place(to, "link");
    if (directory.entries.has(name)) throw new DiskError("EEXIST", "link", to);
    if (effective) directory.change([[name, file]]);
    this.finish(from);
  }

  async remove(path: string): Promise<void> {
    await this.unlink("remove", path, (entry) => entry instanceof MemoryFile);
  }

  async removeEmptyDirectory(path: string): Promise<void> {
    await this.unlink(
      "remove-directory",
      path,
      (entry) => entry instanceof MemoryDirectory && entry.entries.size === 0,
    );
  }

  async removeTree(path: string): Promise<void> {
    await this.unlink("remove-directory", path, () => true);
  }

  async syncDirectory(path: string): Promise<void> {
    const effective = await this.begin("sync-directory", path);
    const entry = this.find(path);
    if (!(entry instanceof MemoryDirectory)) throw new DiskError("ENOENT", "sync-directory", path);
    if (effective) entry.sync();
    this.finish(path);
  }

  async lock(path: string): Promise<IoLock | undefined> {
    await this.begin("lock", path);
    if (this.locks.has(path)) return undefined;
    this.locks.add(path);
    return {
      release: () => {
        this.locks.delete(path);
        return Promise.resolve();
      },
    };
  }

  bootId(): Promise<bigint> {
    return Promise.resolve(this.boot);
  }

  private readonly random = (): number => (this.options.random ?? Math.random)();

  private handle(file: MemoryFile, path: string): IoFile {
    const { immediate } = this.options;
    return {
      read: async (into, position) => {
        await this.begin("read", path);
        return readFrom(file, into, position);
      },
      write: async (buffers, position) => {
        this.write(file, path, buffers, position, await this.begin("write", path));
      },
      ...(immediate === undefined
        ? {}
        : {
            readNow: (into: Uint8Array, position: number): number | undefined => {
              if (immediate.wouldBlock()) return undefined;
              this.take("read", path);
              return readFrom(file, into, position);
            },
            writeNow: (buffers: readonly Uint8Array[], position: number): void => {
              this.write(file, path, buffers, position, this.take("write", path));
            },
          }),
      sync: async () => {
        if (await this.begin("sync", path)) file.sync();
        this.finish(path);
      },
      truncate: async (size) => {
        if (await this.begin("truncate", path)) file.truncate(size);
        this.finish(path);
      },
      size: async () => {
        await this.begin("read", path);
        return file.size;
      },
      close: () => Promise.resolve(),
    };
  }

  private write(
    file: MemoryFile,
    path: string,
    buffers: readonly Uint8Array[],
    position: number,
    effective: boolean,
  ): void {
    const bytes = joined(buffers);
    const room = this.roomFor(file, position);
    const kept = effective ? Math.min(bytes.length, Math.max(0, room)) : this.below(bytes.length + 1);
    if (kept > 0) file.write(bytes.subarray(0, kept), position);
    this.finish(path);
    if (kept < bytes.length) throw new DiskError("ENOSPC", "write", path);
  }

  private async begin(operation: DiskOperation, path: string): Promise<boolean> {
    await (this.options.latency?.() ?? Promise.resolve());
    return this.take(operation, path);
  }

  /** False when the machine stops in this very operation: it then takes effect in part or not at all. */
  private take(operation: DiskOperation, path: string): boolean {
    if (!this.running) throw new DiskError("EHALTED", operation, path);
    for (const [fault, times] of this.faults) {
      if (fault.operation !== operation || fault.path?.(path) === false || times === 0) continue;
      this.faults.set(fault, times - 1);
      throw new DiskError(fault.code, operation, path);
    }
    if (!MUTATIONS.has(operation)) return true;
    this.mutationsLeft--;
    if (this.mutationsLeft > 0) return true;
    this.running = false;
    return this.random() < 0.5 && operation !== "write";
  }

  private finish(path: string): void {
    if (!this.running) throw new DiskError("EHALTED", "open", path);
  }

  private async unlink(
    operation: "remove" | "remove-directory",
    path: string,
    allowed: (entry: MemoryFile | MemoryDirectory) => boolean,
  ): Promise<void> {
    const effective = await this.begin(operation, path);
    const entry = this.find(path);
    if (entry !== undefined && allowed(entry) && effective) {
      const { directory, name } = this.place(path, operation);
      directory.change([[name, undefined]]);
    }
    this.finish(path);
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  private roomFor(file: MemoryFile, position: number): number {
    if (this.capacity === Infinity) return Infinity;
    return this.capacity - this.usedBytes() + Math.max(0, file.size - position);
  }

  private usedBytes(entry: MemoryFile | MemoryDirectory = this.root): number {
    if (entry instanceof MemoryFile) return entry.size;
    let sum = 0;
    for (const child of entry.entries.values()) sum += this.usedBytes(child);
    return sum;
  }

  private find(path: string): MemoryFile | MemoryDirectory | undefined {
    let entry: MemoryFile | MemoryDirectory | undefined = this.root;
    for (const name of namesOf(path)) {
      entry = entry instanceof MemoryDirectory ? entry.entries.get(name) : undefined;
    }
    return entry;
  }

  private file(path: string): MemoryFile {
    const entry = this.find(path);
    if (entry === undefined) throw new DiskError("ENOENT", "open", path);
    if (entry instanceof MemoryDirectory) throw new DiskError("EISDIR", "open", path);
    return entry;
  }

  private place(
    path: string,
    operation: DiskOperation,
  ): { readonly directory: MemoryDirectory; readonly name: string } {
    const names = namesOf(path);
    const name = names.pop();
    const directory = this.find(names.join("/"));
    if (name === undefined || !(directory instanceof MemoryDirectory)) throw new DiskError("ENOENT", operation, path);
    return { directory, name };
  }
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

function readFrom(file: MemoryFile, into: Uint8Array, position: number): number {
  const bytes = file.bytes().subarray(position, position + into.length);
  into.set(bytes);
  return bytes.length;
}

function joined(buffers: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(buffers.reduce((sum, buffer) => sum + buffer.length, 0));
  let at = 0;
  for (const buffer of buffers) {
    bytes.set(buffer, at);
    at += buffer.length;
  }
  return bytes;
}
