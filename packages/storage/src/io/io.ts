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
  /** Replaces `to` in one step. Both names lie in the same directory. */
  rename(from: string, to: string): Promise<void>;
  /** A second name for the same bytes. */
  link(from: string, to: string): Promise<void>;
  /** Removes a file; a missing one is fine. */
  remove(path: string): Promise<void>;
  /** Removes a directory that holds nothing; a missing or filled one is left alone. */
  removeEmptyDirectory(path: string): Promise<void>;
  /** Removes a directory with everything in it; a missing one is fine. */
  removeTree(path: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
  /** Takes an exclusive lock that ends with the process; undefined when somebody holds it. Its files begin with `path`. */
  lock(path: string): Promise<IoLock | undefined>;
  /**
   * Names this run of the operating system, 0n when it has no name. While it stays the same, everything written is
   * there, synced or not; under another one, what was not synced may be lost.
   */
  bootId(): Promise<bigint>;
}

/** `write` also reads, and creates a missing file; an existing one keeps its bytes. */
export type OpenMode = "read" | "write" | "create-exclusive";

export interface IoFile {
  /** Bytes read, fewer than asked only at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Writes all buffers back to back. A failure may leave any part of them written. */
  write(buffers: readonly Uint8Array[], position: number): Promise<void>;
  /**
   * The same as `read`, at once: for bytes that are in the operating system's memory. Undefined when it would have to
   * wait for the disk. May give fewer bytes than asked. Absent where that can't be told.
   */
  readNow?(into: Uint8Array, position: number): number | undefined;
  /** The same as `write`, before it returns; throws what `write` rejects with. Absent where that is slower. */
  writeNow?(buffers: readonly Uint8Array[], position: number): void;
  /** Forces written data, and the size, to stable storage. */
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  size(): Promise<number>;
  /** Reserves disk space without changing the size; absent where that is not possible. */
  reserve?(size: number): Promise<void>;
  close(): Promise<void>;
}

export interface IoLock {
  release(): Promise<void>;
}
