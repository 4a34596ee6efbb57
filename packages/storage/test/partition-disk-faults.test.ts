import { describe, expect, it } from "vitest";
import { type MemoryIo, StoreUnavailable, WriteFailed } from "../src/index.js";
import { DIRECTORY, filesOf, memoryDisk, seeded, SPEEDS, TestPartition } from "./partition-harness.js";

const isLog = (path: string): boolean => path.endsWith(".log");
const isWal = (path: string): boolean => path.endsWith(".wal");

for (const [speed, options] of Object.entries(SPEEDS)) {
  const disk = (): Promise<MemoryIo> => memoryDisk(options(seeded(1)));
  describe(`a disk that is used ${speed}`, () => {
    describe("a full disk", () => {
      for (const [what, path] of [
        ["segment", isLog],
        ["journal", isWal],
      ] as const) {
        it(`refuses what waits, keeps serving, and takes writes again when there is room (${what})`, async () => {
          const io = await disk();
          const partition = await TestPartition.open(io);
          await partition.send(["kept"]);
          const stop = io.fail({ operation: "write", path, code: "ENOSPC" });
          partition.queue(["lost"]);
          const op = partition.queue(["lost too"])!;
          await partition.settled(op);
          expect(partition.rejections).toHaveLength(1);
          const [rejection] = partition.rejections;
          expect(rejection!.fromOp).toBe(2);
          expect(rejection!.error).toBeInstanceOf(WriteFailed);
          expect(rejection!.error).toMatchObject({ outOfSpace: true });
          expect(partition.nextOffset).toBe(1);
          expect(await partition.texts()).toEqual(["kept"]);
          stop();
          await partition.send(["after"]);
          expect(await partition.texts()).toEqual(["kept", "after"]);
          expect(partition.failures).toEqual([]);
          const { sizeBytes } = partition.store.counters;
          expect(filesOf(io, ".log").map((file) => io.contents(file)!.length)).toEqual([sizeBytes]);
          const restarted = await TestPartition.open(io.kill());
          expect(restarted.warnings).toEqual([]);
          expect(await restarted.texts()).toEqual(["kept", "after"]);
          expect(restarted.recovered.entries.map(({ entry }) => entry.op)).toEqual([1, 2]);
        });
      }

      it("that cuts a write anywhere leaves nothing of the refused operations, also after a crash", async () => {
        for (let room = 0; room < 2600; room += 37) {
          const io = await disk();
          const partition = await TestPartition.open(io, { segmentSizeBytes: 700, residentBytesMax: 0 });
          await partition.send(["kept"]);
          const used = io.tree().reduce((sum, path) => sum + io.contents(path)!.length, 0);
          io.capacityBytes = used + room;
          for (let i = 0; i < 4; i++) partition.queue([`maybe ${i}`]);
          await partition.settled(partition.op);
          const kept = partition.journaledOp;
          io.capacityBytes = Infinity;
          expect(partition.nextOffset).toBe(kept);
          const expected = ["kept", "maybe 0", "maybe 1", "maybe 2", "maybe 3"].slice(0, kept);
          expect(await partition.texts()).toEqual(expected);
          expect(kept === 5 || partition.rejections.length === 1).toBe(true);
          const restarted = await TestPartition.open(io.kill(), { segmentSizeBytes: 700, residentBytesMax: 0 });
          expect(await restarted.texts()).toEqual(expected);
          await restarted.send(["after"]);
          expect(await restarted.texts()).toEqual([...expected, "after"]);
        }
      });

      it("whose clean-up is cut off by a crash leaves a log that opens", async () => {
        for (let room = 500; room < 2600; room += 150) {
          for (let mutation = 3; mutation < 14; mutation++) {
            let io = await disk();
            const partition = await TestPartition.open(io, { segmentSizeBytes: 300 });
            await partition.send(["kept"]);
            io.capacityBytes = room + io.tree().reduce((sum, path) => sum + io.contents(path)!.length, 0);
            io.haltAt(mutation);
            for (let i = 0; i < 4; i++) partition.queue([`maybe ${i}`]);
            await partition.settled(partition.op);
            io.capacityBytes = Infinity;
            io = mutation % 2 === 0 ? io.kill() : io.losePower();
            const restarted = await TestPartition.open(io, { segmentSizeBytes: 300 });
            const texts = await restarted.texts();
            expect(["kept", "maybe 0", "maybe 1", "maybe 2", "maybe 3"].slice(0, texts.length)).toEqual(texts);
            if (mutation % 2 === 0) expect(texts.length).toBeGreaterThanOrEqual(partition.journaledOp);
          }
        }
      });

      it("refuses a checkpoint and nothing else", async () => {
        const io = await disk();
        const partition = await TestPartition.open(io);
        await partition.send(["a"]);
        const stop = io.fail({ operation: "write", path: (path) => path.endsWith("checkpoint.tmp"), code: "ENOSPC" });
        await expect(partition.checkpoint()).rejects.toMatchObject({ outOfSpace: true });
        await partition.send(["b"]);
        stop();
        await partition.checkpoint(new Uint8Array([1]));
        const restarted = await TestPartition.open(io.kill());
        expect(restarted.recovered.checkpoint).toMatchObject({ op: 2, state: new Uint8Array([1]) });
        expect(await restarted.texts()).toEqual(["a", "b"]);
      });

      it("refuses a write that can't reserve its offsets", async () => {
        const io = await disk();
        const partition = await TestPartition.open(io, { offsetReservationLease: 2 });
        await partition.send(["a", "b"]);
        io.fail({ operation: "write", path: (path) => path.includes("superblock"), code: "ENOSPC" });
        partition.queue(["c", "d", "e", "f"]);
        await partition.settled(2);
        expect(partition.rejections).toHaveLength(1);
      });
    });

    describe("a broken disk", () => {
      for (const [what, fault] of [
        ["a write", { operation: "write", path: isLog, code: "EIO" }],
        ["a sync", { operation: "sync", path: isWal, code: "EIO" }],
        ["a sync without room", { operation: "sync", path: isLog, code: "ENOSPC" }],
        ["the repair of a full disk", { operation: "truncate", path: isWal, code: "EIO" }],
      ] as const) {
        it(`fails the partition once and for all (${what})`, async () => {
          const io = await disk();
          const partition = await TestPartition.open(io);
          await partition.send(["kept"], true);
          io.fail(fault);
          if (fault.operation === "truncate") io.fail({ operation: "write", path: isLog, code: "ENOSPC" });
          partition.queue(["lost"], true);
          partition.queue(["lost too"]);
          await partition.settled(partition.op);
          expect(partition.failures).toHaveLength(1);
          expect(partition.journaledOp).toBe(1);
          expect(() => partition.queue(["more"])).toThrow(StoreUnavailable);
          await expect(partition.store.flush()).rejects.toThrow(StoreUnavailable);
          await expect(partition.checkpoint()).rejects.toThrow(StoreUnavailable);
          await partition.store.close();
          expect(partition.failures).toHaveLength(1);
          const restarted = await TestPartition.open(io.kill());
          expect((await restarted.texts())[0]).toBe("kept");
        });
      }

      it("under a checkpoint's sync fails the partition", async () => {
        const io = await disk();
        const partition = await TestPartition.open(io);
        await partition.send(["kept"]);
        io.fail({ operation: "sync", path: isLog, code: "EIO" });
        await expect(partition.checkpoint()).rejects.toMatchObject({ outOfSpace: false });
        expect(partition.failures).toHaveLength(1);
        expect(() => partition.queue(["more"])).toThrow(StoreUnavailable);
      });

      it("under a read is reported to the reader only", async () => {
        const io = await disk();
        const partition = await TestPartition.open(io, { residentBytesMax: 0 });
        await partition.send(["kept"]);
        const request = { startOffset: 0, ceilingOffset: 0, count: 1, maxBytes: 1000 };
        io.fail({ operation: "read", path: isLog, code: "EIO", times: 1 });
        await expect(partition.store.read(request)).rejects.toMatchObject({ code: 4011 });
        expect(await partition.store.read(request)).toMatchObject({ messagesCount: 1 });
        io.fail({ operation: "open", path: isLog, code: "EMFILE", times: 1 });
        await partition.send(["more"]);
        expect(partition.failures).toEqual([]);
      });
    });

    describe("a closed store", () => {
      it("takes nothing more, may be closed again, and has everything on stable storage", async () => {
        const io = await disk();
        const partition = await TestPartition.open(io);
        partition.queue(["a"]);
        partition.queue(["b"]);
        await Promise.all([partition.store.close(), partition.store.close()]);
        expect(partition.journaledOp).toBe(2);
        expect(() => partition.queue(["c"])).toThrow(StoreUnavailable);
        const restarted = await TestPartition.open(io.losePower());
        expect(await restarted.texts()).toEqual(["a", "b"]);
      });
    });

    describe("files", () => {
      it("are given back: descriptors stay few while segments rotate, are read and removed", async () => {
        const io = await disk();
        let open = 0;
        let most = 0;
        const original = io.open.bind(io);
        io.open = async (path, mode) => {
          const file = await original(path, mode);
          most = Math.max(most, ++open);
          return {
            ...file,
            close: () => {
              open--;
              return file.close();
            },
          };
        };
        const partition = await TestPartition.open(io, { segmentSizeBytes: 1000, residentBytesMax: 0 });
        const idle = open;
        for (let i = 0; i < 200; i++) {
          await partition.send([`m${i}`, "x".repeat(300)], i % 10 === 0);
          if (i % 40 === 39) {
            await partition.checkpoint();
            await Promise.all(
              [0, 0.25, 0.5, 0.75].map((part) => partition.messages(Math.floor(partition.nextOffset * part))),
            );
            await partition.store.deleteSegmentsThrough(partition.nextOffset - 40);
          }
        }
        expect(idle).toBe(0);
        expect(most).toBeLessThan(24);
        expect(open).toBeLessThanOrEqual(4);
        await partition.store.close();
        expect(open).toBe(0);
        expect(filesOf(io, ".log").length).toBeLessThan(150);
        expect(io.tree(DIRECTORY).filter((path) => isWal(path))).toHaveLength(1);
      });
    });
  });
}
