import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planRetention, resolveSegmentCount, SEGMENTS_PER_PASS, sizeBudget } from "@iggy/engine";

/** Sealed segments of 100 messages each, oldest first. */
const sealed = (timestamps: readonly number[], sizeBytes = 1000) =>
  timestamps.map((newestTimestampMicros, i) => ({ endOffset: i * 100 + 99, sizeBytes, newestTimestampMicros }));
const rules = { nowMicros: 1_000, expiryMicros: undefined, budgetBytes: undefined, holdOffset: undefined };

describe("retention by age", () => {
  it("deletes the leading run whose newest message is expired", () => {
    const plan = planRetention(sealed([100, 200, 900, 300]), { ...rules, expiryMicros: 500 });
    expect(plan).toEqual({ throughOffset: 199, segments: 2, more: false, held: false });
  });

  it("keeps a segment that expires in the next microsecond, and deletes it then", () => {
    expect(planRetention(sealed([501]), { ...rules, expiryMicros: 500 }).segments).toBe(0);
    expect(planRetention(sealed([500]), { ...rules, expiryMicros: 500 }).segments).toBe(1);
  });

  it("keeps a segment whose newest time is unknown, and everything behind it", () => {
    expect(planRetention(sealed([0, 100]), { ...rules, expiryMicros: 500 }).segments).toBe(0);
  });

  it("deletes nothing without an expiry", () => {
    expect(planRetention(sealed([1, 2, 3]), rules).segments).toBe(0);
  });
});

describe("retention by size", () => {
  it("deletes the oldest until the sealed bytes fit", () => {
    expect(planRetention(sealed([1, 2, 3, 4]), { ...rules, budgetBytes: 2000 }).throughOffset).toBe(199);
    expect(planRetention(sealed([1, 2, 3, 4]), { ...rules, budgetBytes: 1999 }).throughOffset).toBe(299);
    expect(planRetention(sealed([1, 2, 3, 4]), { ...rules, budgetBytes: 4000 }).throughOffset).toBeUndefined();
  });

  it("shares the cap of a topic evenly, but never below one sealed segment", () => {
    expect(sizeBudget(1000, 4, 100, 20)).toEqual({ bytes: 250, raised: false });
    expect(sizeBudget(400, 4, 100, 20)).toEqual({ bytes: 120, raised: true });
    expect(sizeBudget(480, 4, 100, 20)).toEqual({ bytes: 120, raised: false });
  });
});

describe("the hold of stored offsets", () => {
  it("keeps a segment with messages above the lowest stored offset, by age and by size", () => {
    const byAge = planRetention(sealed([1, 2, 3]), { ...rules, expiryMicros: 10, holdOffset: 150 });
    expect(byAge).toEqual({ throughOffset: 99, segments: 1, more: false, held: true });
    const bySize = planRetention(sealed([1, 2, 3]), { ...rules, budgetBytes: 0, holdOffset: 98 });
    expect(bySize).toEqual({ throughOffset: undefined, segments: 0, more: false, held: true });
  });

  it("lets a segment go whose last message is stored", () => {
    expect(planRetention(sealed([1, 2]), { ...rules, budgetBytes: 0, holdOffset: 99 }).throughOffset).toBe(99);
  });
});

describe("a cleaner pass", () => {
  it(`takes ${String(SEGMENTS_PER_PASS)} segments and says that more remain`, () => {
    const plan = planRetention(sealed(Array.from({ length: 20 }, () => 1)), { ...rules, expiryMicros: 10 });
    expect(plan).toMatchObject({ segments: SEGMENTS_PER_PASS, throughOffset: 1599, more: true });
  });

  it("never deletes a segment that no rule names or that a stored offset holds", () => {
    const segment = fc.record({
      sizeBytes: fc.integer({ min: 1, max: 50 }),
      newestTimestampMicros: fc.integer({ min: 0, max: 1000 }),
    });
    const optional = fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined });
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 30 }), optional, optional, optional, (parts, age, budget, hold) => {
        const segments = parts.map((part, i) => ({ ...part, endOffset: i * 30 + 29 }));
        const plan = planRetention(segments, {
          nowMicros: 1000,
          expiryMicros: age,
          budgetBytes: budget,
          holdOffset: hold,
        });
        const gone = segments.filter(({ endOffset }) => endOffset <= (plan.throughOffset ?? -1));
        expect(gone).toHaveLength(plan.segments);
        const total = segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
        let before = 0;
        for (const { endOffset, sizeBytes, newestTimestampMicros } of gone) {
          const expired = age !== undefined && newestTimestampMicros !== 0 && newestTimestampMicros + age <= 1000;
          expect(expired || (budget !== undefined && total - before > budget)).toBe(true);
          expect(hold === undefined || endOffset <= hold).toBe(true);
          before += sizeBytes;
        }
      }),
    );
  });
});

describe("a count of segments to delete", () => {
  it("becomes the end of the last one, clamped below the lowest stored offset", () => {
    const segments = sealed([1, 2, 3]);
    expect(resolveSegmentCount(segments, 2, undefined)).toBe(199);
    expect(resolveSegmentCount(segments, 9, undefined)).toBe(299);
    expect(resolveSegmentCount(segments, 3, 250)).toBe(199);
    expect(resolveSegmentCount(segments, 3, 5)).toBeUndefined();
    expect(resolveSegmentCount([], 3, undefined)).toBeUndefined();
  });
});
