import { describe, expect, it } from "vitest";
import { StorageShard } from "../src/index.js";
import { ID, memoryDisk, messagesOf, TestPartition } from "./partition-harness.js";
import { TestPool } from "./pooled-memory.js";

const everything = { startOffset: 0, ceilingOffset: 1000, count: 1000, maxBytes: 1_000_000 };

/** Partitions of one shard, on one disk; each batch lies in a block of 4096 bytes. */
async function partitions(count: number, residentBytesMax: number): Promise<{ pool: TestPool; all: TestPartition[] }> {
  const io = await memoryDisk();
  const pool = new TestPool(4096);
  const shard = new StorageShard({ residentBytesMax });
  const all: TestPartition[] = [];
  for (let partitionId = 0; partitionId < count; partitionId++) {
    all.push(await TestPartition.open(io, { shard, topicId: ID.topicId + partitionId }, pool));
  }
  return { pool, all };
}

const large = (text: string): string => text.padEnd(3000, ".");

describe("the memory of recent batches", () => {
  it("is shared by the partitions of a shard: the oldest batch of all goes first", async () => {
    const { all } = await partitions(3, 4 * 4096);
    const [a, b, c] = all as [TestPartition, TestPartition, TestPartition];
    for (const partition of [a, b, a, c]) await partition.send([large("m")]);
    expect(all.map(({ store }) => store.residentFrom)).toEqual([0, 0, 0]);
    await c.send([large("m")]);
    expect(all.map(({ store }) => store.residentFrom)).toEqual([1, 0, 0]);
    await c.send([large("m")]);
    expect(all.map(({ store }) => store.residentFrom)).toEqual([1, Infinity, 0]);
    await c.send([large("m")]);
    expect(all.map(({ store }) => store.residentFrom)).toEqual([Infinity, Infinity, 0]);
    // One that is written alone gets all of it.
    expect(a.shard.resident.bytes).toBe(4 * 4096);
  });

  it("counts the whole block that a batch keeps, once for all batches in it", async () => {
    const { all } = await partitions(2, 1_000_000);
    const [a, b] = all as [TestPartition, TestPartition];
    await a.send(["small"]);
    expect(a.shard.resident.bytes).toBe(4096);
    await b.send(["small"]);
    await a.send(["small"]);
    expect(a.shard.resident.bytes).toBe(4096);
    await a.store.close();
    expect(a.shard.resident.bytes).toBe(4096);
    await b.store.close();
    expect(a.shard.resident.bytes).toBe(0);
  });

  it("is given up on demand, the oldest first, and readers keep what they were given", async () => {
    const { pool, all } = await partitions(2, 1_000_000);
    const [a, b] = all as [TestPartition, TestPartition];
    for (const partition of [a, b, a]) await partition.send([large("m")]);
    const read = await a.store.read(everything);
    expect(a.shard.resident.evict(1)).toBe(4096);
    expect(all.map(({ store }) => store.residentFrom)).toEqual([1, 0]);
    expect(a.shard.resident.evict(1_000_000)).toBe(2 * 4096);
    expect(a.shard.resident.bytes).toBe(0);
    expect(pool.heldBytes).toBe(2 * 4096);
    expect(messagesOf(read).map(({ text }) => text)).toEqual([large("m"), large("m")]);
    for (const memory of read.memory) memory.release();
    expect(pool.heldBytes).toBe(0);
    expect(await a.texts()).toEqual([large("m"), large("m")]);
  });

  it("of many batches in few blocks is held once for each block by a read", async () => {
    const { all } = await partitions(1, 1_000_000);
    const [a] = all as [TestPartition];
    for (let i = 0; i < 100; i++) a.queue([`m${i}`]);
    await a.settled(100);
    const read = await a.store.read(everything);
    expect(read.messagesCount).toBe(100);
    expect(new Set(read.memory).size).toBe(read.memory.length);
    expect(read.memory.length).toBeLessThan(100);
    for (const memory of read.memory) memory.release();
    a.expectNoLeak();
  });

  it("is given back when the journal has no room, when a batch is refused, and when the partition fails", async () => {
    const io = await memoryDisk();
    const pool = new TestPool(2048);
    const partition = await TestPartition.open(io, { journalBytesMax: 5000 }, pool);
    await partition.send(["kept"]);
    for (let i = 0; i < 20; i++) partition.queue([large("too much")]);
    await partition.settled(partition.op);
    partition.expectNoLeak();
    const stop = io.fail({ operation: "write", code: "ENOSPC" });
    partition.queue(["refused"]);
    await partition.settled(partition.op);
    expect(partition.rejections).toHaveLength(1);
    partition.expectNoLeak();
    stop();
    io.fail({ operation: "write", code: "EIO" });
    partition.queueOperation(new Uint8Array(10));
    await partition.settled(partition.op);
    expect(partition.failures).toHaveLength(1);
    partition.expectNoLeak();
    await partition.store.close();
    expect(pool.heldBytes).toBe(0);
  });
});
