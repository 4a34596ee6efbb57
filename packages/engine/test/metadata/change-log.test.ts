import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChangeLog, ChangeQueue, type LoggedChange } from "../../src/metadata/changes/change-log.js";

const change = (op: number, ordinal = 0, bytes = 0): LoggedChange => ({
  op,
  ordinal,
  checksum: BigInt(op),
  timestampMicros: op * 10,
  actorUserId: null,
  group: 1,
  kind: 1,
  body: new Uint8Array(bytes),
});

describe("a queue of changes", () => {
  it("keeps whole operations within its capacity, and remembers where what is gone ended", () => {
    fc.assert(
      fc.property(fc.nat(6), fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 40 }), (capacity, sizes) => {
        const queue = new ChangeQueue(capacity);
        sizes.forEach((size, index) => {
          for (let ordinal = 0; ordinal < size; ordinal++) queue.push(change(index + 1, ordinal));
          queue.evict();
          const kept = [...queue];
          expect(kept.length).toBe(queue.length);
          expect(kept.length).toBeLessThanOrEqual(capacity);
          // The newest operations that fit together, each complete.
          let room = capacity;
          let first = index + 2;
          while (first > 1 && (sizes[first - 2] ?? 0) <= room) room -= sizes[--first - 1] ?? 0;
          expect([...new Set(kept.map((entry) => entry.op))]).toEqual(
            Array.from({ length: index + 2 - first }, (_, at) => first + at),
          );
          expect(queue.evicted).toEqual(
            first === 1
              ? undefined
              : {
                  op: first - 1,
                  ordinal: (sizes[first - 2] ?? 0) - 1,
                  checksum: BigInt(first - 1),
                  timestampMicros: (first - 1) * 10,
                },
          );
        });
      }),
    );
  });

  it("has a bound in bytes too", () => {
    const queue = new ChangeQueue(100, 10);
    for (let op = 1; op <= 4; op++) queue.push(change(op, 0, 4));
    queue.evict();
    expect([...queue].map((entry) => entry.op)).toEqual([3, 4]);
  });

  it("finds the first entry behind a position", () => {
    const queue = new ChangeQueue(10);
    for (const [op, ordinal] of [
      [2, 0],
      [2, 1],
      [5, 0],
    ] as const) {
      queue.push(change(op, ordinal));
    }
    const behind = (op: number, ordinal: number) => queue.indexAfter({ op, ordinal });
    expect([behind(0, 0), behind(2, -1), behind(2, 0), behind(2, 1), behind(4, 9), behind(5, 0)]).toEqual([
      0, 0, 1, 2, 2, 3,
    ]);
  });

  it("goes on for long without growing", () => {
    const queue = new ChangeQueue(3);
    for (let op = 1; op <= 5000; op++) {
      queue.push(change(op));
      queue.evict();
    }
    expect([...queue].map((entry) => entry.op)).toEqual([4998, 4999, 5000]);
    expect(queue.at(0)?.op).toBe(4998);
  });
});

describe("a change log", () => {
  it("knows its newest change, kept or gone", () => {
    const log = new ChangeLog({ resource: 1, activity: 0 });
    expect(log.newest).toBeUndefined();
    log.append("resource", change(1));
    log.append("activity", change(2));
    log.evict();
    expect(log.newest).toMatchObject({ op: 2 });
    log.append("resource", change(3));
    expect(log.newest).toMatchObject({ op: 3 });
  });
});
