import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MemoryIo } from "../src/index.js";
import { memoryDisk, PROPERTY_RUNS, seeded, type Settings, TestPartition } from "./partition-harness.js";

type Command =
  | {
      readonly do: "send";
      readonly messages: number;
      readonly size: number;
      readonly durable: boolean;
      readonly wait: boolean;
    }
  | { readonly do: "operate"; readonly size: number; readonly durable: boolean; readonly wait: boolean }
  | { readonly do: "checkpoint"; readonly wait: boolean }
  | { readonly do: "delete"; readonly segments: number }
  | { readonly do: "offset"; readonly id: number; readonly durable: boolean }
  | { readonly do: "flush" | "reopen" | "read" };

const wait = fc.boolean();
const durable = fc.boolean();
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("send" as const),
      messages: fc.integer({ min: 1, max: 4 }),
      size: fc.integer({ min: 0, max: 1500 }),
      durable,
      wait,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("operate" as const),
      size: fc.integer({ min: 0, max: 900 }),
      durable,
      wait,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("checkpoint" as const), wait }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), segments: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("offset" as const), id: fc.integer({ min: 0, max: 3 }), durable }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("flush" as const, "reopen" as const, "read" as const) }) },
);

interface Run {
  readonly commands: readonly Command[];
  /** The mutating disk operation in whose middle everything stops. */
  readonly haltAt: number;
  readonly end: "kill" | "power";
}

const run: fc.Arbitrary<Run> = fc.record({
  commands: fc.array(command, { minLength: 1, maxLength: 25 }),
  haltAt: fc.integer({ min: 1, max: 160 }),
  end: fc.constantFrom("kill" as const, "power" as const),
});

/** What the partition owes, seen from outside. */
class Promises {
  /** Text of each message that was ever queued at an offset, the newest last. */
  readonly queued = new Map<number, string[]>();
  /** First offset and end of each batch op, and whether it was durable. */
  readonly ops = new Map<number, { first: number; end: number; durable: boolean }>();
  /** Every op up to here was acknowledged. */
  acknowledgedOp = 0;
  /** Every op up to here was acknowledged, or precedes one that was, as durable. */
  durableOp = 0;
  /** Highest op of a completed checkpoint. */
  checkpointOp = 0;
  deletedBelow = 0;
  nextOffset = 0;
  readonly offsets = new Map<number, number>();

  queue(op: number, first: number, texts: readonly string[], isDurable: boolean): void {
    this.ops.set(op, { first, end: first + texts.length, durable: isDurable });
    texts.forEach((text, i) => this.queued.set(first + i, [...(this.queued.get(first + i) ?? []), text]));
  }

  acknowledge(op: number): void {
    for (let next = this.acknowledgedOp + 1; next <= op; next++) {
      const batch = this.ops.get(next);
      if (batch?.durable === true) this.durableOp = next;
      this.nextOffset = Math.max(this.nextOffset, batch?.end ?? 0);
    }
    this.acknowledgedOp = Math.max(this.acknowledgedOp, op);
  }

  /** After a restart: what came back is what counts from now on. */
  restart(op: number): void {
    for (const known of [...this.ops.keys()]) if (known > op) this.ops.delete(known);
    this.acknowledgedOp = op;
    this.durableOp = Math.min(this.durableOp, op);
  }
}

let serial = 0;

async function perform(partition: TestPartition, promises: Promises, one: Command): Promise<void> {
  const { store } = partition;
  switch (one.do) {
    case "send": {
      const texts = Array.from({ length: one.messages }, () => `${serial++}:${"x".repeat(one.size)}`);
      const first = partition.nextOffset;
      const op = partition.queue(texts, one.durable);
      if (op === undefined) return;
      promises.queue(op, first, texts, one.durable);
      if (one.wait) await partition.settled(op);
      return;
    }
    case "operate": {
      const op = partition.queueOperation(new Uint8Array(one.size).fill(5), one.durable);
      if (op === undefined) return;
      promises.ops.set(op, { first: partition.nextOffset, end: 0, durable: one.durable });
      if (one.wait) await partition.settled(op);
      return;
    }
    case "checkpoint": {
      const op = partition.journaledOp;
      const done = store.checkpoint(op, 5n, new TextEncoder().encode(String(op))).then(
        () => {
          promises.checkpointOp = Math.max(promises.checkpointOp, op);
        },
        () => undefined,
      );
      if (one.wait) await done;
      return;
    }
    case "delete": {
      const through = store.sealedSegments[one.segments - 1]?.endOffset;
      if (through === undefined) return;
      promises.deletedBelow = Math.max(promises.deletedBelow, through + 1);
      await store.deleteSegmentsThrough(through);
      return;
    }
    case "offset": {
      const offset = serial++;
      await store.storeOffset("consumer", one.id, offset, one.durable);
      if (one.durable) promises.offsets.set(one.id, offset);
      else promises.offsets.delete(one.id);
      return;
    }
    case "read":
      await partition.messages();
      return;
    case "flush":
      await store.flush();
      promises.durableOp = promises.acknowledgedOp;
      return;
    case "reopen":
      return;
  }
}

