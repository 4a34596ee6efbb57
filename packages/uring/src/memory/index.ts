export type { Block, BlockSource } from "./block.js";
export { HeapBlocks, type HeapBlocksOptions } from "./heap-blocks.js";
export { Slab, type SlabHandle, type SlabSize } from "./slab.js";
export { SlabAllocator, type SlabAllocatorOptions } from "./slab-allocator.js";
