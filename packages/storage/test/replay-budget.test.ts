import { expect, it } from "vitest";
import { ReplayBudget } from "../src/shard/replay-budget.js";

const MIB = 1024 * 1024;

it("asks for a checkpoint when a partition reaches its even share", () => {
  const budget = new ReplayBudget(100 * MIB);
  const [first, second] = [budget.open(0), budget.open(0)];
  first.add(60 * MIB);
  expect(first.isDue).toBe(false);
  second.add(1);
  expect(first.isDue).toBe(true);
  first.clear();
  expect(first.isDue).toBe(false);
  second.add(99 * MIB);
  expect(second.isDue).toBe(false);
});

it("counts what a start found above the checkpoint", () => {
  const budget = new ReplayBudget(100 * MIB);
  expect(budget.open(120 * MIB).isDue).toBe(true);
});

it("leaves partitions with little alone, and none gathers more than a gibibyte", () => {
  const many = new ReplayBudget(100 * MIB);
  const debts = Array.from({ length: 1000 }, () => many.open(3 * MIB));
  expect(debts.some(({ isDue }) => isDue)).toBe(false);
  debts[0]?.add(MIB);
  expect(debts[0]?.isDue).toBe(true);
  const alone = new ReplayBudget(8192 * MIB).open(1023 * MIB);
  expect(alone.isDue).toBe(false);
  alone.add(MIB);
  expect(alone.isDue).toBe(true);
});
