import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Block, HeapBlocks, Slab, SlabAllocator } from "../../src/index.js";

const MIB = 1024 * 1024;

describe("an allocator", () => {
  test("gives the block that was released last to the next request of its size", () => {
    const blocks = new HeapBlocks({ budgetBytes: MIB });
    const first = blocks.allocate(16 * 1024);
    const second = blocks.allocate(16 * 1024);
    const offset = first?.offset;
    first?.release();
    expect(blocks.allocate(16 * 1024)?.offset).toBe(offset);
    expect(second?.offset).not.toBe(offset);
  });

  test("answers undefined when the budget is used up, and gives again after a release", () => {
    const blocks = new HeapBlocks({ budgetBytes: 64 * 1024 });
    const taken = Array.from({ length: 4 }, () => blocks.allocate(16 * 1024));
    expect(taken.every((block) => block !== undefined)).toBe(true);
    expect(blocks.usedBytes).toBe(64 * 1024);
    expect(blocks.allocate(1)).toBeUndefined();
    taken[2]?.release();
    expect(blocks.usedBytes).toBe(48 * 1024);
    expect(blocks.allocate(16 * 1024)).toBeDefined();
  });

  test("joins released neighbours when a larger block fits nowhere else", () => {
    const blocks = new HeapBlocks({ budgetBytes: MIB });
    const small: Block[] = [];
    for (let block = blocks.allocate(16 * 1024); block !== undefined; block = blocks.allocate(16 * 1024)) {
      small.push(block);
    }
    for (const block of small) block.release();
    const large = blocks.allocate(MIB);
    expect(large?.bytes.length).toBe(MIB);
  });

  test("cuts memory anew that lies idle in blocks of other sizes before it takes more", () => {
    const blocks = new HeapBlocks({ budgetBytes: 256 * MIB });
    let highest = 0;
    const fill = (size: number): void => {
      const taken: Block[] = [];
      for (let at = 0; at < 32 * MIB; at += size) {
        const block = blocks.allocate(size);
        if (block !== undefined) taken.push(block);
      }
      highest = Math.max(highest, ...taken.map(({ offset, bytes }) => offset + bytes.length));
      for (const block of taken) block.release();
    };
    fill(256 * 1024);
    const first = highest;
    for (const size of [64 * 1024, 80 * 1024, 16 * 1024, 512 * 1024, 4096]) fill(size);
    expect(highest).toBeLessThan(first + 2 * MIB);
  });

  test("keeps a block until its last reference is gone", () => {
    const blocks = new HeapBlocks({ budgetBytes: MIB });
    const block = blocks.allocate(100);
    block?.retain();
    block?.release();
    expect(blocks.usedBytes).toBe(4096);
    block?.release();
    expect(blocks.usedBytes).toBe(0);
    expect(() => block?.release()).toThrow(/released more often/);
    expect(() => block?.retain()).toThrow(/retained after/);
  });

  test("finds out, when it is checked, who uses a block after its last release", () => {
    const blocks = new HeapBlocks({ budgetBytes: MIB, checked: true });
    const block = blocks.allocate(100);
    const bytes = block?.bytes;
    block?.release();
    expect(bytes?.[0]).toBe(0xdb);
    // The memory is somebody else's now.
    expect(blocks.allocate(100)?.offset).toBe(block?.offset);
    expect(() => block?.release()).toThrow(/after its last release/);
    expect(() => block?.retain()).toThrow(/after its last release/);
    expect(() => block?.bytes).toThrow(/after its last release/);
  });

  test("refuses a second allocator for its region, until it is closed", () => {
    const slab = Slab.share({ bytes: 4 * MIB, regions: 2 });
    const first = new SlabAllocator(slab, { region: 1 });
    expect(() => new SlabAllocator(slab, { region: 1 })).toThrow(/already/);
    expect(() => new SlabAllocator(slab, { region: 2 })).toThrow(RangeError);
    first.close();
    expect(() => first.allocate(1)).toThrow(/closed/);
    expect(() => new SlabAllocator(slab, { region: 1 })).not.toThrow();
  });

  test("leaves alone what is still in use of a region that it takes over", () => {
    const slab = Slab.share({ bytes: 4 * MIB });
    const before = new SlabAllocator(slab);
    const kept = before.allocate(100_000);
    before.allocate(50_000)?.release();
    before.close();
    const after = new SlabAllocator(slab);
    expect(after.usedBytes).toBe(kept?.bytes.length);
    const all: Block[] = [];
    for (let block = after.allocate(16 * 1024); block !== undefined; block = after.allocate(16 * 1024)) all.push(block);
    const keptEnd = (kept?.offset ?? 0) + (kept?.bytes.length ?? 0);
    for (const { offset, bytes } of all) {
      expect(offset + bytes.length <= (kept?.offset ?? 0) || offset >= keptEnd).toBe(true);
    }
    for (const block of all) block.release();
    kept?.release();
    expect(after.usedBytes).toBe(0);
  });

  test("takes a block back that was handed over and released elsewhere", () => {
    const slab = Slab.share({ bytes: 4 * MIB, regions: 2 });
    const [owner, other] = [0, 1].map((region) => new SlabAllocator(slab, { region }));
    const block = owner?.allocate(20_000);
    block?.bytes.fill(7);
    const adopted = other?.adopt(block?.offset ?? 0);
    expect(adopted?.bytes.length).toBe(block?.bytes.length);
    expect(adopted?.bytes[19_999]).toBe(7);
    adopted?.release();
    expect(owner?.usedBytes).toBe(0);
    expect(() => adopted?.release()).toThrow(/released more often/);
    expect(() => other?.adopt(block?.offset ?? 0)).toThrow(/no block/);
  });

  test.each([0, -1, 1.5, NaN, Infinity, 2 ** 53])("refuses a block of %f bytes", (bytes) => {
    expect(() => new HeapBlocks({ budgetBytes: MIB }).allocate(bytes)).toThrow(RangeError);
  });
});

