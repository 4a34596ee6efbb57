import { type Io, type IoFile, type IoLock, LibuvIo, type OpenMode } from "../src/index.js";
import { DATA } from "./partition-harness.js";

/** The real disk, with the tests' data directory in a directory of its own. */
export class LibuvDataIo implements Io {
  private readonly io = new LibuvIo();
  private readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  open(path: string, mode: OpenMode): Promise<IoFile> {
    return this.io.open(this.real(path), mode);
  }
  makeDirectory(path: string): Promise<void> {
    return this.io.makeDirectory(this.real(path));
  }
  list(path: string): Promise<readonly string[] | undefined> {
    return this.io.list(this.real(path));
  }
  rename(from: string, to: string): Promise<void> {
    return this.io.rename(this.real(from), this.real(to));
  }
  link(from: string, to: string): Promise<void> {
    return this.io.link(this.real(from), this.real(to));
  }
  remove(path: string): Promise<void> {
    return this.io.remove(this.real(path));
  }
  removeEmptyDirectory(path: string): Promise<void> {
    return this.io.removeEmptyDirectory(this.real(path));
  }
  removeTree(path: string): Promise<void> {
    return this.io.removeTree(this.real(path));
  }
  syncDirectory(path: string): Promise<void> {
    return this.io.syncDirectory(this.real(path));
  }
  lock(path: string): Promise<IoLock | undefined> {
    return this.io.lock(this.real(path));
  }
  bootId(): Promise<bigint> {
    return this.io.bootId();
  }

  private real(path: string): string {
    return path === DATA || path.startsWith(`${DATA}/`) ? this.directory + path.slice(DATA.length) : path;
  }
}
