import fs from "node:fs";
import type { IoFile } from "./io.js";

/** A raw descriptor. The callback forms of `fs` are used: they cost half of what file handles of `fs/promises` do. */
export class LibuvFile implements IoFile {
  private readonly descriptor: number;

  constructor(descriptor: number) {
    this.descriptor = descriptor;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < into.length) {
      const count = await this.readOnce(into, filled, position + filled);
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }

  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    let rest = buffers.filter((buffer) => buffer.length > 0);
    let at = position;
    while (rest.length > 0) {
      const written = await this.writeOnce(rest, at);
      at += written;
      rest = unwritten(rest, written);
    }
  }

  /** Into the page cache, which takes less than a thread of the pool would take to begin. */
  writeNow(buffers: readonly Uint8Array[], position: number): void {
    let rest = buffers;
    let at = position;
    while (rest.length > 0) {
      const written = this.writeOnceNow(rest, at);
      at += written;
      rest = unwritten(rest, written);
    }
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.descriptor, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  truncate(size: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.ftruncate(this.descriptor, size, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.fstat(this.descriptor, (error, stats) => {
        if (error === null) resolve(stats.size);
        else reject(error);
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.close(this.descriptor, (error) => {
        if (!error) resolve();
        else reject(error);
      });
    });
  }

  private readOnce(into: Uint8Array, offset: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.descriptor, into, offset, into.length - offset, position, (error, count) => {
        if (error === null) resolve(count);
        else reject(error);
      });
    });
  }

  private writeOnceNow(buffers: readonly Uint8Array[], position: number): number {
    const [only] = buffers;
    if (only !== undefined && buffers.length === 1) {
      return fs.writeSync(this.descriptor, only, 0, only.length, position);
    }
    return fs.writevSync(this.descriptor, buffers, position);
  }

  private writeOnce(buffers: readonly Uint8Array[], position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const done = (error: Error | null, written: number): void => {
        if (error === null) resolve(written);
        else reject(error);
      };
      const [only] = buffers;
      if (only !== undefined && buffers.length === 1) {
        fs.write(this.descriptor, only, 0, only.length, position, done);
      } else fs.writev(this.descriptor, buffers, position, done);
    });
  }
}

/** What a short write left over; empty buffers take no room. */
function unwritten(buffers: readonly Uint8Array[], written: number): Uint8Array[] {
  let skipped = written;
  const rest: Uint8Array[] = [];
  for (const buffer of buffers) {
    if (skipped >= buffer.length) skipped -= buffer.length;
    else {
      rest.push(buffer.subarray(skipped));
      skipped = 0;
    }
  }
  return rest;
}
