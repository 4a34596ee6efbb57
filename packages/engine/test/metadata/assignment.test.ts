import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Assignment,
  completeRevocation,
  rebalanceCooperatively,
  rebalanceEagerly,
} from "../../src/metadata/state/assignment.js";

const none = new Set<number>();
const join = (assignment: Assignment, slot: number, partitions: number, inFlight = none, now = 0): Assignment =>
  rebalanceCooperatively(
    {
      shares: [...assignment.shares, { slot, partitions: [] }].sort((left, right) => left.slot - right.slot),
      pending: assignment.pending,
    },
    partitions,
    inFlight,
    now,
  );
const shares = ({ shares: list }: Assignment): number[][] => list.map(({ partitions }) => [...partitions]);
const empty: Assignment = { shares: [], pending: [] };

/** What each member will hold once every pending revocation completed. */
const settledSizes = ({ shares: list, pending }: Assignment): number[] =>
  list.map(
    ({ slot, partitions }) =>
      partitions.length -
      pending.filter((move) => move.sourceSlot === slot).length +
      pending.filter((move) => move.targetSlot === slot).length,
  );

describe("a member that joins", () => {
  it("gets everything when it is the first", () => {
    expect(shares(join(empty, 0, 3))).toEqual([[0, 1, 2]]);
  });

  it("takes from the end of the others' shares, and only what is above their own", () => {
    const alone = join(empty, 0, 4);
    const two = join(alone, 1, 4);
    expect(shares(two)).toEqual([
      [0, 1],
      [3, 2],
    ]);
    const three = join(two, 2, 4);
    expect(shares(three)).toEqual([[0, 1], [3], [2]]);
  });

  it("leaves the first members one more when the partitions do not divide", () => {
    const three = join(join(join(empty, 0, 7), 1, 7), 2, 7);
    expect(shares(three).map((list) => list.length)).toEqual([3, 2, 2]);
  });

  it("gets nothing when there are more members than partitions", () => {
    const three = join(join(join(empty, 0, 2), 1, 2), 2, 2);
    expect(shares(three)).toEqual([[0], [1], []]);
  });

  it("waits for partitions that are being worked on", () => {
    const alone = join(empty, 0, 4);
    const two = join(alone, 1, 4, new Set([3]), 50);
    expect(shares(two)).toEqual([[0, 1, 3], [2]]);
    expect(two.pending).toEqual([{ partitionId: 3, sourceSlot: 0, targetSlot: 1, createdAtMicros: 50 }]);
    expect(shares(completeRevocation(two, 3, 0))).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it("takes over a handover that would give another member too much", () => {
    const two = join(join(empty, 0, 4), 1, 4, new Set([0, 1, 2, 3]), 50);
    expect(two.pending.map((move) => move.targetSlot)).toEqual([1, 1]);
    const three = join(two, 2, 4, new Set([0, 1, 2, 3]), 60);
    expect(settledSizes(three)).toEqual([2, 1, 1]);
    expect(three.pending.every((move) => move.sourceSlot === 0 && move.createdAtMicros === 50)).toBe(true);
  });
});

describe("completing a revocation", () => {
  it("does nothing for one that is not pending", () => {
    const alone = join(empty, 0, 2);
    expect(completeRevocation(alone, 1, 0)).toBe(alone);
    const two = join(alone, 1, 2, new Set([1]));
    expect(completeRevocation(two, 1, 1)).toBe(two);
  });
});

describe("an eager rebalance", () => {
  it("deals partitions out in slot order", () => {
    expect(shares(rebalanceEagerly([1, 4, 6], 5))).toEqual([[0, 3], [1, 4], [2]]);
    expect(rebalanceEagerly([], 5)).toEqual({ shares: [], pending: [] });
  });
});

describe("any sequence of joins and completions", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("join" as const), inFlight: fc.array(fc.nat(40), { maxLength: 20 }) }),
    fc.record({ kind: fc.constant("complete" as const), pick: fc.nat() }),
  );

  it("holds every partition once, balances, and moves no more than needed", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 24 }), (partitions, steps) => {
        let assignment = join(empty, 0, partitions);
        steps.forEach((next, index) => {
          const before = assignment;
          if (next.kind === "join") {
            assignment = join(before, index + 1, partitions, new Set(next.inFlight), index);
          } else {
            const move = before.pending[next.pick % Math.max(1, before.pending.length)];
            if (move !== undefined) assignment = completeRevocation(before, move.partitionId, move.sourceSlot);
          }
          const held = shares(assignment)
            .flat()
            .sort((left, right) => left - right);
          expect(held).toEqual(Array.from({ length: partitions }, (_, id) => id));
          const sizes = settledSizes(assignment);
          expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
          for (const move of assignment.pending) {
            expect(assignment.shares.find(({ slot }) => slot === move.sourceSlot)?.partitions).toContain(
              move.partitionId,
            );
            expect(move.targetSlot).not.toBe(move.sourceSlot);
          }
          if (next.kind === "join") {
            // Nobody but the new member receives anything at once.
            for (const share of before.shares) {
              const after = assignment.shares.find(({ slot }) => slot === share.slot)?.partitions ?? [];
              expect(after.every((id) => share.partitions.includes(id))).toBe(true);
            }
            for (const id of next.inFlight) {
              const holder = (list: Assignment) => list.shares.find((share) => share.partitions.includes(id))?.slot;
              expect(holder(assignment)).toBe(holder(before));
            }
          }
        });
      }),
      { numRuns: 300 },
    );
  });
});
