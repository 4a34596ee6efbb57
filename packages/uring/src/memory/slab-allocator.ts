import type { Block, BlockSource } from "./block.js";
import { CheckedBlock } from "./checked-block.js";
import { type FreeRange, FreeRanges, UNTOUCHED } from "./free-ranges.js";
import type { Slab } from "./slab.js";
import { AdoptedBlock, type BlockOwner, SlabBlock } from "./slab-block.js";
import { UNIT_BYTES, unitsFor } from "./unit.js";

export interface SlabAllocatorOptions {
  /** The part of the slab to allocate from; nobody else may. Default 0. */
  readonly region?: number;
  /** Bytes that may be in use at a time. Default: all of the region. */
  readonly budgetBytes?: number;
  /** Poisons released blocks and finds out who uses or releases them again. For tests: every block costs more. */
  readonly checked?: boolean;
}

const POISON = 0xdb;
/** Released blocks that are kept for requests of their sizes before neighbours are joined: 8 MiB. */
const RELEASED_UNITS_MAX = (8 * 1024 * 1024) / UNIT_BYTES;

/**
 * Blocks from one region of a slab, for one thread. A released block is kept for the next request of the same size, the
 * one used last first, as it is likely in the processor's cache. Only when nothing else is left are neighbours joined
 * again and cut anew.
 */
export class SlabAllocator implements BlockSource, BlockOwner {
  readonly budgetBytes: number;
  readonly region: number;
  private readonly slab: Slab;
  private readonly checked: boolean;
  private readonly released = new Map<number, SlabBlock[]>();
  private readonly ranges = new FreeRanges();
  private usedUnits = 0;
  /** Units of the blocks in `released`. */
  private releasedUnits = 0;
  private trims = 0;
  private open = true;

  constructor(slab: Slab, { region = 0, budgetBytes, checked = false }: SlabAllocatorOptions = {}, isClaimed = false) {
    if (!Number.isInteger(region) || region < 0 || region >= slab.regions) {
      throw new RangeError(`the slab has regions 0 to ${slab.regions - 1}, not ${region}`);
    }
    if (!isClaimed && !slab.control.claim(region))
      throw new Error(`somebody allocates from region ${region} of the slab already`);
    this.slab = slab;
    this.region = region;
    this.checked = checked;
    const { control } = slab;
    const regionBytes = (control.regionEnd(region) - control.regionStart(region)) * UNIT_BYTES;
    this.budgetBytes = Math.min(budgetBytes ?? regionBytes, regionBytes);
    this.findFree(control.markUsed(region));
  }

  /** Allocates from the first region that nobody else allocates from; undefined when there is none. */
  static inFreeRegion(slab: Slab, options: Omit<SlabAllocatorOptions, "region"> = {}): SlabAllocator | undefined {
    for (let region = 0; region < slab.regions; region++) {
      if (slab.control.claim(region)) return new SlabAllocator(slab, { ...options, region }, true);
    }
    return undefined;
  }

  get isOpen(): boolean {
    return this.open;
  }

  get usedBytes(): number {
    this.takeReturned();
    return this.usedUnits * UNIT_BYTES;
  }

  allocate(bytes: number): Block | undefined {
    if (!this.open) throw new Error("the allocator is closed");
    const units = unitsFor(bytes);
    this.takeReturned();
    if ((this.usedUnits + units) * UNIT_BYTES > this.budgetBytes) return undefined;
    const block = this.takeReleased(units) ?? this.cut(units);
    if (block === undefined) return undefined;
    this.usedUnits += units;
    this.slab.control.begin(block.unit, units);
    return this.checked ? new CheckedBlock(block) : block;
  }

  adopt(offset: number): Block {
    const unit = offset / UNIT_BYTES;
    const { control } = this.slab;
    const isInside = Number.isInteger(unit) && unit >= control.units && unit < this.slab.bytes / UNIT_BYTES;
    if (!isInside || control.references(unit) < 1) throw new Error(`there is no block at ${offset} to adopt`);
    const units = control.unitsOf(unit);
    const isOwn = control.regionOf(unit) === this.region;
    const block = isOwn ? new SlabBlock(this.slab, this, unit, units) : new AdoptedBlock(this.slab, unit, units);
    return this.checked ? new CheckedBlock(block) : block;
  }

