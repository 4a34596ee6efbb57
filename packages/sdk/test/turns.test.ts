import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Lanes } from "../src/calls/lanes.js";
import { Permits } from "../src/calls/permits.js";
import { Scope, ScopeEnded } from "../src/calls/scope.js";
import { DisconnectedError } from "../src/index.js";
import { redialPauseMs, retryPauseMs } from "../src/time/backoff.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("permits", () => {
  test("whatever is taken, given and given up: never more out than there is, and first come first served", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ amount: fc.integer({ min: 1, max: 4 }), action: fc.constantFrom("take", "give", "abort") }),
          {
            maxLength: 40,
          },
        ),
        async (steps) => {
          const permits = new Permits(4);
          const held: number[] = [];
          const waiting: { scope: Scope; order: number }[] = [];
          const granted: number[] = [];
          let order = 0;
          for (const { amount, action } of steps) {
            if (action === "give") permits.give(held.shift() ?? 0);
            else if (action === "abort") waiting.splice(0, 1)[0]?.scope.stop("enough");
            else {
              const scope = new Scope(Infinity);
              const mine = order++;
              waiting.push({ scope, order: mine });
              permits.take(scope, amount).then(
                () => {
                  held.push(amount);
                  granted.push(mine);
                  waiting.splice(
                    waiting.findIndex((other) => other.order === mine),
                    1,
                  );
                },
                () => undefined,
              );
            }
            await vi.advanceTimersByTimeAsync(0);
            expect(held.reduce((sum, one) => sum + one, 0)).toBe(4 - permits.free);
            expect(permits.free).toBeGreaterThanOrEqual(0);
            expect(granted).toEqual([...granted].sort((a, b) => a - b));
          }
        },
      ),
    );
  });

  test("a wait ends with its call and leaves no claim", async () => {
    const permits = new Permits(1);
    await permits.take(new Scope(Infinity));
    const scope = new Scope(10);
    const waiting = permits.take(scope).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10);
    expect(await waiting).toBeInstanceOf(ScopeEnded);
    permits.give();
    expect(permits.free).toBe(1);
    expect(permits.waiting).toBe(0);
  });
});

describe("scopes", () => {
  test("a pause that would cross the deadline is not made", async () => {
    const scope = new Scope(100);
    await expect(scope.pause(100)).resolves.toBe(false);
    const pause = scope.pause(50);
    await vi.advanceTimersByTimeAsync(50);
    await expect(pause).resolves.toBe(true);
    expect(scope.remainingMs).toBeLessThanOrEqual(50);
  });

  test("the end is told once, to every wait, and a late result changes nothing", async () => {
    const scope = new Scope(10);
    let settle: ((value: number) => void) | undefined;
    let gaveUp = 0;
    const wait = scope
      .wait<number>((resolve) => {
        settle = resolve;
        return () => gaveUp++;
      })
      .catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10);
    settle?.(1);
    expect(await wait).toMatchObject({ end: { kind: "deadline" } });
    expect(gaveUp).toBe(1);
    await expect(scope.wait(() => () => undefined)).rejects.toBeInstanceOf(ScopeEnded);
  });

  test("a signal stops it, until the work has begun", () => {
    const abort = new AbortController();
    const stopped = new Scope(Infinity, abort.signal);
    const working = new Scope(Infinity, abort.signal);
    working.ignoreSignal();
    abort.abort("why");
    expect(stopped.end).toEqual({ kind: "stopped", reason: "why" });
    expect(working.end).toBeUndefined();
    expect(new Scope(Infinity, abort.signal).end).toEqual({ kind: "stopped", reason: "why" });
  });
});

describe("lanes", () => {
  const lanes = () => new Lanes(() => new DisconnectedError("blocked"));

  test("one at a time in each, in the order of asking", async () => {
    const table = lanes();
    const order: string[] = [];
    const use = async (lane: string, name: string, ms: number): Promise<void> => {
      const leave = await table.enter(lane, new Scope(Infinity));
      order.push(`${name} in`);
      await new Promise((resolve) => setTimeout(resolve, ms));
      order.push(`${name} out`);
      leave();
    };
    const work = Promise.all([use("a", "1", 10), use("a", "2", 1), use("b", "3", 5), use("a", "4", 1)]);
    await vi.advanceTimersByTimeAsync(100);
    await work;
    expect(order).toEqual(["1 in", "3 in", "3 out", "1 out", "2 in", "2 out", "4 in", "4 out"]);
  });
});

test("pauses are full jitter, doubled up to their cap, and no exponent overflows", () => {
  for (const random of [0, 0.5, 1]) {
    expect(retryPauseMs(0, () => random)).toBe(50 * random);
    expect(retryPauseMs(3, () => random)).toBe(400 * random);
    expect(retryPauseMs(10_000, () => random)).toBe(1000 * random);
    expect(redialPauseMs(2, 1000, 10_000, () => random)).toBe(4000 * random);
    expect(redialPauseMs(10_000, 1000, 10_000, () => random)).toBe(10_000 * random);
  }
});