async function expectPromisesKept(partition: TestPartition, promises: Promises, keptOp: number): Promise<void> {
  const { recovered, store } = partition;
  expect(partition.op).toBeGreaterThanOrEqual(keptOp);
  const base = recovered.checkpoint?.op ?? 0;
  expect(base).toBeGreaterThanOrEqual(promises.checkpointOp);
  if (recovered.checkpoint !== undefined) {
    expect(new TextDecoder().decode(recovered.checkpoint.state)).toBe(String(base));
  }
  expect(recovered.entries.map(({ entry }) => entry.op)).toEqual(recovered.entries.map((_, i) => base + 1 + i));
  expect(recovered.nextOffset).toBeGreaterThanOrEqual(promises.nextOffset);

  const stored = await partition.messages();
  expect(stored.length).toBe(store.counters.messagesCount);
  let last = -1;
  for (const { offset, text } of stored) {
    expect(offset).toBeGreaterThan(last);
    last = offset;
    expect(promises.queued.get(offset)).toContain(text);
  }
  const byOffset = new Map(stored.map(({ offset, text }) => [offset, text]));
  for (const [op, { first, end }] of promises.ops) {
    if (op > partition.op) continue;
    for (let offset = first; offset < end; offset++) {
      const isKept = byOffset.has(offset);
      // Gone with a removed segment, or there, as the newest that was queued at this offset.
      if (!isKept) expect(offset).toBeLessThan(Math.max(store.startOffset, promises.deletedBelow));
      else expect(byOffset.get(offset)).toBe(promises.queued.get(offset)?.at(-1));
    }
  }
  for (const [id, offset] of promises.offsets) {
    // Or a later one, whose store was under way.
    expect(recovered.offsets.find((stored) => stored.id === id)?.offset).toBeGreaterThanOrEqual(offset);
  }
}

async function live(io: MemoryIo, settings: Settings, promises: Promises, { commands }: Run): Promise<void> {
  let partition = await TestPartition.open(io, settings);
  const track = (): void => {
    promises.acknowledge(partition.journaledOp);
  };
  for (const one of commands) {
    if (one.do === "reopen") {
      await partition.settled(partition.op);
      track();
      await partition.store.close();
      if (partition.failures.length === 0) promises.durableOp = promises.acknowledgedOp;
      partition = await TestPartition.open(io, settings);
    } else await perform(partition, promises, one);
    track();
    if (io.halted) break;
  }
  await partition.settled(partition.op);
  track();
}

describe("whatever happens to a partition and wherever it stops", () => {
  for (const persisted of [false, true]) {
    it(`it comes back as a prefix with everything it promised (${persisted ? "persisted" : "replicated"})`, async () => {
      const settings: Settings = {
        persisted,
        segmentSizeBytes: 3000,
        offsetReservationLease: 7,
        residentBytesMax: 4000,
      };
      await fc.assert(
        fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), fc.integer(), async (runs, seed) => {
          let io = await memoryDisk({ random: seeded(seed) });
          const promises = new Promises();
          for (const one of runs) {
            io.haltAt(one.haltAt);
            try {
              await live(io, settings, promises, one);
            } catch (error) {
              if (!io.halted) throw error;
            }
            const keptOp = one.end === "kill" ? promises.acknowledgedOp : promises.durableOp;
            io = one.end === "kill" ? io.kill() : io.losePower();
            const partition = await TestPartition.open(io, settings);
            await expectPromisesKept(partition, promises, keptOp);
            promises.restart(partition.op);
            const first = partition.nextOffset;
            const op = await partition.send(["after the restart"]);
            promises.queue(op, first, ["after the restart"], false);
            promises.acknowledge(op);
            expect((await partition.messages(first))[0]?.text).toBe("after the restart");
            io = io.kill();
          }
        }),
        { numRuns: PROPERTY_RUNS },
      );
    }, 120_000);
  }
});