  trim(): number {
    this.takeReturned();
    const cold: FreeRange[] = [];
    for (const [units, blocks] of this.released) {
      const hot = blocks.findIndex((block) => block.usedAt === this.trims);
      const idle = blocks.splice(0, hot === -1 ? blocks.length : hot);
      cold.push(...idle.map(({ unit }) => ({ unit, units, usedAt: this.trims - 1 })));
      this.releasedUnits -= idle.length * units;
      if (blocks.length === 0) this.released.delete(units);
    }
    let bytes = 0;
    const ranges = [...this.ranges.takeAll(), ...cold].map((range) => {
      if (range.usedAt === UNTOUCHED || range.usedAt === this.trims) return range;
      bytes += this.slab.discard(range.unit * UNIT_BYTES, range.units * UNIT_BYTES);
      return { ...range, usedAt: UNTOUCHED };
    });
    this.ranges.join(ranges, this.isBoundary);
    this.trims++;
    return bytes;
  }

  /**
   * Lets another allocator have the region. Blocks that are still in use stay so; whoever releases them gives them back
   * to that one.
   */
  close(): void {
    if (!this.open) return;
    this.open = false;
    this.slab.control.disclaim(this.region);
  }

  /** Called by the last release of a block of this region in this thread. */
  reclaim(block: SlabBlock): void {
    if (this.checked) block.bytes.fill(POISON);
    this.usedUnits -= block.units;
    block.usedAt = this.trims;
    const blocks = this.released.get(block.units);
    if (blocks === undefined) this.released.set(block.units, [block]);
    else blocks.push(block);
    this.releasedUnits += block.units;
  }

  private takeReleased(units: number): SlabBlock | undefined {
    const block = this.released.get(units)?.pop();
    if (block !== undefined) this.releasedUnits -= units;
    return block;
  }

  private cut(units: number): SlabBlock | undefined {
    if (this.isWasteful) this.joinNeighbours();
    let range = this.ranges.carve(units);
    if (range === undefined && this.releasedUnits > 0) {
      this.joinNeighbours();
      range = this.ranges.carve(units);
    }
    return range === undefined ? undefined : new SlabBlock(this.slab, this, range.unit, units);
  }

  /** Much memory waits for requests of sizes that nobody asks for any more: better cut it anew than take more. */
  private get isWasteful(): boolean {
    return this.releasedUnits > Math.max(RELEASED_UNITS_MAX, this.usedUnits / 4);
  }

  private joinNeighbours(): void {
    const free: FreeRange[] = this.ranges.takeAll();
    for (const [units, blocks] of this.released) {
      for (const { unit, usedAt } of blocks) free.push({ unit, units, usedAt });
    }
    this.released.clear();
    this.releasedUnits = 0;
    this.ranges.join(free, this.isBoundary);
  }

  private takeReturned(): void {
    if (!this.open || !this.slab.control.hasReturned(this.region)) return;
    this.slab.control.takeReturned(this.region, (unit) => {
      this.reclaim(new SlabBlock(this.slab, this, unit, this.slab.control.unitsOf(unit)));
    });
  }

  /** Everything between the blocks that an earlier owner's threads still use, if there was one. */
  private findFree(usedBefore: boolean): void {
    const { control } = this.slab;
    const end = control.regionEnd(this.region);
    // Whatever came back meanwhile is free like the rest.
    control.takeReturned(this.region, () => undefined);
    let start = control.regionStart(this.region);
    for (let unit = start; usedBefore && unit < end;) {
      if (control.references(unit) === 0) {
        unit++;
        continue;
      }
      this.addFree(start, unit);
      const units = control.unitsOf(unit);
      this.usedUnits += units;
      unit += units;
      start = unit;
    }
    this.addFree(start, end);
  }

  private addFree(start: number, end: number): void {
    let unit = start;
    while (unit < end) {
      const stop = Math.min(end, this.slab.windowEnd(unit * UNIT_BYTES) / UNIT_BYTES);
      this.ranges.add({ unit, units: stop - unit, usedAt: UNTOUCHED });
      unit = stop;
    }
  }

  private readonly isBoundary = (unit: number): boolean =>
    this.slab.windowEnd((unit - 1) * UNIT_BYTES) === unit * UNIT_BYTES;
}
