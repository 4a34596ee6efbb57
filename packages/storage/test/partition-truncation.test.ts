import { describe, expect, it } from "vitest";
import { type Io, type MemoryIo, openPartitionStore, type PartitionStore, StorageShard } from "../src/index.js";
import {
  batchOf,
  DATA,
  filesOf,
  ID,
  memoryDisk,
  seeded,
  SPEEDS,
  messagesOf,
  prepareHeader,
} from "./partition-harness.js";
import { stampBatch } from "@iggy/protocol";

/** A member of a group of three: what it journals is not committed by that alone. */
class Member {
  store!: PartitionStore;
  op = 0;
  nextOffset = 0;
  time = 1000;
  journaledOp = 0;
  private waiter: (() => void) | undefined;

  static async open(io: Io, settings: { readonly segmentSizeBytes?: number } = {}): Promise<Member> {
    const member = new Member();
    const { store, recovered } = await openPartitionStore(io, DATA, {
      ...ID,
      clusterId: 9n,
      replicaId: 1,
      replicaCount: 3,
      incarnation: 7,
      createdView: 1,
      retryCapacity: 0,
      segmentSizeBytes: 600,
      preallocate: false,
      persisted: true,
      validateChecksums: true,
      journalBytesMax: 1_000_000,
      shard: new StorageShard({ residentBytesMax: 100_000 }),
      offsetReservationLease: 100,
      ...settings,
      onJournaled: (op) => {
        member.journaledOp = op;
        member.waiter?.();
      },
      onRejected: () => undefined,
      onFailed: () => undefined,
      onWarning: () => undefined,
    });
    member.store = store;
    member.op = recovered.entries.at(-1)?.entry.op ?? recovered.frontier.checkpointOp;
    member.journaledOp = member.op;
    member.nextOffset = recovered.nextOffset;
    return member;
  }

  async send(text: string): Promise<void> {
    const body = batchOf([text]);
    this.time += 10;
    stampBatch(body, 0, { partitionId: ID.partitionId, baseOffset: this.nextOffset, baseTimestamp: this.time });
    const op = ++this.op;
    const header = prepareHeader({ op, body, timestamp: this.time, operation: 160, parent: 0n });
    expect(this.store.append({ op, header, body }, "batch", true)).toBe(true);
    this.nextOffset++;
    while (this.journaledOp < op) await new Promise<void>((resolve) => (this.waiter = resolve));
  }

  async texts(startOffset = 0): Promise<string[]> {
    const result = await this.store.read({ startOffset, ceilingOffset: 999, count: 100, maxBytes: 1_000_000 });
    return messagesOf(result).map(({ text }) => text);
  }
}

for (const [speed, options] of Object.entries(SPEEDS)) {
  const disk = (): Promise<MemoryIo> => memoryDisk(options(seeded(1)));
  describe(`a disk that is used ${speed}`, () => {
    describe("truncating uncommitted operations", () => {
      it("takes them off segments, journal and memory, across segments, and the log goes on from there", async () => {
        for (let keep = 2; keep <= 9; keep++) {
          const io = await disk();
          const member = await Member.open(io);
          for (let i = 0; i < 9; i++) await member.send(`m${i}`);
          member.store.commit(2);
          await member.store.truncateAbove(keep);
          const kept = Array.from({ length: keep }, (_, i) => `m${i}`);
          expect(await member.texts()).toEqual(kept);
          expect(filesOf(io, ".log")).toHaveLength(member.store.counters.segmentsCount);
          member.op = keep;
          member.journaledOp = keep;
          member.nextOffset = keep;
          await member.send("other");
          await member.send("another");
          expect(await member.texts()).toEqual([...kept, "other", "another"]);
          const counters = member.store.counters;
          const restarted = await Member.open(io.losePower());
          expect(await restarted.texts()).toEqual([...kept, "other", "another"]);
          expect(restarted.store.counters).toEqual(counters);
          expect(restarted.op).toBe(keep + 2);
        }
      });

      it("also takes what a checkpoint had synced above its operation", async () => {
        const io = await disk();
        const member = await Member.open(io);
        for (let i = 0; i < 6; i++) await member.send(`m${i}`);
        member.store.commit(3);
        await member.store.checkpoint(3, 7n, new Uint8Array([3]));
        await member.store.truncateAbove(4);
        const restarted = await Member.open(io.kill());
        expect(await restarted.texts()).toEqual(["m0", "m1", "m2", "m3"]);
        expect(restarted.op).toBe(4);
      });

      it("goes back to the operation that a checkpoint covers, though its files are gone", async () => {
        const io = await disk();
        const member = await Member.open(io, { segmentSizeBytes: 100 });
        for (let i = 0; i < 3; i++) await member.send(`m${i}`);
        member.store.commit(3);
        await member.store.checkpoint(3, 7n, new Uint8Array([3]));
        await member.store.deleteSegmentsThrough(2);
        for (let i = 3; i < 6; i++) await member.send(`m${i}`);
        await member.store.truncateAbove(3);
        expect(await member.texts()).toEqual([]);
        Object.assign(member, { op: 3, journaledOp: 3, nextOffset: 3 });
        for (let i = 3; i < 5; i++) await member.send(`other ${i}`);
        expect(await member.texts()).toEqual(["other 3", "other 4"]);
        const restarted = await Member.open(io.losePower(), { segmentSizeBytes: 100 });
        expect(await restarted.texts()).toEqual(["other 3", "other 4"]);
        expect(restarted.op).toBe(5);
      });

      it("that is cut off by a crash leaves a log that opens", async () => {
        for (let mutation = 1; mutation < 30; mutation++) {
          const io = await disk();
          const member = await Member.open(io);
          for (let i = 0; i < 6; i++) await member.send(`m${i}`);
          member.store.commit(2);
          await member.store.checkpoint(2, 7n, new Uint8Array(0));
          io.haltAt(mutation);
          await member.store.truncateAbove(3).catch(() => undefined);
          const restarted = await Member.open(mutation % 2 === 0 ? io.kill() : io.losePower());
          const texts = await restarted.texts();
          expect(texts.slice(0, 3)).toEqual(["m0", "m1", "m2"]);
          expect(restarted.op).toBeGreaterThanOrEqual(3);
          expect(texts).toHaveLength(restarted.op);
        }
      });

      it("never goes below the commit point", async () => {
        const member = await Member.open(await disk());
        for (let i = 0; i < 3; i++) await member.send(`m${i}`);
        member.store.commit(2);
        expect(() => member.store.truncateAbove(1)).toThrow(/below the commit point/);
        await member.store.truncateAbove(3);
        expect(await member.texts()).toEqual(["m0", "m1", "m2"]);
      });
    });
  });
}
