import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DeadlineQueue, ParkingSlots, WatchList } from "@iggy/engine";

/** Who is woken when the partition grew to an offset and a sum of bytes. */
function woken<T>(watches: WatchList<T>, nextOffset: number, bytesSum: number): T[] {
  const values: T[] = [];
  watches.advance(nextOffset, bytesSum, (value) => values.push(value));
  return values;
}

describe("readers that wait for a partition to grow", () => {
  it("wake when the end reaches their offset or the bytes reach their sum, and only then", () => {
    const watches = new WatchList<string>();
    watches.add(5, Infinity, "five");
    watches.add(9, 1_000, "nine or 1000 bytes");
    expect(woken(watches, 4, 10)).toEqual([]);
    expect(woken(watches, 5, 999)).toEqual(["five"]);
    expect(woken(watches, 6, 1_000)).toEqual(["nine or 1000 bytes"]);
    expect(watches.size).toBe(0);
  });

  it("wake in the order in which they came", () => {
    const watches = new WatchList<number>();
    for (const [i, offset] of [9, 3, 7, 1].entries()) watches.add(offset, Infinity, i);
    expect(woken(watches, 9, 0)).toEqual([0, 1, 2, 3]);
  });

  it("wake exactly once, whatever comes first: growth, bytes or their own removal", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("add" as const), offset: fc.nat(60), bytes: fc.option(fc.nat(60)) }),
      fc.record({ kind: fc.constant("remove" as const), index: fc.nat(40) }),
      fc.record({ kind: fc.constant("grow" as const), offsets: fc.nat(5), bytes: fc.nat(5) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const watches = new WatchList<number>();
        const handles: ReturnType<typeof watches.add>[] = [];
        const waiting = new Map<number, { offset: number; bytes: number }>();
        let [next, sum] = [0, 0];
        for (const entry of steps) {
          switch (entry.kind) {
            case "add": {
              const bytes = entry.bytes === null ? Infinity : entry.bytes;
              waiting.set(handles.length, { offset: entry.offset, bytes });
              handles.push(watches.add(entry.offset, bytes, handles.length));
              break;
            }
            case "remove": {
              const handle = handles[entry.index];
              if (handle !== undefined) expect(watches.remove(handle)).toBe(waiting.delete(entry.index));
              break;
            }
            case "grow": {
              next += entry.offsets;
              sum += entry.bytes;
              const due = [...waiting].filter(([, { offset, bytes }]) => offset <= next || bytes <= sum);
              expect(woken(watches, next, sum)).toEqual(due.map(([index]) => index));
              for (const [index] of due) waiting.delete(index);
            }
          }
          expect(watches.size).toBe(waiting.size);
        }
        expect(woken(watches, Infinity, Infinity)).toEqual([...waiting.keys()]);
      }),
    );
  });

  it("are not woken once another one that was woken with them removed them", () => {
    const watches = new WatchList<number>();
    const handles = [0, 1, 2, 3].map((i) => watches.add(5, i % 2 === 0 ? 100 : Infinity, i));
    const seen: number[] = [];
    const removed: boolean[] = [];
    watches.clear((value) => {
      seen.push(value);
      if (value === 1) for (const handle of handles) removed.push(watches.remove(handle));
    });
    expect(seen).toEqual([0, 1]);
    expect(removed).toEqual([false, false, true, true]);
    expect(watches.size).toBe(0);
  });

  it("cost nothing while they sleep: a commit touches only those that it wakes", () => {
    const watches = new WatchList<number>();
    const sleepers = 100_000;
    for (let i = 0; i < sleepers; i++) watches.add(1e9 + i, 1e12, i);
    const started = performance.now();
    for (let i = 0; i < 100_000; i++) woken(watches, i, i);
    // Looking at every sleeper at each of these commits would take minutes.
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(watches.size).toBe(sleepers);
  });
});

describe("deadlines", () => {
  it("come due once, earliest first, unless they are withdrawn", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ due: fc.nat(50), withdrawn: fc.boolean() })), fc.nat(50), (entries, now) => {
        const queue = new DeadlineQueue<number>();
        const handles = entries.map(({ due }, i) => queue.add(due, i));
        entries.forEach(({ withdrawn }, i) => {
          const handle = handles[i];
          if (withdrawn && handle !== undefined) {
            expect(queue.remove(handle)).toBe(true);
            expect(queue.remove(handle)).toBe(false);
          }
        });
        const kept = entries
          .map(({ due, withdrawn }, i) => ({ due, withdrawn, i }))
          .filter((entry) => !entry.withdrawn);
        expect(queue.next).toBe(kept.length === 0 ? undefined : Math.min(...kept.map(({ due }) => due)));
        const expected = kept
          .filter(({ due }) => due <= now)
          .sort((a, b) => a.due - b.due || a.i - b.i)
          .map(({ i }) => i);
        expect(expected.map(() => queue.takeDue(now))).toEqual(expected);
        expect(queue.takeDue(now)).toBeUndefined();
        expect(queue.size).toBe(kept.length - expected.length);
      }),
    );
  });
});

describe("deadlines that are due together", () => {
  it("can withdraw each other", () => {
    const queue = new DeadlineQueue<string>();
    queue.add(5, "first");
    const second = queue.add(5, "second");
    expect(queue.takeDue(5)).toBe("first");
    expect(queue.remove(second)).toBe(true);
    expect(queue.takeDue(5)).toBeUndefined();
  });
});

describe("room for waiting reads", () => {
  it("is bounded in all and per client, and comes back", () => {
    const slots = new ParkingSlots(3, 2);
    expect([slots.take(1n), slots.take(1n), slots.take(1n)]).toEqual([true, true, false]);
    expect([slots.take(2n), slots.take(2n)]).toEqual([true, false]);
    slots.release(1n);
    expect(slots.take(2n)).toBe(true);
    expect(slots.size).toBe(3);
    expect(() => {
      slots.release(9n);
    }).toThrow(RangeError);
  });
});
