import type { Memory } from "../contracts.js";
import { ResidentBatch, type ResidentBudget, type ResidentHolder } from "../shard/resident-budget.js";
import type { Selection } from "./selection.js";

/** Spent slots at the front of the list that are worth a copy of the rest. */
const COMPACT_AT = 512;

/**
 * The newest batches of the log, in the very buffers that were appended. It always reaches to the end of the log, so
 * whoever finds an offset at or above its first needs no file.
 */
export class ResidentTail implements ResidentHolder {
  private readonly budget: ResidentBudget;
  private batches: (ResidentBatch | undefined)[] = [];
  /** Slots before this one are spent, and empty so that they keep no buffer alive. */
  private head = 0;

  constructor(budget: ResidentBudget) {
    this.budget = budget;
  }

  /** First resident offset; Infinity when nothing is. */
  get firstOffset(): number {
    return this.batches[this.head]?.baseOffset ?? Infinity;
  }

  /** Append time of the first resident batch; Infinity when nothing is. */
  get firstTimestampMicros(): number {
    return this.batches[this.head]?.timestampMicros ?? Infinity;
  }

  /** Takes over the hold on the memory. */
  push(
    record: Uint8Array,
    memory: Memory | undefined,
    baseOffset: number,
    messagesCount: number,
    timestampMicros: number,
  ): void {
    const batch = new ResidentBatch(this, record, memory, baseOffset, messagesCount, timestampMicros);
    this.batches.push(batch);
    this.budget.add(batch);
  }

  evictOldest(): void {
    const batch = this.batches[this.head];
    if (batch === undefined) return;
    this.batches[this.head] = undefined;
    this.head++;
    this.drop(batch);
    if (this.head === this.batches.length) {
      this.batches = [];
      this.head = 0;
    } else if (this.head >= COMPACT_AT && this.head * 2 >= this.batches.length) {
      this.batches = this.batches.slice(this.head);
      this.head = 0;
    }
  }

  /** Offers everything from the wanted offset on. */
  offerTo(selection: Selection): void {
    let at = this.find((batch) => batch.baseOffset + batch.messagesCount > selection.nextOffset);
    for (let batch = this.batches[at]; batch !== undefined; batch = this.batches[++at]) {
      if (!selection.offer(batch.record, batch.baseOffset, batch.messagesCount, batch.memory)) return;
    }
  }

  /** First offset of the first resident batch at or after a time. */
  offsetAt(timestampMicros: number): number | undefined {
    return this.batches[this.find((batch) => batch.timestampMicros >= timestampMicros)]?.baseOffset;
  }

  /** Forgets batches that begin below an offset. */
  dropBelow(offset: number): void {
    while (this.firstOffset < offset) this.evictOldest();
  }

  clear(): void {
    while (this.head < this.batches.length) this.evictOldest();
  }

  /** Forgets batches from an offset on. */
  dropFrom(offset: number): void {
    const end = this.find((batch) => batch.baseOffset >= offset);
    for (const batch of this.batches.splice(end)) if (batch !== undefined) this.drop(batch);
  }

  private drop(batch: ResidentBatch): void {
    this.budget.remove(batch);
    batch.memory?.release();
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
