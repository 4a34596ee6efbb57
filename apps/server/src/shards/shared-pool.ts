import type { RingParts } from "../backend/index.js";
import type { SharedPool } from "./lanes/transfer.js";

/** The memory of this thread's ring, through which shards hand bodies to each other. */
export const sharedPool = ({ slab, blocks }: RingParts): SharedPool => ({
  offsetOf: (bytes) => slab.offsetOf(bytes),
  view: (offset, length) => slab.view(offset, length),
  adopt: (offset) => blocks.adopt(offset),
});
