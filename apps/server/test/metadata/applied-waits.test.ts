import { expect, it } from "vitest";
import { AppliedWaits } from "../../src/metadata/applied-waits.js";

it("a wait ends when its op is applied", async () => {
  const waits = new AppliedWaits(1000);
  const early = waits.wait(5);
  const late = waits.wait(7);
  waits.applied(6);
  expect(await early).toBe(true);
  waits.applied(7);
  expect(await late).toBe(true);
});

it("a wait ends without success when its budget is used up", async () => {
  expect(await new AppliedWaits(10).wait(5)).toBe(false);
});

it("a close ends every wait", async () => {
  const waits = new AppliedWaits(60_000);
  const wait = waits.wait(5);
  waits.close();
  expect(await wait).toBe(false);
});

it("the number of waits is bounded", async () => {
  const waits = new AppliedWaits(60_000);
  const taken = Array.from({ length: 1024 }, () => waits.wait(5));
  expect(await waits.wait(5)).toBe(false);
  waits.applied(5);
  expect(new Set(await Promise.all(taken))).toEqual(new Set([true]));
});
