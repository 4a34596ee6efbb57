import type { Completion } from "./completion.js";

/** The highest bit tells the addon that the result is a descriptor. */
const GENERATION_MASK = 0x7fff_ffff;

/**
 * Operations under way, by number. A number is used again under another generation, so that a completion that comes too
 * late finds nobody.
 */
export class OperationTable {
  readonly capacity: number;
  private readonly owners: (Completion | undefined)[] = [];
  private readonly tags: Int32Array;
  private readonly generations: Int32Array;
  private readonly free: Int32Array;
  private freeCount = 0;
  private used = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.tags = new Int32Array(capacity);
    this.generations = new Int32Array(capacity);
    this.free = new Int32Array(capacity);
  }

  /** -1 when there is no room. */
  add(owner: Completion, tag: number): number {
    let slot: number;
    if (this.freeCount > 0) slot = this.free[--this.freeCount] ?? 0;
    else if (this.used < this.capacity) slot = this.used++;
    else return -1;
    this.owners[slot] = owner;
    this.tags[slot] = tag;
    return slot;
  }

  generation(slot: number): number {
    return this.generations[slot] ?? 0;
  }

  /** Undefined for a completion of an operation that is no more. */
  owner(slot: number, generation: number): Completion | undefined {
    return this.generations[slot] === (generation & GENERATION_MASK) ? this.owners[slot] : undefined;
  }

  tag(slot: number): number {
    return this.tags[slot] ?? 0;
  }

  remove(slot: number): void {
    this.owners[slot] = undefined;
    this.generations[slot] = ((this.generations[slot] ?? 0) + 1) & GENERATION_MASK;
    this.free[this.freeCount++] = slot;
  }

  /** Every operation that is under way. */
  slots(): number[] {
    return [...this.owners.keys()].filter((slot) => this.owners[slot] !== undefined);
  }
}
