import { describe, expect, it } from "vitest";
import type { MemoryIo } from "../src/index.js";
import { filesOf, memoryDisk, seeded, SPEEDS, messagesOf, TestPartition } from "./partition-harness.js";

const read = { startOffset: 0, ceilingOffset: Number.MAX_SAFE_INTEGER, count: 1000, maxBytes: 1024 * 1024 };

/** Nothing stays in memory: every read goes to the files. */
const cold = { residentBytesMax: 0 };

for (const [speed, options] of Object.entries(SPEEDS)) {
  const disk = (): Promise<MemoryIo> => memoryDisk(options(seeded(1)));
  describe(`a disk that is used ${speed}`, () => {
    describe("a partition that is new", () => {
      it("holds nothing and has one segment", async () => {
        const partition = await TestPartition.open(await disk());
        expect(partition.recovered).toMatchObject({ fresh: true, checkpoint: undefined, entries: [], nextOffset: 0 });
        expect(partition.store.counters).toEqual({ segmentsCount: 1, sizeBytes: 0, messagesCount: 0 });
        expect(partition.store.startOffset).toBe(0);
        expect(partition.store.residentFrom).toBe(Infinity);
        expect(partition.store.read(read)).toMatchObject({ pieces: [], messagesCount: 0, firstOffset: undefined });
      });
    });

    describe("appended batches", () => {
      it("are served from memory at once, by reference, after they were journaled", async () => {
        const partition = await TestPartition.open(await disk());
        await partition.send(["a", "b"]);
        await partition.send(["c"]);
        const result = partition.store.read(read);
        if (result instanceof Promise) throw new Error("a resident read waits for nothing");
        expect(messagesOf(result).map(({ text }) => text)).toEqual(["a", "b", "c"]);
        expect(result).toMatchObject({ firstOffset: 0, lastOffset: 2, messagesCount: 3 });
        expect(result.pieces).toHaveLength(2);
        expect(result.bytes).toBe(result.pieces.reduce((sum, piece) => sum + piece.length, 0));
        const again = partition.store.read(read);
        if (again instanceof Promise) throw new Error("a resident read waits for nothing");
        expect(again.pieces[0]).toBe(result.pieces[0]);
      });

      it("are not visible before they are journaled", async () => {
        const partition = await TestPartition.open(await disk());
        const op = partition.queue(["a"]);
        expect(partition.store.read(read)).toMatchObject({ messagesCount: 0 });
        await partition.settled(op!);
        expect(partition.store.read(read)).toMatchObject({ messagesCount: 1 });
      });

      it("are the same from the files as from memory", async () => {
        const io = await disk();
        const warm = await TestPartition.open(io);
        for (let i = 0; i < 50; i++) await warm.send([`m${i}`, `n${i}`]);
        const fromMemory = await warm.messages();
        await warm.store.close();
        const partition = await TestPartition.open(io, cold);
        expect(partition.store.read(read)).toBeInstanceOf(Promise);
        expect(await partition.messages()).toEqual(fromMemory);
        expect(await partition.messages(37, 7)).toEqual(fromMemory.slice(37));
      });

      it("are read from the files into memory without a gap", async () => {
        const io = await disk();
        const first = await TestPartition.open(io);
        for (let i = 0; i < 20; i++) await first.send([`old${i}`]);
        await first.store.close();
        const partition = await TestPartition.open(io);
        for (let i = 0; i < 20; i++) await partition.send([`new${i}`]);
        expect(partition.store.residentFrom).toBe(20);
        const all = await partition.store.read(read);
        expect(messagesOf(all).map(({ offset }) => offset)).toEqual(Array.from({ length: 40 }, (_, i) => i));
      });

      it("are written in one group while an earlier group is under way", async () => {
        const io = await disk();
        const partition = await TestPartition.open(io);
        for (let i = 0; i < 100; i++) partition.queue([`m${i}`]);
        await partition.settled(100);
        expect(await partition.texts()).toHaveLength(100);
        expect(partition.recovered.entries).toEqual([]);
      });

      it("of the wrong op, shape or offset are a fault of the caller", async () => {
        const partition = await TestPartition.open(await disk());
        const header = new Uint8Array(256);
        const { store } = partition;
        expect(() => store.append({ op: 2, header, body: new Uint8Array(0) }, "operation", false)).toThrow(RangeError);
        expect(() => store.append({ op: 1, header: header.subarray(1), body: header }, "operation", false)).toThrow(
          RangeError,
        );
        expect(() => store.append({ op: 1, header, body: header }, "batch", false)).toThrow(RangeError);
        await partition.send(["a", "b"]);
        partition.nextOffset = 1;
        expect(() => partition.queue(["c"])).toThrow(/next is 2/);
        expect(() => store.commit(9)).toThrow(RangeError);
        expect(() => store.checkpoint(9, 0n, header)).toThrow(RangeError);
      });
    });

    describe("a read", () => {
      const texts = Array.from({ length: 10 }, (_, i) => `message ${i}`);

      for (const [where, settings] of [
        ["memory", {}],
        ["files", cold],
      ] as const) {
        it(`cuts records at start, count and ceiling (${where})`, async () => {
          const partition = await TestPartition.open(await disk(), settings);
          await partition.send(texts);
          await partition.send(["next", "last"]);
          for (let start = 0; start < 12; start++) {
            for (let count = 1; count <= 12 - start; count++) {
              const result = await partition.store.read({ ...read, startOffset: start, count });
              const offsets = messagesOf(result).map(({ offset }) => offset);
              expect(offsets).toEqual(Array.from({ length: count }, (_, i) => start + i));
              expect(result).toMatchObject({ firstOffset: start, lastOffset: start + count - 1, messagesCount: count });
              const ceiling = await partition.store.read({
                ...read,
                startOffset: start,
                ceilingOffset: start + count - 1,
              });
              expect(messagesOf(ceiling)).toEqual(messagesOf(result));
            }
          }
        });

        it(`keeps its size limit, but gives one message in any case (${where})`, async () => {
          const partition = await TestPartition.open(await disk(), settings);
          await partition.send(texts);
          await partition.send(["next", "last"]);
          const whole = (await partition.store.read(read)).pieces[0]!.length;
          for (let maxBytes = 1; maxBytes < 2000; maxBytes += 13) {
            const result = await partition.store.read({ ...read, maxBytes });
            expect(result.bytes <= maxBytes || result.messagesCount === 1).toBe(true);
            expect(result.messagesCount).toBeGreaterThanOrEqual(1);
            if (maxBytes >= whole) expect(result.messagesCount).toBeGreaterThanOrEqual(10);
            expect(messagesOf(result).map(({ text }) => text)).toEqual(
              [...texts, "next", "last"].slice(0, result.messagesCount),
            );
          }
        });

        it(`beyond the end, above the ceiling or for nothing is empty (${where})`, async () => {
          const partition = await TestPartition.open(await disk(), settings);
          await partition.send(texts);
          for (const request of [
            { ...read, startOffset: 10 },
            { ...read, startOffset: 5, ceilingOffset: 4 },
            { ...read, count: 0 },
          ]) {
            expect(await partition.store.read(request)).toMatchObject({ messagesCount: 0, bytes: 0, pieces: [] });
          }
        });
      }

      it("crosses segments", async () => {
        const partition = await TestPartition.open(await disk(), { ...cold, segmentSizeBytes: 512 });
        for (let i = 0; i < 30; i++) await partition.send([`m${i}`]);
        expect(partition.store.counters.segmentsCount).toBeGreaterThan(10);
        const result = await partition.store.read(read);
        expect(messagesOf(result).map(({ offset }) => offset)).toEqual(Array.from({ length: 30 }, (_, i) => i));
      });

      it("of a record that is larger than a chunk gives it whole", async () => {
        const partition = await TestPartition.open(await disk(), { ...cold, segmentSizeBytes: 16 * 1024 * 1024 });
        const large = new Uint8Array(3 * 1024 * 1024).fill(7);
        await partition.send(["small"]);
        await partition.send([large]);
        await partition.send(["after"]);
        const result = await partition.store.read({ ...read, maxBytes: 8 * 1024 * 1024 });
        expect(result.messagesCount).toBe(3);
        expect(messagesOf(result)[1]!.text).toHaveLength(large.length);
      });
    });

    describe("segments", () => {
      it("are sealed when their bytes reach the size, whatever the groups were", async () => {
        const starts: number[][] = [];
        for (const group of [1, 3, 40]) {
          const io = await disk();
          const partition = await TestPartition.open(io, { segmentSizeBytes: 1024 });
          for (let i = 0; i < 40; i += group) {
            for (let j = i; j < Math.min(40, i + group); j++) partition.queue([`message ${j}`]);
            await partition.settled(partition.op);
          }
          starts.push(partition.store.sealedSegments.map(({ startOffset }) => startOffset));
          const { sealedSegments, counters } = partition.store;
          for (const segment of sealedSegments) expect(segment.sizeBytes).toBeGreaterThanOrEqual(1024);
          for (const [i, segment] of sealedSegments.entries()) {
            const next = sealedSegments[i + 1];
            if (next !== undefined) expect(next.startOffset).toBe(segment.endOffset + 1);
          }
          expect(filesOf(io, ".log")).toHaveLength(counters.segmentsCount);
        }
        expect(starts[0]!.length).toBeGreaterThan(5);
        expect(starts[1]).toEqual(starts[0]);
        expect(starts[2]).toEqual(starts[0]);
      });

      it("tell offsets, bytes and the time of their newest batch", async () => {
        const partition = await TestPartition.open(await disk(), { segmentSizeBytes: 600 });
        await partition.send(["a", "b"]);
        await partition.send(["c"]);
        const newest = partition.clockMicros;
        await partition.send(["d"]);
        const [segment] = partition.store.sealedSegments;
        expect(segment).toMatchObject({ startOffset: 0, endOffset: 2, newestTimestampMicros: newest });
      });
    });

    describe("readers beside a writer", () => {
      it("see every offset once and in order, through rotation, checkpoints and retention", async () => {
        const io = await disk();
        const partition = await TestPartition.open(io, { segmentSizeBytes: 2000, residentBytesMax: 3000 });
        let done = false;
        const reader = async (count: number): Promise<number> => {
          let next = 0;
          let seen = 0;
          while (!done || next < partition.nextOffset) {
            const ceilingOffset = partition.nextOffset - 1;
            const result = await partition.store.read({ startOffset: next, ceilingOffset, count, maxBytes: 5000 });
            for (const { offset, text } of messagesOf(result)) {
              // A jump is allowed only over what retention took.
              if (offset !== next)
                expect(offset === partition.store.startOffset || offset < partition.store.startOffset).toBe(true);
              expect(text).toBe(`m${offset}`);
              next = offset + 1;
              seen++;
            }
            if (result.messagesCount === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          return seen;
        };
        const readers = [1, 3, 100, 7].map(reader);
        for (let i = 0; i < 600; i += 3) {
          await partition.send([`m${i}`, `m${i + 1}`, `m${i + 2}`]);
          if (i % 150 === 0) await partition.checkpoint();
          if (i % 200 === 100) await partition.store.deleteSegmentsThrough(i - 80);
          if (i % 30 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        done = true;
        for (const seen of await Promise.all(readers)) expect(seen).toBeGreaterThan(300);
      });
    });

    describe("preallocation", () => {
      it("that the disk can't do is warned of once and changes nothing", async () => {
        const partition = await TestPartition.open(await disk(), { preallocate: true, segmentSizeBytes: 300 });
        for (let i = 0; i < 4; i++) await partition.send([`m${i}`]);
        expect(partition.warnings).toEqual([expect.stringMatching(/no disk space is reserved/) as string]);
        expect(await partition.texts()).toHaveLength(4);
      });

      it("that the disk can do reserves the segment's size", async () => {
        const io = await disk();
        const reserved: number[] = [];
        const original = io.open.bind(io);
        io.open = async (path, mode) => ({
          ...(await original(path, mode)),
          reserve: (size) => {
            reserved.push(size);
            return Promise.resolve();
          },
        });
        const partition = await TestPartition.open(io, { preallocate: true, segmentSizeBytes: 300 });
        for (let i = 0; i < 4; i++) await partition.send([`m${i}`]);
        expect(partition.warnings).toEqual([]);
        expect(reserved).toEqual([300, 300, 300]);
      });
    });

    describe("the lookup by time", () => {
      it("gives the first batch at or after it, in memory, in files, across segments and after a restart", async () => {
        const io = await disk();
        const settings = { segmentSizeBytes: 2000 };
        const warm = await TestPartition.open(io, settings);
        const batches: { time: number; offset: number }[] = [];
        for (let i = 0; i < 60; i++) {
          batches.push({ time: warm.clockMicros + 10, offset: warm.nextOffset });
          await warm.send([`a${i}`, `b${i}`]);
        }
        expect(warm.store.counters.segmentsCount).toBeGreaterThan(3);
        const check = async (partition: TestPartition): Promise<void> => {
          for (const [i, { time, offset }] of batches.entries()) {
            expect(await partition.store.offsetAt(time - 1, 1000)).toBe(offset);
            expect(await partition.store.offsetAt(time, 1000)).toBe(offset);
            expect(await partition.store.offsetAt(time + 1, 1000)).toBe(batches[i + 1]?.offset);
          }
          expect(await partition.store.offsetAt(0, 1000)).toBe(0);
          expect(await partition.store.offsetAt(batches[30]!.time, batches[30]!.offset - 1)).toBeUndefined();
        };
        await check(warm);
        await warm.store.close();
        const restarted = await TestPartition.open(io, settings);
        await check(restarted);
        await restarted.store.close();
        const small = await TestPartition.open(io, { ...settings, residentBytesMax: 2000 });
        await small.send(["more", "more"]);
        batches.push({ time: small.clockMicros, offset: 120 });
        await check(small);
      });
    });
  });
}
