import fc from "fast-check";
import { expect } from "vitest";
import { type MemoryIo, WriteFailed } from "../src/index.js";
import type { TestPartition } from "./partition-harness.js";

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
  | { readonly do: "fill"; readonly room: number }
  | { readonly do: "flush" | "reopen" | "read" | "make-room" };

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
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fill" as const), room: fc.integer({ min: 0, max: 6000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("flush", "reopen", "read", "make-room") }),
  },
);

export interface Run {
  readonly commands: readonly Command[];
  /** The mutating disk operation in whose middle everything stops. */
  readonly haltAt: number;
  readonly end: "kill" | "power";
}

export const run: fc.Arbitrary<Run> = fc.record({
  commands: fc.array(command, { minLength: 1, maxLength: 25 }),
  haltAt: fc.integer({ min: 1, max: 160 }),
  end: fc.constantFrom("kill" as const, "power" as const),
});

/** What the partition owes, seen from outside. */
export class Promises {
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
  /** Texts that a full disk refused: they must never be seen. */
  private readonly refused = new Set<string>();
  private readonly textsOf = new Map<number, readonly string[]>();

  queue(op: number, first: number, texts: readonly string[], isDurable: boolean): void {
    this.ops.set(op, { first, end: first + texts.length, durable: isDurable });
    this.textsOf.set(op, texts);
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

  refuse(fromOp: number): void {
    for (const op of [...this.ops.keys()].filter((known) => known >= fromOp)) {
      this.ops.delete(op);
      for (const text of this.textsOf.get(op) ?? []) this.refused.add(text);
      this.textsOf.delete(op);
    }
  }

  isRefused(text: string): boolean {
    return this.refused.has(text);
  }

  /** After a restart: what came back is what counts from now on. */
  restart(op: number): void {
    for (const known of [...this.ops.keys()]) if (known > op) this.ops.delete(known);
    this.acknowledgedOp = op;
    this.durableOp = Math.min(this.durableOp, op);
  }
}

let serial = 0;

/** Does one command; a full disk may refuse it. */
export async function perform(io: MemoryIo, partition: TestPartition, promises: Promises, one: Command): Promise<void> {
  try {
    await attempt(io, partition, promises, one);
  } catch (error) {
    if (!(error instanceof WriteFailed && error.outOfSpace)) throw error;
  }
}

async function attempt(io: MemoryIo, partition: TestPartition, promises: Promises, one: Command): Promise<void> {
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
      promises.queue(op, partition.nextOffset, [], one.durable);
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
      if (!one.durable) promises.offsets.delete(one.id);
      await store.storeOffset("consumer", one.id, offset, one.durable);
      if (one.durable) promises.offsets.set(one.id, offset);
      return;
    }
    case "read":
      await partition.messages();
      return;
    case "flush":
      await store.flush();
      promises.durableOp = promises.acknowledgedOp;
      return;
    case "fill":
      io.capacityBytes = one.room + io.tree().reduce((sum, path) => sum + (io.contents(path)?.length ?? 0), 0);
      return;
    case "make-room":
      io.capacityBytes = Infinity;
      return;
    case "reopen":
      return;
  }
}

export async function expectPromisesKept(partition: TestPartition, promises: Promises, keptOp: number): Promise<void> {
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
    expect(promises.isRefused(text)).toBe(false);
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