describe("any history of an allocator", () => {
  const BUDGET = 2 * MIB;

  type Step =
    | { readonly kind: "allocate"; readonly bytes: number }
    | { readonly kind: "retain" | "release"; readonly pick: number }
    | { readonly kind: "trim" };

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant("allocate" as const), bytes: fc.integer({ min: 1, max: 700_000 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("allocate" as const), bytes: fc.integer({ min: 1, max: 9000 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("retain" as const), pick: fc.nat() }) },
    { weight: 7, arbitrary: fc.record({ kind: fc.constant("release" as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("trim" as const) }) },
  );

  test("keeps blocks apart, their bytes intact, and counts what is used", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const blocks = new HeapBlocks({ budgetBytes: BUDGET });
        const live: { block: Block; mark: number; references: number }[] = [];
        let mark = 0;
        for (const action of steps) {
          if (action.kind === "trim") blocks.trim();
          else if (action.kind === "allocate") {
            const block = blocks.allocate(action.bytes);
            if (block === undefined) {
              // Only a lack of room is an excuse: a free run is never larger than all that is free.
              expect(used(live) + action.bytes).toBeGreaterThan(BUDGET / 8);
              continue;
            }
            expect(block.bytes.length).toBeGreaterThanOrEqual(action.bytes);
            mark = (mark + 1) % 256;
            block.bytes.fill(mark);
            live.push({ block, mark, references: 1 });
          } else {
            const at = live.length === 0 ? -1 : action.pick % live.length;
            const entry = live[at];
            if (entry === undefined) continue;
            if (action.kind === "retain") {
              entry.block.retain();
              entry.references++;
            } else {
              expect([entry.block.bytes[0], entry.block.bytes.at(-1)]).toEqual([entry.mark, entry.mark]);
              entry.block.release();
              if (--entry.references === 0) live.splice(at, 1);
            }
          }
          expect(blocks.usedBytes).toBe(used(live));
        }
        for (const { block, mark } of live) expect(block.bytes.every((byte) => byte === mark)).toBe(true);
        const ranges = live.map(({ block }) => [block.offset, block.offset + block.bytes.length] as const);
        ranges.sort(([a], [b]) => a - b);
        for (const [at, [start]] of ranges.entries()) expect(start).toBeGreaterThanOrEqual(ranges[at - 1]?.[1] ?? 0);
        for (const { block, references } of live) for (let left = references; left > 0; left--) block.release();
        expect(blocks.usedBytes).toBe(0);
        // Everything is one piece again.
        expect(blocks.allocate(BUDGET)).toBeDefined();
      }),
      { numRuns: 60 },
    );
  });

  function used(live: readonly { block: Block }[]): number {
    return live.reduce((sum, { block }) => sum + block.bytes.length, 0);
  }
});
