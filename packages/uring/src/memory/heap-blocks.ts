import { SlabAllocator } from "./slab-allocator.js";
import { Slab } from "./slab.js";

export interface HeapBlocksOptions {
  /** Bytes that may be in use at a time. As much address space is taken, and memory where it is used. */
  readonly budgetBytes: number;
  readonly checked?: boolean;
}

/** The part of the slab that holds its own words, at the smallest size generously. */
const CONTROL_BYTES = 2 ** 20;

/** Counted blocks of shared memory without the addon, for one thread that keeps them to itself. */
export class HeapBlocks extends SlabAllocator {
  constructor({ budgetBytes, checked = false }: HeapBlocksOptions) {
    const control = CONTROL_BYTES + Math.ceil(budgetBytes / 256);
    const bytes = Math.ceil((budgetBytes + control) / 4096) * 4096;
    super(Slab.share({ bytes }), { budgetBytes, checked });
  }
}
