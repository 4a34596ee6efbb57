/**
 * The disk as the storage sees it. Everything that touches a file goes through here, so that the same storage code runs
 * on libuv, on io_uring and on the simulator's faulty disk. Failures reject with the operating system's error.
 */
export interface Io {
  open(path: string, mode: OpenMode): Promise<IoFile>;
  /** Creates a directory and its parents; an existing one is fine. Durable only after `syncDirectory` of the parent. */
  makeDirectory(path: string): Promise<void>;
  /** Names in a directory, or undefined when it does not exist. */
  list(path: string): Promise<readonly string[] | undefined>;
  /** Replaces `to` in one step. */
  rename(from: string, to: string): Promise<void>;
  /** A second name for the same bytes. */
  link(from: string, to: string): Promise<void>;
  /** Removes a file; a missing one is fine. */
  remove(path: string): Promise<void>;
  /** Removes a directory with everything in it; a missing one is fine. */
  removeTree(path: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
  /** Takes an exclusive lock that ends with the process; undefined when another process holds it. */
  lock(path: string): Promise<IoLock | undefined>;
}

export type OpenMode = "read" | "write" | "create-exclusive";

export interface IoFile {
  /** Bytes read, fewer than asked only at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Writes all buffers back to back. */
  write(buffers: readonly Uint8Array[], position: number): Promise<void>;
  /** Forces written data to stable storage. */
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  size(): Promise<number>;
  close(): Promise<void>;
}

export interface IoLock {
  release(): Promise<void>;
}
