import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MinHeap } from "../../src/metadata/state/min-heap.js";
import { Slab } from "../../src/metadata/state/slab.js";

describe("a slab", () => {
  it("gives the lowest free id, and none when it is full", () => {
    const slab = new Slab<string>(3);
    for (const name of ["a", "b", "c"]) slab.insert(slab.nextId ?? -1, name);
    expect(slab.nextId).toBeUndefined();
    slab.remove(1);
    expect(slab.nextId).toBe(1);
    slab.remove(0);
    expect(slab.nextId).toBe(0);
    expect([...slab.values()]).toEqual(["c"]);
  });

  it("refuses an id that is taken or out of bounds", () => {
    const slab = new Slab<string>(3);
    slab.insert(2, "c");
    expect(() => slab.insert(2, "x")).toThrow(RangeError);
    expect(() => slab.insert(3, "x")).toThrow(RangeError);
    expect(slab.nextId).toBe(0);
  });

  it("behaves like a map that looks for the lowest free key", () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("add" as const) }),
      fc.record({ kind: fc.constant("put" as const), id: fc.nat(11) }),
      fc.record({ kind: fc.constant("remove" as const), id: fc.nat(11) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
        const capacity = 12;
        const slab = new Slab<number>(capacity);
        const model = new Map<number, number>();
        actions.forEach((next, value) => {
          const free = Array.from({ length: capacity }, (_, id) => id).find((id) => !model.has(id));
          expect(slab.nextId).toBe(free);
          const id = next.kind === "add" ? free : next.id;
          if (next.kind === "remove" && id !== undefined) {
            slab.remove(id);
            model.delete(id);
          } else if (id !== undefined && !model.has(id)) {
            slab.insert(id, value);
            model.set(id, value);
          }
          expect(slab.size).toBe(model.size);
          const ordered = [...model].sort(([left], [right]) => left - right);
          expect([...slab.values()]).toEqual(ordered.map(([, held]) => held));
          expect([...slab.values(5)]).toEqual(ordered.filter(([key]) => key >= 5).map(([, held]) => held));
        });
      }),
    );
  });
});

describe("a heap", () => {
  it("gives numbers back in order", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (numbers) => {
        const heap = new MinHeap();
        for (const number of numbers) heap.push(number);
        expect(numbers.map(() => heap.pop())).toEqual([...numbers].sort((left, right) => left - right));
        expect(heap.pop()).toBeUndefined();
      }),
    );
  });
});
