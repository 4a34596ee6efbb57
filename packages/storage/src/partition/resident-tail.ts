import type { Selection } from "./selection.js";

interface ResidentBatch {
  readonly record: Uint8Array;
  readonly baseOffset: number;
  readonly messagesCount: number;
  readonly timestampMicros: number;
}

/** Spent slots at the front of the list that are worth a copy of the rest. */
const COMPACT_AT = 512;

/**
 * The newest batches of the log, in the very buffers that were appended. It always reaches to the end of the log, so
 * whoever finds an offset at or above its first needs no file.
 */
export class ResidentTail {
  private readonly bytesMax: number;
  private batches: (ResidentBatch | undefined)[] = [];
  /** Slots before this one are spent, and empty so that they keep no buffer alive. */
  private head = 0;
  private bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** First resident offset; Infinity when nothing is. */
  get firstOffset(): number {
    return this.batches[this.head]?.baseOffset ?? Infinity;
  }

  /** Append time of the first resident batch; Infinity when nothing is. */
  get firstTimestampMicros(): number {
    return this.batches[this.head]?.timestampMicros ?? Infinity;
  }

  push(record: Uint8Array, baseOffset: number, messagesCount: number, timestampMicros: number): void {
    this.batches.push({ record, baseOffset, messagesCount, timestampMicros });
    this.bytes += record.length;
    while (this.bytes > this.bytesMax) this.dropFirst();
  }

  /** Offers everything from the wanted offset on. */
  offerTo(selection: Selection): void {
    let at = this.find((batch) => batch.baseOffset + batch.messagesCount > selection.nextOffset);
    for (let batch = this.batches[at]; batch !== undefined; batch = this.batches[++at]) {
      if (!selection.offer(batch.record, batch.baseOffset, batch.messagesCount)) return;
    }
  }

  /** First offset of the first resident batch at or after a time. */
  offsetAt(timestampMicros: number): number | undefined {
    return this.batches[this.find((batch) => batch.timestampMicros >= timestampMicros)]?.baseOffset;
  }

  /** Forgets batches that begin below an offset. */
  dropBelow(offset: number): void {
    while (this.firstOffset < offset) this.dropFirst();
  }

  /** Forgets batches from an offset on. */
  dropFrom(offset: number): void {
    const end = this.find((batch) => batch.baseOffset >= offset);
    for (const batch of this.batches.splice(end)) this.bytes -= batch?.record.length ?? 0;
  }

  private dropFirst(): void {
    this.bytes -= this.batches[this.head]?.record.length ?? 0;
    this.batches[this.head] = undefined;
    this.head++;
    if (this.head >= COMPACT_AT && this.head * 2 >= this.batches.length) {
      this.batches = this.batches.slice(this.head);
      this.head = 0;
    }
  }

  /** First slot whose batch fulfils a condition that, once true, stays true. */
  private find(condition: (batch: ResidentBatch) => boolean): number {
    let low = this.head;
    let high = this.batches.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const batch = this.batches[middle];
      if (batch !== undefined && !condition(batch)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
