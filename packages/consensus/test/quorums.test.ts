import { expect, it } from "vitest";
import { quorumsOf } from "../src/index.js";

it("quorums intersect for every group size", () => {
  for (let members = 1; members <= 32; members++) {
    const { replication, viewChange, nack } = quorumsOf(members);
    expect(replication + viewChange).toBeGreaterThan(members);
    expect(replication + nack).toBeGreaterThan(members);
    expect(replication).toBeLessThanOrEqual(members);
  }
});

it("knows the small groups", () => {
  expect(quorumsOf(1)).toEqual({ replication: 1, viewChange: 1, nack: 1 });
  expect(quorumsOf(2)).toEqual({ replication: 2, viewChange: 2, nack: 1 });
  expect(quorumsOf(3)).toEqual({ replication: 2, viewChange: 2, nack: 2 });
  expect(quorumsOf(5)).toEqual({ replication: 3, viewChange: 3, nack: 3 });
});

it("refuses sizes outside 1 to 32", () => {
  for (const size of [0, 33, 1.5, NaN]) expect(() => quorumsOf(size)).toThrow(RangeError);
});
