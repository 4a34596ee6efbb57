import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { INDEX_INTERVAL_BYTES, SparseIndex } from "../src/partition/sparse-index.js";

interface Entry {
  readonly offset: number;
  readonly timestamp: number;
  readonly position: number;
}

const entries = fc
  .array(
    fc.record({
      offset: fc.integer({ min: 1, max: 9 }),
      timestamp: fc.integer({ min: 0, max: 5 }),
      position: fc.integer({ min: 1, max: 99 }),
    }),
    {
      maxLength: 80,
    },
  )
  .map((steps) => {
    let last: Entry = { offset: 0, timestamp: 100, position: 0 };
    return steps.map((step) => {
      const entry = last;
      last = {
        offset: last.offset + step.offset,
        timestamp: last.timestamp + step.timestamp,
        position: last.position + step.position,
      };
      return entry;
    });
  });

describe("the sparse index", () => {
  it("finds the last entry at or below an offset or position, and before a time", () => {
    fc.assert(
      fc.property(entries, fc.integer({ min: -1, max: 900 }), (all, wanted) => {
        const index = new SparseIndex();
        for (const { offset, timestamp, position } of all) index.add(offset, timestamp, position);
        expect(index.length).toBe(all.length);
        expect(index.floorOfOffset(wanted)).toBe(all.findLastIndex(({ offset }) => offset <= wanted));
        expect(index.floorOfPosition(wanted)).toBe(all.findLastIndex(({ position }) => position <= wanted));
        expect(index.floorBeforeTimestamp(wanted)).toBe(all.findLastIndex(({ timestamp }) => timestamp < wanted));
        for (const [i, { offset, timestamp, position }] of all.entries()) {
          expect([index.offsetAt(i), index.timestampAt(i), index.positionAt(i)]).toEqual([offset, timestamp, position]);
        }
      }),
    );
  });

  it("wants an entry for the first batch and then one per interval", () => {
    const index = new SparseIndex();
    expect(index.wants(0)).toBe(true);
    index.add(0, 0, 0);
    expect(index.wants(INDEX_INTERVAL_BYTES - 1)).toBe(false);
    expect(index.wants(INDEX_INTERVAL_BYTES)).toBe(true);
  });
});
