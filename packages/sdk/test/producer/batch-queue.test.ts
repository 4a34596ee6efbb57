import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BatchQueue } from "../../src/producer/background/batch-queue.js";

/*
 * The queue of a background producer on a clock that a test moves: whatever sends, time and limits, each message leaves
 * once, in the order of its partition, when its limit is reached and not before.
 */

interface TestBatch {
  readonly key: number;
  readonly messages: number[];
  bytes: number;
}

type Step =
  | { readonly kind: "send"; readonly key: number; readonly bytes: number; readonly begins: boolean }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "take" }
  | { readonly kind: "flush" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      key: fc.nat(3),
      bytes: fc.integer({ min: 1, max: 40 }),
      // The batch of the key can not take the message, as when it is full.
      begins: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(10) }) },
  { weight: 3, arbitrary: fc.constant({ kind: "take" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "flush" as const }) },
);

const limits = fc.record({
  bytes: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constant(Infinity)),
  sends: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.constant(Infinity)),
  lingerMs: fc.nat(20),
});

test("every message leaves once, in the order of its partition, not before its time and not after it", () => {
  fc.assert(
    fc.property(limits, fc.array(step, { maxLength: 200 }), (bounds, steps) => {
      const queue = new BatchQueue<TestBatch>(bounds);
      const sent = new Map<number, number[]>();
      const left = new Map<number, number[]>();
      let now = 0;
      let next = 0;
      /** What the queue gathers now, told again in the simplest way. */
      let since: number | undefined;
      let bytes = 0;
      let sends = 0;
      let mayLeave = 0;
      const filled = new Set<TestBatch>();
      const release = (): void => {
        mayLeave += filled.size;
        filled.clear();
        since = undefined;
        bytes = 0;
        sends = 0;
      };
      const take = (): boolean => {
        if (mayLeave === 0 && since !== undefined && now >= since + bounds.lingerMs) release();
        const batch = queue.next(now);
        expect(batch !== undefined).toBe(mayLeave > 0);
        if (batch === undefined) return false;
        mayLeave--;
        left.set(batch.key, [...(left.get(batch.key) ?? []), ...batch.messages]);
        return true;
      };
      for (const current of steps) {
        switch (current.kind) {
          case "send": {
            let batch = queue.open(current.key);
            if (batch === undefined || current.begins) {
              if (batch !== undefined) {
                filled.delete(batch);
                mayLeave++;
              }
              batch = { key: current.key, messages: [], bytes: 0 };
              if (!queue.isFilling) since = now;
              queue.begin(current.key, batch, now);
              filled.add(batch);
            }
            batch.messages.push(next);
            sent.set(current.key, [...(sent.get(current.key) ?? []), next]);
            next++;
            bytes += current.bytes;
            sends++;
            queue.added(current.bytes);
            if (bytes >= bounds.bytes || sends >= bounds.sends) release();
            break;
          }
          case "wait":
            now += current.ms;
            break;
          case "take":
            take();
            break;
          case "flush":
            queue.finishAll();
            release();
        }
        expect(queue.ready).toBe(mayLeave);
        const due = queue.dueAt(now);
        if (mayLeave > 0) expect(due).toBe(now);
        else expect(due).toBe(since === undefined ? undefined : since + bounds.lingerMs);
      }
      // Whoever asks when told to gets everything, without a further send.
      for (let due = queue.dueAt(now); due !== undefined; due = queue.dueAt(now)) {
        now = Math.max(now, due);
        expect(take()).toBe(true);
      }
      expect(left).toEqual(sent);
    }),
    { numRuns: 500 },
  );
});

describe("examples", () => {
  const batch = (key: number): TestBatch => ({ key, messages: [], bytes: 0 });

  test("an empty queue asks for nothing", () => {
    const queue = new BatchQueue<TestBatch>({ bytes: 10, sends: 10, lingerMs: 5 });
    expect([queue.dueAt(3), queue.next(3), queue.isFilling]).toEqual([undefined, undefined, false]);
  });

  test("the wait counts from the first send, not from the last", () => {
    const queue = new BatchQueue<TestBatch>({ bytes: 100, sends: 100, lingerMs: 5 });
    queue.begin(1, batch(1), 10);
    queue.added(1);
    queue.begin(2, batch(2), 14);
    queue.added(1);
    expect(queue.dueAt(14)).toBe(15);
    expect(queue.next(14)).toBeUndefined();
    expect([queue.next(15)?.key, queue.next(15)?.key, queue.next(15)]).toEqual([1, 2, undefined]);
  });
});
