import { describe, expect, it } from "vitest";
import { DIRECTORY, memoryDisk, TestPartition } from "./partition-harness.js";

const CONSUMERS = `${DIRECTORY}/offsets/consumers`;

describe("stored offsets", () => {
  it("that are durable are in their file at once: the offset and its checksum", async () => {
    const io = await memoryDisk();
    const partition = await TestPartition.open(io);
    await partition.store.storeOffset("consumer", 12, 41, true);
    await partition.store.storeOffset("group", 12, 7, true);
    await partition.store.storeOffset("external_group", 4294967295, 9_007_199_254_740_991, true);
    expect(Buffer.from(io.contents(`${CONSUMERS}/12`)!).toString("hex")).toBe("2900000000000000584d9d3cb7de96e0");
    const restarted = await TestPartition.open(io.losePower());
    expect(restarted.recovered.offsets).toEqual([
      { kind: "consumer", id: 12, offset: 41 },
      { kind: "group", id: 12, offset: 7 },
      { kind: "external_group", id: 4294967295, offset: 9_007_199_254_740_991 },
    ]);
  });

  it("that are not durable reach their files with a checkpoint, a flush or the close", async () => {
    for (const how of ["checkpoint", "flush", "close"] as const) {
      const io = await memoryDisk();
      const partition = await TestPartition.open(io);
      await partition.send(["a"]);
      await partition.store.storeOffset("consumer", 1, 5, false);
      await partition.store.storeOffset("consumer", 1, 6, false);
      expect(io.contents(`${CONSUMERS}/1`)).toBeUndefined();
      if (how === "checkpoint") await partition.checkpoint();
      else await partition.store[how]();
      const restarted = await TestPartition.open(io.losePower());
      expect(restarted.recovered.offsets).toEqual([{ kind: "consumer", id: 1, offset: 6 }]);
    }
  });

  it("are deleted in the order of the calls", async () => {
    const io = await memoryDisk();
    const { store } = await TestPartition.open(io);
    const calls = [
      store.storeOffset("group", 1, 5, false),
      store.storeOffset("group", 1, 6, true),
      store.deleteOffset("group", 1, true),
      store.storeOffset("group", 2, 6, true),
      store.deleteOffset("group", 2, false),
      store.deleteOffset("group", 3, true),
    ];
    await Promise.all(calls);
    await store.flush();
    const restarted = await TestPartition.open(io.losePower());
    expect(restarted.recovered.offsets).toEqual([]);
  });

  it("stay dirty when the disk is full, and a newer one wins", async () => {
    const io = await memoryDisk();
    const { store } = await TestPartition.open(io);
    await store.storeOffset("consumer", 1, 5, false);
    await store.storeOffset("consumer", 2, 50, false);
    const stop = io.fail({ operation: "write", path: (path) => path.startsWith(CONSUMERS), code: "ENOSPC" });
    const flushed = store.flush();
    await expect(flushed).rejects.toMatchObject({ outOfSpace: true });
    await store.storeOffset("consumer", 1, 6, false);
    stop();
    await store.flush();
    const restarted = await TestPartition.open(io.kill());
    expect(restarted.recovered.offsets).toEqual([
      { kind: "consumer", id: 1, offset: 6 },
      { kind: "consumer", id: 2, offset: 50 },
    ]);
  });

  it("whose files are damaged are skipped with a warning, an old form is read, other names are ignored", async () => {
    const io = await memoryDisk();
    const first = await TestPartition.open(io);
    for (const id of [1, 2, 3, 4]) await first.store.storeOffset("consumer", id, 10 * id, true);
    const intact = io.contents(`${CONSUMERS}/1`)!;
    io.setContents(`${CONSUMERS}/1`, intact.subarray(0, 8));
    io.setContents(`${CONSUMERS}/2`, intact.subarray(0, 7));
    io.setContents(
      `${CONSUMERS}/3`,
      Uint8Array.from(intact, (byte, i) => (i === 9 ? byte ^ 1 : byte)),
    );
    io.setContents(`${CONSUMERS}/name`, intact);
    io.setContents(`${CONSUMERS}/5.tmp`, intact);
    const restarted = await TestPartition.open(io.kill());
    expect(restarted.recovered.offsets).toEqual([
      { kind: "consumer", id: 1, offset: 10 },
      { kind: "consumer", id: 4, offset: 40 },
    ]);
    expect(restarted.warnings).toEqual([
      expect.stringMatching(/consumers\/2: torn file/) as string,
      expect.stringMatching(/consumers\/3: wrong checksum/) as string,
    ]);
    await restarted.store.storeOffset("consumer", 3, 33, true);
    const again = await TestPartition.open(io.kill());
    expect(again.recovered.offsets).toContainEqual({ kind: "consumer", id: 3, offset: 33 });
    expect(again.warnings).toHaveLength(1);
  });

  it("that wait in great number ask for a checkpoint", async () => {
    const partition = await TestPartition.open(await memoryDisk());
    await partition.send(["a"]);
    for (let id = 0; id < 1000; id++) await partition.store.storeOffset("consumer", id, 1, false);
    expect(partition.store.checkpointDue).toBe(false);
    for (let id = 1000; id < 1024; id++) await partition.store.storeOffset("consumer", id, 1, false);
    expect(partition.store.checkpointDue).toBe(true);
    await partition.checkpoint();
    expect(partition.store.checkpointDue).toBe(false);
  });
});
