import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RouteCache } from "../src/routing/route-cache.js";
import type { PartitionName } from "../src/routing/spelling.js";

const partition = (partitionId = 0, topic: string | number = "t"): PartitionName => ({
  streamId: { kind: "numeric", value: 1 },
  topicId: typeof topic === "string" ? { kind: "string", value: topic } : { kind: "numeric", value: topic },
  partitionId,
});

const answer = (fields: Partial<Parameters<RouteCache["merge"]>[1]> = {}) => ({
  incarnation: 5n,
  metadataOp: 100n,
  view: 3,
  partitionsCount: 4,
  primaryReplica: 1,
  ...fields,
});

describe("what a route is good for", () => {
  test("until the session has seen a later metadata commit", () => {
    const cache = new RouteCache();
    cache.merge(partition(), answer());
    expect(cache.usable(partition(), 100n)).toMatchObject({ primaryReplica: 1 });
    expect(cache.usable(partition(), 101n)).toBeUndefined();
  });

  test("for the spelling that it was asked under: a number is not the name of the same digits", () => {
    const cache = new RouteCache();
    cache.merge(partition(0, 7), answer());
    expect(cache.usable(partition(0, "7"), 0n)).toBeUndefined();
    expect(cache.usable(partition(1, 7), 0n)).toBeUndefined();
  });

  test("nothing after the session is gone", () => {
    const cache = new RouteCache();
    cache.merge(partition(), answer());
    cache.clear();
    expect(cache.usable(partition(), 0n)).toBeUndefined();
    expect(cache.partitionsCount(partition(), 0n)).toBeUndefined();
    // Also no memory of views: the new session may talk to another history.
    expect(cache.merge(partition(), answer({ view: 1, incarnation: 1n, metadataOp: 1n }))).toBeDefined();
  });

  test("the count of partitions comes from the newest usable route of the topic", () => {
    const cache = new RouteCache();
    cache.merge(partition(0), answer({ metadataOp: 100n, partitionsCount: 4 }));
    cache.merge(partition(1), answer({ metadataOp: 120n, partitionsCount: 6 }));
    cache.merge(partition(2), answer({ metadataOp: 110n, partitionsCount: 5 }));
    expect(cache.partitionsCount(partition(), 0n)).toBe(6);
    const newest = cache.usable(partition(1), 0n);
    if (newest !== undefined) cache.historyLost(newest);
    expect(cache.partitionsCount(partition(), 0n)).toBe(5);
    expect(cache.partitionsCount(partition(), 111n)).toBeUndefined();
  });
});

describe("which answers are taken", () => {
  test.each([
    ["the same again", {}, true],
    ["an older view", { view: 2 }, false],
    ["another primary in the same view", { primaryReplica: 2 }, false],
    ["another primary in a newer view", { view: 4, primaryReplica: 2 }, true],
    ["another history that is as new", { incarnation: 6n }, true],
    ["another history from before", { incarnation: 4n, metadataOp: 99n }, false],
  ])("%s", (_what, fields, isTaken) => {
    const cache = new RouteCache();
    cache.merge(partition(), answer());
    expect(cache.merge(partition(), answer(fields)) !== undefined).toBe(isTaken);
  });

  test("older metadata never replaces newer", () => {
    const cache = new RouteCache();
    cache.merge(partition(), answer({ metadataOp: 100n, partitionsCount: 8 }));
    const route = cache.merge(partition(), answer({ metadataOp: 90n, partitionsCount: 2, view: 9 }));
    expect(route).toMatchObject({ metadataOp: 100n, partitionsCount: 8, view: 9 });
  });
});

describe("what refusals teach", () => {
  const cached = () => {
    const cache = new RouteCache();
    const route = cache.merge(partition(), answer());
    if (route === undefined) throw new Error("not taken");
    return { cache, route };
  };

  test("not primary: only a newer view helps, and that replica is asked first", () => {
    const { cache, route } = cached();
    cache.notPrimary(route);
    expect(cache.usable(partition(), 0n)).toBeUndefined();
    expect(cache.askFirst(partition())).toEqual({ kind: "replica", replicaId: 1 });
    expect(cache.merge(partition(), answer())).toBeUndefined();
    expect(cache.merge(partition(), answer({ view: 4, primaryReplica: 2 }))).toBeDefined();
  });

  test("unavailable: the replica behind it is asked first; the same answer will do", () => {
    const { cache, route } = cached();
    cache.unavailable(route);
    expect(cache.askFirst(partition())).toEqual({ kind: "after-replica", replicaId: 1 });
    expect(cache.merge(partition(), answer())).toBeDefined();
    expect(cache.askFirst(partition())).toEqual({ kind: "metadata-primary" });
  });

  test("a lost history: the metadata primary is asked first", () => {
    const { cache, route } = cached();
    cache.historyLost(route);
    expect(cache.askFirst(partition())).toEqual({ kind: "metadata-primary" });
    expect(cache.usable(partition(), 0n)).toBeUndefined();
  });

  test("every spelling of the partition goes stale with it, and no other partition", () => {
    const cache = new RouteCache();
    const route = cache.merge(partition(0, "t"), answer());
    cache.merge(partition(0, 3), answer());
    cache.merge(partition(1, "t"), answer());
    cache.merge(partition(0, "other"), answer({ incarnation: 6n }));
    if (route !== undefined) cache.notPrimary(route);
    expect(cache.usable(partition(0, 3), 0n)).toBeUndefined();
    expect(cache.usable(partition(1, "t"), 0n)).toBeDefined();
    expect(cache.usable(partition(0, "other"), 0n)).toBeDefined();
  });

  test("a late refusal of an older view spoils nothing newer", () => {
    const { cache, route } = cached();
    cache.merge(partition(), answer({ view: 5, primaryReplica: 2 }));
    cache.notPrimary(route);
    expect(cache.usable(partition(), 0n)).toMatchObject({ view: 5 });
  });
});

test("the oldest lookup makes room", () => {
  const cache = new RouteCache({ capacity: 3 });
  for (const id of [0, 1, 2]) cache.merge(partition(id), answer());
  cache.merge(partition(0), answer());
  cache.merge(partition(3), answer());
  expect(cache.size).toBe(3);
  expect(cache.usable(partition(1), 0n)).toBeUndefined();
  expect(cache.usable(partition(0), 0n)).toBeDefined();
});

test("whatever happens, a view never goes back within a history and the size is bounded", () => {
  const step = fc.record({
    id: fc.nat(3),
    view: fc.nat(6),
    primaryReplica: fc.nat(2),
    incarnation: fc.bigInt(1n, 2n),
    metadataOp: fc.bigInt(1n, 20n),
    refusal: fc.constantFrom("none", "notPrimary", "unavailable", "historyLost", "regroup"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = new RouteCache({ capacity: 3 });
      const highest = new Map<number, { incarnation: bigint; view: number }>();
      for (const { id, refusal, ...fields } of steps) {
        const before = cache.usable(partition(id), 0n);
        const route = cache.merge(partition(id), answer(fields));
        if (route !== undefined) {
          const known = highest.get(id);
          if (before !== undefined && known?.incarnation === route.incarnation) {
            expect(route.view).toBeGreaterThanOrEqual(known.view);
          }
          highest.set(id, { incarnation: route.incarnation, view: route.view });
          if (refusal !== "none") {
            cache[refusal](route);
            expect(cache.usable(partition(id), 0n)).toBeUndefined();
          }
        }
        expect(cache.size).toBeLessThanOrEqual(3);
      }
    }),
  );
});
