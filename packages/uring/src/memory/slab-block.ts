import type { Block } from "./block.js";
import type { Slab } from "./slab.js";
import { UNIT_BYTES } from "./unit.js";

/** Takes a block of its own region back. */
export interface BlockOwner {
  readonly isOpen: boolean;
  reclaim(block: SlabBlock): void;
}

/** A block in the thread that allocated it. The same object serves again once it is released. */
export class SlabBlock implements Block {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly unit: number;
  readonly units: number;
  /** The call of `trim` before which it was last used. */
  usedAt = 0;
  private readonly slab: Slab;
  private readonly owner: BlockOwner;

  constructor(slab: Slab, owner: BlockOwner, unit: number, units: number) {
    this.slab = slab;
    this.owner = owner;
    this.unit = unit;
    this.units = units;
    this.offset = unit * UNIT_BYTES;
    this.bytes = slab.view(this.offset, units * UNIT_BYTES);
  }

  retain(): void {
    this.slab.control.retain(this.unit);
  }

  release(): void {
    if (!this.owner.isOpen) this.slab.control.releaseToOwner(this.unit);
    else if (this.slab.control.release(this.unit)) this.owner.reclaim(this);
  }
}

/** A block of another thread's region, which it goes back to. */
export class AdoptedBlock implements Block {
  readonly bytes: Uint8Array;
  readonly offset: number;
  private readonly slab: Slab;
  private readonly unit: number;

  constructor(slab: Slab, unit: number, units: number) {
    this.slab = slab;
    this.unit = unit;
    this.offset = unit * UNIT_BYTES;
    this.bytes = slab.view(this.offset, units * UNIT_BYTES);
  }

  retain(): void {
    this.slab.control.retain(this.unit);
  }

  release(): void {
    this.slab.control.releaseToOwner(this.unit);
  }
}
