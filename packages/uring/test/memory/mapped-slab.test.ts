import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Slab, SlabAllocator } from "../../src/index.js";
import { REGIONS, SLAB_BYTES, withAddon } from "../support/uring.js";

const MIB = 1024 * 1024;

withAddon("the mapped slab", (addon) => {
  const slab = Slab.map(addon, { bytes: SLAB_BYTES, regions: REGIONS });

  test("is one for the process, and refuses another size", () => {
    expect(Slab.map(addon, { bytes: SLAB_BYTES, regions: REGIONS })).toBe(slab);
    expect(() => Slab.map(addon, { bytes: SLAB_BYTES * 2 })).toThrow(/ask for the same/);
    expect(() => addon.slabOpen(SLAB_BYTES * 2)).toThrow(expect.objectContaining({ code: "ERR_SLAB_SIZE" }));
  });

  test("knows its own bytes from others", () => {
    const blocks = new SlabAllocator(slab, { region: 1 });
    const block = blocks.allocate(10_000);
    expect(slab.offsetOf(block?.bytes.subarray(5, 10) ?? new Uint8Array())).toBe((block?.offset ?? 0) + 5);
    expect(slab.offsetOf(new Uint8Array(5))).toBe(-1);
    block?.release();
    blocks.close();
  });

  test("takes memory where it is used, and trim gives back what was not used since the last one", () => {
    const blocks = new SlabAllocator(slab, { region: 2 });
    const before = residentBytes();
    const block = blocks.allocate(32 * MIB);
    block?.bytes.fill(1);
    expect(residentBytes() - before).toBeGreaterThan(30 * MIB);
    expect(blocks.trim()).toBe(0);
    block?.release();
    expect(blocks.trim()).toBe(0);
    expect(blocks.trim()).toBe(32 * MIB);
    expect(residentBytes() - before).toBeLessThan(8 * MIB);
    const again = blocks.allocate(32 * MIB);
    expect(again?.bytes[5]).toBe(0);
    again?.release();
    blocks.close();
  });
});

function residentBytes(): number {
  const pages = Number(readFileSync("/proc/self/statm", "utf8").split(" ")[1]);
  return pages * 4096;
}
