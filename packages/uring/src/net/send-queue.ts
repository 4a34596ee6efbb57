import type { Block, Slab } from "../memory/index.js";
import type { SendMemory } from "./send-memory.js";

/** Pieces up to this size are copied next to each other: one more entry in a table costs the kernel more. */
const COPY_BYTES_MAX = 512;

/**
 * What a stream has to send: spans of the slab, in order, and who wants to know when they are taken. Bytes elsewhere are
 * copied into the slab; only when that is out of memory they are kept as they are.
 */
export class SendQueue {
  /** Bytes added and not yet taken. */
  queuedBytes = 0;
  private readonly slab: Slab;
  private readonly memory: SendMemory;
  private readonly offsets: number[] = [];
  private readonly lengths: number[] = [];
  /** The block of a copy, which is released with it. */
  private readonly holds: (Block | undefined)[] = [];
  private readonly foreign: (Uint8Array | undefined)[] = [];
  private head = 0;
  /** Spans that the kernel works on; they must not grow. */
  private underWay = 0;
  private takenBytes = 0;
  private readonly ends: number[] = [];
  private readonly dones: (() => void)[] = [];
  private firstDone = 0;

  constructor(slab: Slab, memory: SendMemory) {
    this.slab = slab;
    this.memory = memory;
  }

  get spans(): number {
    return this.offsets.length - this.head;
  }

  /** Adds pieces; those of the slab must stay as they are until `done`. */
  add(pieces: readonly Uint8Array[], done: (() => void) | undefined): void {
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.queuedBytes += piece.length;
      const offset = this.slab.offsetOf(piece);
      if (offset === -1 || piece.length <= COPY_BYTES_MAX) this.addCopy(piece, offset);
      else this.addSpan(offset, piece.length, undefined, undefined);
    }
    if (done === undefined) return;
    this.ends.push(this.takenBytes + this.queuedBytes);
    this.dones.push(done);
  }

  /** Offset and length of a span, counted from the first one; the offset is -1 for bytes outside the slab. */
  offset(index: number): number {
    return this.offsets[this.head + index] ?? -1;
  }

  length(index: number): number {
    return this.lengths[this.head + index] ?? 0;
  }

  /** The bytes of the first span, when they lie outside the slab. */
  foreignBytes(): Uint8Array | undefined {
    return this.foreign[this.head];
  }

  /** The kernel begins with so many spans. */
  begin(spans: number): void {
    this.underWay = spans;
  }

  /** The kernel is done with them and took so many bytes; whoever waited for those is told. */
  take(bytes: number): void {
    this.underWay = 0;
    this.takenBytes += bytes;
    this.queuedBytes -= bytes;
    let left = bytes;
    while (left > 0) {
      const length = this.lengths[this.head] ?? left;
      if (length > left) {
        this.shorten(left);
        break;
      }
      left -= length;
      this.holds[this.head]?.release();
      this.holds[this.head] = undefined;
      this.foreign[this.head] = undefined;
      this.head++;
    }
    if (this.head === this.offsets.length) this.reset();
    this.tell();
  }

  /** Forgets everything that is queued; whoever waits is told. */
  drop(): void {
    for (const block of this.holds.slice(this.head)) block?.release();
    this.reset();
    this.takenBytes += this.queuedBytes;
    this.queuedBytes = 0;
    this.tell();
  }

  private addCopy(piece: Uint8Array, offset: number): void {
    let from = 0;
    while (from < piece.length) {
      const block = this.memory.current();
      if (block === undefined) {
        if (offset === -1) this.addSpan(-1, piece.length - from, undefined, piece.subarray(from));
        else this.addSpan(offset + from, piece.length - from, undefined, undefined);
        return;
      }
      const start = this.memory.offsetIn(block);
      const length = this.memory.copy(block, piece, from);
      from += length;
      if (!this.extend(block, start, length)) {
        block.retain();
        this.addSpan(start, length, block, undefined);
      }
    }
  }

  /** Joins a copy with the one before it. */
  private extend(block: Block, start: number, length: number): boolean {
    const last = this.offsets.length - 1;
    if (last < this.head + this.underWay || this.holds[last] !== block) return false;
    const before = this.lengths[last] ?? 0;
    if ((this.offsets[last] ?? 0) + before !== start) return false;
    this.lengths[last] = before + length;
    return true;
  }

  private addSpan(offset: number, length: number, hold: Block | undefined, foreign: Uint8Array | undefined): void {
    this.offsets.push(offset);
    this.lengths.push(length);
    this.holds.push(hold);
    this.foreign.push(foreign);
  }

  private shorten(bytes: number): void {
    this.lengths[this.head] = (this.lengths[this.head] ?? 0) - bytes;
    const foreign = this.foreign[this.head];
    if (foreign === undefined) this.offsets[this.head] = (this.offsets[this.head] ?? 0) + bytes;
    else this.foreign[this.head] = foreign.subarray(bytes);
  }

  private reset(): void {
    this.offsets.length = this.lengths.length = this.holds.length = this.foreign.length = 0;
    this.head = this.underWay = 0;
  }

  private tell(): void {
    while (this.firstDone < this.dones.length && (this.ends[this.firstDone] ?? 0) <= this.takenBytes) {
      const done = this.dones[this.firstDone++];
      if (this.firstDone === this.dones.length) this.firstDone = this.dones.length = this.ends.length = 0;
      done?.();
    }
  }
}
