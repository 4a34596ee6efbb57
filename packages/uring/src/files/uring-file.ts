import fs from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import type { Block } from "../memory/index.js";
import {
  call,
  type Completion,
  FALLOCATE_KEEP_SIZE,
  Operation,
  type Ring,
  SyncFlag,
  systemError,
} from "../ring/index.js";
import type { IoFile } from "./storage-contract.js";
import { splitAt, totalLength } from "./pieces.js";

/** A write above this gives the event loop a turn in between: it takes milliseconds. */
const WRITE_AT_ONCE_BYTES_MAX = 4 * 1024 * 1024;
/** Read from the disk at a time for somebody whose memory the kernel can't reach. */
const BOUNCE_BYTES = 256 * 1024;
const WOULD_WAIT = -1;

const ftruncate = promisify(fs.ftruncate);
const fstat = promisify(fs.fstat);
const readSlowly = promisify(fs.read);

/** An open file. Its descriptor is this object's own; operations after `close` are refused. */
export class UringFile implements IoFile {
  private readonly ring: Ring;
  private readonly descriptor: number;
  private open = true;

  constructor(ring: Ring, descriptor: number) {
    this.ring = ring;
    this.descriptor = descriptor;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < into.length) {
      const rest = into.subarray(filled);
      const count = this.readNow(rest, position + filled) ?? (await this.readFromDisk(rest, position + filled));
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }

  /**
   * What the page cache has of it, at once: bytes read, 0 at the end of the file. Undefined when the disk must be waited
   * for.
   */
  readNow(into: Uint8Array, position: number): number | undefined {
    const count = this.ring.addon.pread(this.own(), into, position, true);
    return count === WOULD_WAIT ? undefined : count;
  }

  async write(buffers: readonly Uint8Array[], position: number): Promise<void> {
    let rest = buffers;
    let at = position;
    while (totalLength(rest) > WRITE_AT_ONCE_BYTES_MAX) {
      const [first, later] = splitAt(rest, WRITE_AT_ONCE_BYTES_MAX);
      at += this.writeNow(first, at);
      rest = later;
      await nextTurn();
    }
    this.writeNow(rest, at);
  }

  /** Writes all of it into the page cache, and returns how many bytes that were. Throws the system's error. */
  writeNow(buffers: readonly Uint8Array[], position: number): number {
    return this.ring.addon.pwritev(this.own(), buffers, position);
  }

  async sync(): Promise<void> {
    const descriptor = this.own();
    await call(this.ring, "fdatasync", { code: Operation.fsync, descriptor, flags: SyncFlag.dataOnly });
  }

  async truncate(size: number): Promise<void> {
    await ftruncate(this.own(), size);
  }

  async size(): Promise<number> {
    return (await fstat(this.own())).size;
  }

  async reserve(size: number): Promise<void> {
    const descriptor = this.own();
    await call(this.ring, "fallocate", { code: Operation.fallocate, descriptor, size, length: FALLOCATE_KEEP_SIZE });
  }

  async close(): Promise<void> {
    const descriptor = this.own();
    this.open = false;
    await call(this.ring, "close", { code: Operation.close, descriptor });
  }

  private async readFromDisk(into: Uint8Array, position: number): Promise<number> {
    const offset = this.ring.slab.offsetOf(into);
    if (offset !== -1 && this.ring.slab.isMapped) return this.readInto(offset, into.length, position);
    const bounce = this.ring.blocks.allocate(Math.min(into.length, BOUNCE_BYTES));
    if (bounce === undefined) {
      // Short of memory: the thread pool needs none of ours.
      return (await readSlowly(this.own(), into, 0, into.length, position)).bytesRead;
    }
    return this.readThrough(bounce, into, position);
  }

  private async readThrough(bounce: Block, into: Uint8Array, position: number): Promise<number> {
    try {
      const length = Math.min(into.length, bounce.bytes.length);
      const count = await this.readInto(bounce.offset, length, position);
      into.set(bounce.bytes.subarray(0, count));
      return count;
    } finally {
      bounce.release();
    }
  }

  private readInto(offset: number, length: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const owner: Completion = {
        completed: (result) => {
          if (result < 0) reject(systemError(-result, "read"));
          else resolve(result);
        },
      };
      this.ring.read(this.own(), offset, length, position, owner, 0);
    });
  }

  /** Another file may have got the number of a closed one. */
  private own(): number {
    if (!this.open) throw systemError(BAD_DESCRIPTOR, "file");
    return this.descriptor;
  }
}

const BAD_DESCRIPTOR = 9;
