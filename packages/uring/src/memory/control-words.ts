import { UNIT_BYTES } from "./unit.js";

export const REGIONS_MAX = 256;
const REGION_WORDS = 16;
const UNIT_WORDS = 4;
const FIRST_UNIT_WORD = REGIONS_MAX * REGION_WORDS;

const OWNER = 0;
const RETURNED = 1;
const USED = 2;

const REFERENCES = 0;
const UNITS = 1;
const NEXT = 2;

/** References of a block that nobody uses and that its owner has not taken back yet. */
const RETURNING = -1;

/**
 * The words at the start of a slab that its threads share.
 *
 *     region r    16 words   0 owner (0: none)   1 unit of the block returned last (0: none)   2 used before
 *     unit u       4 words   0 references        1 units of the block                          2 next returned block
 *
 * A unit's words mean something only where a block begins. They always lie in the first window of the slab.
 */
export class ControlWords {
  /** Units that the words themselves take; the regions lie behind them. */
  readonly units: number;
  private readonly unitsPerRegion: number;
  private readonly words: Int32Array;

  constructor(memory: ArrayBufferLike, units: number, regions: number) {
    const count = FIRST_UNIT_WORD + units * UNIT_WORDS;
    this.units = Math.ceil((count * Int32Array.BYTES_PER_ELEMENT) / UNIT_BYTES);
    this.unitsPerRegion = Math.floor((units - this.units) / regions);
    this.words = new Int32Array(memory, 0, count);
  }

  regionStart(region: number): number {
    return this.units + region * this.unitsPerRegion;
  }

  /** The unit behind the last one. */
  regionEnd(region: number): number {
    return this.regionStart(region) + this.unitsPerRegion;
  }

  regionOf(unit: number): number {
    return Math.floor((unit - this.units) / this.unitsPerRegion);
  }

  /** False when somebody allocates from it already. */
  claim(region: number): boolean {
    return Atomics.compareExchange(this.words, region * REGION_WORDS + OWNER, 0, 1) === 0;
  }

  disclaim(region: number): void {
    Atomics.store(this.words, region * REGION_WORDS + OWNER, 0);
  }

  /** Notes that a region is in use; whether it was before. */
  markUsed(region: number): boolean {
    return Atomics.exchange(this.words, region * REGION_WORDS + USED, 1) === 1;
  }

  /** A new block: its size and its first reference. */
  begin(unit: number, units: number): void {
    const at = FIRST_UNIT_WORD + unit * UNIT_WORDS;
    this.words[at + UNITS] = units;
    Atomics.store(this.words, at + REFERENCES, 1);
  }

  unitsOf(unit: number): number {
    return Atomics.load(this.words, FIRST_UNIT_WORD + unit * UNIT_WORDS + UNITS);
  }

  /** 0 when the unit is free or inside a block. */
  references(unit: number): number {
    return Atomics.load(this.words, FIRST_UNIT_WORD + unit * UNIT_WORDS + REFERENCES);
  }

  retain(unit: number): void {
    const at = FIRST_UNIT_WORD + unit * UNIT_WORDS + REFERENCES;
    if (Atomics.add(this.words, at, 1) > 0) return;
    Atomics.sub(this.words, at, 1);
    throw new Error(`the block at ${unit * UNIT_BYTES} was retained after its last release`);
  }

  /** True for the last reference. */
  release(unit: number): boolean {
    const at = FIRST_UNIT_WORD + unit * UNIT_WORDS + REFERENCES;
    const before = Atomics.sub(this.words, at, 1);
    if (before > 0) return before === 1;
    Atomics.add(this.words, at, 1);
    throw new Error(`the block at ${unit * UNIT_BYTES} was released more often than it was retained`);
  }

  /**
   * Releases a block that belongs to another thread. After the last reference it is put on the list of those that come
   * back to the owner of its region. Any thread pushes; the owner takes the whole list at once, so an entry is never
   * taken and pushed again behind a pusher's back.
   */
  releaseToOwner(unit: number): void {
    if (!this.leave(unit)) return;
    const first = this.regionOf(unit) * REGION_WORDS + RETURNED;
    const next = FIRST_UNIT_WORD + unit * UNIT_WORDS + NEXT;
    for (;;) {
      const seen = Atomics.load(this.words, first);
      Atomics.store(this.words, next, seen);
      if (Atomics.compareExchange(this.words, first, seen, unit) === seen) return;
    }
  }

  hasReturned(region: number): boolean {
    return Atomics.load(this.words, region * REGION_WORDS + RETURNED) !== 0;
  }

  /** Takes every block that was given back. */
  takeReturned(region: number, take: (unit: number) => void): void {
    let unit = Atomics.exchange(this.words, region * REGION_WORDS + RETURNED, 0);
    while (unit !== 0) {
      const next = Atomics.load(this.words, FIRST_UNIT_WORD + unit * UNIT_WORDS + NEXT);
      Atomics.store(this.words, FIRST_UNIT_WORD + unit * UNIT_WORDS + REFERENCES, 0);
      take(unit);
      unit = next;
    }
  }

  /** Gives up a reference; true for the last one, after which the block is neither used nor free. */
  private leave(unit: number): boolean {
    const at = FIRST_UNIT_WORD + unit * UNIT_WORDS + REFERENCES;
    for (;;) {
      const seen = Atomics.load(this.words, at);
      if (seen < 1) throw new Error(`the block at ${unit * UNIT_BYTES} was released more often than it was retained`);
      const left = seen === 1 ? RETURNING : seen - 1;
      if (Atomics.compareExchange(this.words, at, seen, left) === seen) return seen === 1;
    }
  }
}
