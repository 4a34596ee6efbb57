import { createRequire } from "node:module";
import { type Addon, loadAddon, Ring, type RingOptions, Slab, SlabAllocator } from "../../src/index.js";

/** Another build of the addon, for example one with a sanitizer. */
const OTHER_BUILD = process.env["URING_TEST_ADDON"];

export const SLAB_BYTES = 256 * 1024 * 1024;
export const REGIONS = 4;

export function load(): ReturnType<typeof loadAddon> {
  if (OTHER_BUILD === undefined) return loadAddon();
  return { addon: createRequire(import.meta.url)(OTHER_BUILD) as Addon, path: OTHER_BUILD };
}

export interface Uring {
  readonly ring: Ring;
  readonly slab: Slab;
  readonly blocks: SlabAllocator;
  close(): Promise<void>;
}

/** A ring with memory of its own region, checked for wrong use of blocks. */
export function openUring(
  addon: Addon,
  { region = 0, checked = true, ...options }: { region?: number; checked?: boolean } & Partial<RingOptions> = {},
): Uring {
  const slab = Slab.map(addon, { bytes: SLAB_BYTES, regions: REGIONS });
  const blocks = new SlabAllocator(slab, { region, checked });
  const ring = Ring.open({ addon, slab, blocks, ...options });
  return {
    ring,
    slab,
    blocks,
    close: async () => {
      await ring.close();
      blocks.close();
    },
  };
}
