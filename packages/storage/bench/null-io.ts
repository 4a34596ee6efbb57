import { type Io, type IoFile, type IoLock, MemoryIo, type OpenMode } from "../src/index.js";

/** A disk that takes log and journal at once and keeps nothing of them: what is left is what the storage itself costs. */
export class NullIo implements Io {
  private readonly io = new MemoryIo();

  static async open(dataDirectory: string): Promise<NullIo> {
    const io = new NullIo();
    for (const name of ["streams", "partition-initialization"]) await io.makeDirectory(`${dataDirectory}/${name}`);
    return io;
  }

  async open(path: string, mode: OpenMode): Promise<IoFile> {
    const file = await this.io.open(path, mode);
    if (!path.endsWith(".log") && !path.endsWith(".wal")) return file;
    return { ...file, write: () => Promise.resolve(), writeNow: () => undefined, sync: () => Promise.resolve() };
  }
  makeDirectory(path: string): Promise<void> {
    return this.io.makeDirectory(path);
  }
  list(path: string): Promise<readonly string[] | undefined> {
    return this.io.list(path);
  }
  rename(from: string, to: string): Promise<void> {
    return this.io.rename(from, to);
  }
  link(from: string, to: string): Promise<void> {
    return this.io.link(from, to);
  }
  remove(path: string): Promise<void> {
    return this.io.remove(path);
  }
  removeEmptyDirectory(path: string): Promise<void> {
    return this.io.removeEmptyDirectory(path);
  }
  removeTree(path: string): Promise<void> {
    return this.io.removeTree(path);
  }
  syncDirectory(path: string): Promise<void> {
    return this.io.syncDirectory(path);
  }
  lock(path: string): Promise<IoLock | undefined> {
    return this.io.lock(path);
  }
  bootId(): Promise<bigint> {
    return this.io.bootId();
  }
}
