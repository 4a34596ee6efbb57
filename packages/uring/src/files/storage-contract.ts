/** The disk as the storage package sees it; written down here because this package depends on none. */
export interface Io {
  open(path: string, mode: OpenMode): Promise<IoFile>;
  makeDirectory(path: string): Promise<void>;
  list(path: string): Promise<readonly string[] | undefined>;
  rename(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  removeEmptyDirectory(path: string): Promise<void>;
  removeTree(path: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
  lock(path: string): Promise<IoLock | undefined>;
  bootId(): Promise<bigint>;
}

export type OpenMode = "read" | "write" | "create-exclusive";

export interface IoFile {
  read(into: Uint8Array, position: number): Promise<number>;
  write(buffers: readonly Uint8Array[], position: number): Promise<void>;
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  size(): Promise<number>;
  reserve?(size: number): Promise<void>;
  close(): Promise<void>;
}

export interface IoLock {
  release(): Promise<void>;
}

/** What is rare enough to be left to another implementation. */
export type FallbackIo = Pick<Io, "makeDirectory" | "list" | "removeTree" | "lock" | "bootId">;
