import { describe, expect, it } from "vitest";
import { type Io, StorageShard } from "../src/index.js";
import { memoryDisk, type Settings, SPEEDS, seeded, TestPartition } from "./partition-harness.js";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A disk that counts its open files. */
async function counted(speed: keyof typeof SPEEDS): Promise<{ io: Io; open: () => number }> {
  const io = await memoryDisk(SPEEDS[speed](seeded(1)));
  let open = 0;
  const original = io.open.bind(io);
  io.open = async (path, mode) => {
    const file = await original(path, mode);
    open++;
    return {
      ...file,
      close: () => {
        open--;
        return file.close();
      },
    };
  };
  return { io, open: () => open };
}

async function partitions(io: Io, count: number, settings: Settings): Promise<TestPartition[]> {
  const shard = new StorageShard({ residentBytesMax: 0, ...settings });
  const all: TestPartition[] = [];
  for (let i = 0; i < count; i++) all.push(await TestPartition.open(io, { shard, topicId: 10 + i }));
  return all;
}

for (const speed of ["at once", "in its own time"] as const) {
  describe(`files of partitions, on a disk that is used ${speed}`, () => {
    it("are closed when a partition was idle from one sweep to the next, and opened again when it is used", async () => {
      const { io, open } = await counted(speed);
      const [a, b] = (await partitions(io, 2, {})) as [TestPartition, TestPartition];
      expect(open()).toBe(0);
      for (const partition of [a, b]) {
        await partition.send(["first"]);
        await partition.texts();
      }
      expect(open()).toBe(6);
      a.shard.closeIdleFiles();
      await settled();
      expect(open()).toBe(6);
      await a.send(["second"]);
      a.shard.closeIdleFiles();
      await settled();
      expect(open()).toBe(3);
      a.shard.closeIdleFiles();
      await settled();
      expect(open()).toBe(0);
      for (const partition of [a, b]) await partition.send(["third"], true);
      expect(await a.texts()).toEqual(["first", "second", "third"]);
      expect(await b.texts()).toEqual(["first", "third"]);
      for (const partition of [a, b]) await partition.store.close();
      expect(open()).toBe(0);
    });

    it("are open for so many partitions at most: the longest idle gives its own back", async () => {
      const { io, open } = await counted(speed);
      const all = await partitions(io, 20, { openPartitionsMax: 5 });
      for (let round = 0; round < 3; round++) {
        for (const partition of all) {
          await partition.send([`${round}`]);
          await settled();
          expect(open()).toBeLessThanOrEqual(2 * 5 + 2);
        }
        all[0]?.shard.closeIdleFiles();
      }
      for (const partition of all) expect(await partition.texts()).toEqual(["0", "1", "2"]);
    });

    it("are closed between the operations of a busy partition without loss", async () => {
      const { io } = await counted(speed);
      const [partition] = (await partitions(io, 1, {})) as [TestPartition];
      for (let i = 0; i < 60; i++) {
        partition.queue([`m${i}`], i % 7 === 0);
        const read = i % 3 === 0 ? partition.texts() : undefined;
        for (let sweep = 0; sweep < 2; sweep++) partition.shard.closeIdleFiles();
        if (i % 5 === 0) await settled();
        await read;
      }
      await partition.settled(60);
      expect(await partition.texts()).toEqual(Array.from({ length: 60 }, (_, i) => `m${i}`));
      expect(partition.failures).toEqual([]);
    });
  });
}

describe("a checkpoint", () => {
  it("runs 16 syncs at a time at most, however many files it has to sync", async () => {
    const io = await memoryDisk();
    let running = 0;
    let most = 0;
    const original = io.open.bind(io);
    io.open = async (path, mode) => {
      const file = await original(path, mode);
      return {
        ...file,
        sync: async () => {
          most = Math.max(most, ++running);
          await settled();
          await file.sync();
          running--;
        },
      };
    };
    const partition = await TestPartition.open(io, { segmentSizeBytes: 300 });
    for (let i = 0; i < 60; i++) partition.queue([`m${i}`]);
    await partition.settled(60);
    for (let id = 0; id < 40; id++) await partition.store.storeOffset("consumer", id, 1, false);
    await partition.checkpoint();
    expect(most).toBeGreaterThan(8);
    expect(most).toBeLessThanOrEqual(16);
  });

  it("is due when 1024 files wait for one", async () => {
    const partition = await TestPartition.open(await memoryDisk(), { segmentSizeBytes: 300 });
    for (let i = 0; i < 1000; i++) partition.queue([`m${i}`]);
    await partition.settled(1000);
    expect(partition.store.checkpointDue).toBe(false);
    for (let i = 0; i < 1100; i++) partition.queue([`m${i}`]);
    await partition.settled(2100);
    expect(partition.store.checkpointDue).toBe(true);
    await partition.checkpoint();
    expect(partition.store.checkpointDue).toBe(false);
  });
});
