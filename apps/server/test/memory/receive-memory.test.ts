import type { Memory } from "@iggy/storage";
import { expect, it } from "vitest";
import { ReceiveMemory } from "../../src/memory/receive-memory.js";

const block: Memory = { bytes: new Uint8Array(4096), retain: () => undefined, release: () => undefined };

interface Bench {
  readonly memory: ReceiveMemory<Memory>;
  room: number;
  evictable: number;
  /** Lets the time go on by one timer. */
  tick(): void;
  readonly timers: number;
}

function bench(): Bench {
  const pending: (() => void)[] = [];
  const place = {
    room: 0,
    evictable: 0,
    tick: () => pending.shift()?.(),
    get timers() {
      return pending.length;
    },
  };
  const memory = new ReceiveMemory<Memory>({
    pool: { allocate: () => (place.room-- > 0 ? block : undefined) },
    evict: (bytes) => {
      if (place.evictable === 0) return 0;
      place.evictable--;
      place.room = 1;
      return bytes;
    },
    after: (_, run) => {
      pending.push(run);
      return () => void pending.splice(pending.indexOf(run), 1);
    },
  });
  return Object.assign(place, { memory });
}

it("lets recent batches go before anybody has to wait", () => {
  const place = bench();
  place.evictable = 1;
  expect(place.memory.allocate(100)).toBe(block);
  expect(place.memory.allocate(100)).toBeUndefined();
});

it("asks those who wait again, in their order, until there is no memory", () => {
  const place = bench();
  const served: number[] = [];
  for (const number of [1, 2, 3]) {
    place.memory.wait({
      retry: () => place.memory.allocate(1) !== undefined && served.push(number) > 0,
      giveUp: () => undefined,
    });
  }
  place.room = 2;
  place.tick();
  expect(served).toEqual([1, 2]);
  expect(place.memory.waiting).toBe(1);
  place.room = 1;
  place.tick();
  expect(served).toEqual([1, 2, 3]);
  expect(place.timers).toBe(0);
});

it("ends one of those who wait when none of them gets anything for ten seconds", () => {
  const place = bench();
  const ended: number[] = [];
  for (const number of [1, 2]) place.memory.wait({ retry: () => false, giveUp: () => ended.push(number) });
  for (let turn = 0; turn < 1999; turn++) place.tick();
  expect(ended).toEqual([]);
  place.tick();
  expect(ended).toEqual([1]);
  expect(place.memory.waiting).toBe(1);
});

it("forgets who is gone", () => {
  const place = bench();
  const waiter = { retry: () => true, giveUp: () => undefined };
  place.memory.wait(waiter);
  place.memory.forget(waiter);
  expect(place.memory.waiting).toBe(0);
});
