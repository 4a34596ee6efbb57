import type { RingDescription } from "../addon/addon.js";
import { RingState } from "../addon/addon.js";

export const ENTRY_WORDS = 16;

/**
 * Where submission entries are written: the mapped queue, or, while that is full, a bounded queue behind it that keeps
 * their order.
 */
export class SubmissionQueue {
  /** Where the next entry goes, after `reserve`. */
  target: Int32Array;
  at = 0;
  private readonly entries: Int32Array;
  private readonly words: Int32Array;
  private readonly state: Int32Array;
  private readonly head: number;
  private readonly tail: number;
  private readonly size: number;
  private staging = new Int32Array(0);
  private stagedFrom = 0;
  private stagedTo = 0;

  constructor(description: RingDescription) {
    this.entries = new Int32Array(description.entries);
    this.words = new Int32Array(description.rings);
    this.state = new Int32Array(description.state);
    this.head = description.submissionHead / 4;
    this.tail = description.submissionTail / 4;
    this.size = description.submissionEntries;
    this.target = this.entries;
  }

  /** Finds the place of the next entry; `makeRoom` is asked once when the mapped queue is full. */
  reserve(makeRoom: () => void): void {
    if (this.isFull) makeRoom();
    if (this.stagedTo > this.stagedFrom) this.moveStaged();
    if (this.stagedTo === this.stagedFrom && !this.isFull) {
      this.target = this.entries;
      this.at = ((this.words[this.tail] ?? 0) & (this.size - 1)) * ENTRY_WORDS;
      return;
    }
    this.growStaging();
    this.target = this.staging;
    this.at = this.stagedTo * ENTRY_WORDS;
  }

  /** The reserved entry is complete. */
  push(): void {
    if (this.target === this.entries) Atomics.add(this.words, this.tail, 1);
    else this.state[RingState.staged] = ++this.stagedTo - this.stagedFrom;
  }

  /** Moves entries that found no room into the room that there is now. */
  moveStaged(): void {
    while (this.stagedFrom < this.stagedTo && !this.isFull) {
      const from = this.stagedFrom * ENTRY_WORDS;
      const to = ((this.words[this.tail] ?? 0) & (this.size - 1)) * ENTRY_WORDS;
      this.entries.set(this.staging.subarray(from, from + ENTRY_WORDS), to);
      Atomics.add(this.words, this.tail, 1);
      this.stagedFrom++;
    }
    if (this.stagedFrom === this.stagedTo) this.stagedFrom = this.stagedTo = 0;
    this.state[RingState.staged] = this.stagedTo - this.stagedFrom;
  }

  private get isFull(): boolean {
    return (((this.words[this.tail] ?? 0) - Atomics.load(this.words, this.head)) | 0) >= this.size;
  }

  /** The number of operations under way is bounded, so this is too. */
  private growStaging(): void {
    if ((this.stagedTo + 1) * ENTRY_WORDS <= this.staging.length) return;
    const waiting = this.staging.subarray(this.stagedFrom * ENTRY_WORDS, this.stagedTo * ENTRY_WORDS);
    const larger = new Int32Array(Math.max(64 * ENTRY_WORDS, waiting.length * 2));
    larger.set(waiting);
    this.staging = larger;
    this.stagedTo -= this.stagedFrom;
    this.stagedFrom = 0;
  }
}
