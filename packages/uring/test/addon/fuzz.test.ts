import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { SLAB_BYTES, withAddon } from "../support/uring.js";

const CALLS_PER_FUNCTION = 400;
const SEED = Number(process.env["URING_TEST_SEED"] ?? Date.now() % 1_000_000);

withAddon("the native functions", (addon) => {
  const functions = Object.entries(addon).filter(
    (entry): entry is [string, (...values: unknown[]) => unknown] => typeof entry[1] === "function",
  );

  test(`answer any arguments with a value or an error (seed ${SEED})`, () => {
    addon.slabOpen(SLAB_BYTES);
    const values = hostileValues();
    const random = generator(SEED);
    const kinds = new Set<string>();
    for (const [name, call] of functions) {
      for (let round = 0; round < CALLS_PER_FUNCTION; round++) {
        const args = Array.from({ length: random(8) }, () => values[random(values.length)]?.());
        try {
          const result = call(...args);
          if (name === "ringOpen") addon.ringClose((result as { id: number }).id);
          if (name === "socketListen") addon.socketClose(result as number);
          if (name === "wakeupOpen") addon.wakeupClose(result as number);
        } catch (error) {
          expect(error, name).toBeInstanceOf(Error);
          kinds.add((error as Error).name);
        }
      }
    }
    expect(kinds).toContain("TypeError");
    expect(kinds).toContain("RangeError");
  });

  test("refuse too few arguments, and none that is missing is taken for a number", () => {
    for (const [name, call] of functions) {
      if (name.startsWith("xxh3") || name === "threadCores") continue;
      expect(() => call(), name).toThrow();
    }
  });

  test("know no ring that is closed", () => {
    const { id, rings, entries, state } = addon.ringOpen(8, 8, () => undefined);
    expect(rings.byteLength * entries.byteLength * state.byteLength).toBeGreaterThan(0);
    addon.ringClose(id);
    expect([rings.byteLength, entries.byteLength, state.byteLength]).toEqual([0, 0, 0]);
    for (const name of ["ringClose", "ringEnter", "ringReference"] as const) {
      expect(() => addon[name](id)).toThrow(expect.objectContaining({ code: "ERR_RING_CLOSED" }));
    }
  });

  test("close sockets only", () => {
    expect(() => addon.socketClose(1)).toThrow(expect.objectContaining({ code: "ENOTSOCK" }));
    expect(() => addon.socketClose(1_000_000)).toThrow(expect.objectContaining({ code: "EBADF" }));
  });

  test("survive lists whose elements change the memory of others while they are read", () => {
    const victim = new Uint8Array(1 << 20);
    const list = [victim, new Uint8Array(8)];
    Object.defineProperty(list, 1, {
      get: () => {
        structuredClone(victim.buffer, { transfer: [victim.buffer] });
        return new Uint8Array(8);
      },
    });
    expect(() => addon.pwritev(1_000_000, list, 0)).toThrow(expect.objectContaining({ code: "EBADF" }));
    expect(victim.length).toBe(0);
  });
});

/** Values that break careless code. No descriptor among them is one of this process. */
function hostileValues(): (() => unknown)[] {
  const detached = new Uint8Array(16);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const numbers = [0.5, -1, -0, NaN, Infinity, 999_999, 4096, 1 << 20, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 1e300];
  return [
    ...numbers.map((number) => () => number),
    () => undefined,
    () => null,
    () => true,
    () => false,
    () => "",
    () => "127.0.0.1",
    () => "::1",
    () => "x".repeat(10_000),
    () => "noDelay",
    () => 1n,
    () => -(1n << 70n),
    () => Symbol("s"),
    () => ({}),
    () => ({ length: 5 }),
    () => [],
    () => [new Uint8Array(3), new Uint8Array(0)],
    () => [new Uint8Array(3), "x"],
    () => Array<unknown>(50),
    () => () => undefined,
    () => new Uint8Array(0),
    () => randomBytes(64),
    () => new Uint8Array(100_000),
    () => new Uint8Array(new SharedArrayBuffer(32)),
    () => new Uint8Array(64).subarray(3, 40),
    () => new Uint32Array(2),
    () => new Float64Array(3),
    () => new BigUint64Array(2),
    () => new DataView(new ArrayBuffer(8)),
    () => new ArrayBuffer(8),
    () => detached,
    () =>
      new Proxy([new Uint8Array(1)], {
        get: () => {
          throw new Error("from a proxy");
        },
      }),
    () => ({
      valueOf: () => {
        throw new Error("from valueOf");
      },
    }),
  ];
}

function generator(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
