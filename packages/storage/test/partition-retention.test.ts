import { describe, expect, it } from "vitest";
import { filesOf, memoryDisk, TestPartition } from "./partition-harness.js";

const settings = { segmentSizeBytes: 600, residentBytesMax: 0 };

describe("removing segments", () => {
  it("takes sealed ones that end at or below the offset, oldest first, and keeps offsets", async () => {
    const io = await memoryDisk();
    const partition = await TestPartition.open(io, settings);
    for (let i = 0; i < 20; i++) await partition.send([`m${i}`]);
    await partition.checkpoint();
    const sealed = partition.store.sealedSegments;
    const third = sealed[2]!;
    expect(await partition.store.deleteSegmentsThrough(third.endOffset - 1)).toBe(2);
    expect(await partition.store.deleteSegmentsThrough(third.endOffset)).toBe(1);
    expect(await partition.store.deleteSegmentsThrough(third.endOffset)).toBe(0);
    expect(partition.store.startOffset).toBe(third.endOffset + 1);
    expect(partition.store.counters.messagesCount).toBe(20 - third.endOffset - 1);
    expect(partition.store.counters.sizeBytes).toBe(
      filesOf(io, ".log").reduce((sum, path) => sum + io.contents(path)!.length, 0),
    );
    expect((await partition.messages())[0]?.offset).toBe(third.endOffset + 1);
    await partition.store.close();
    const restarted = await TestPartition.open(io, settings);
    expect(restarted.store.startOffset).toBe(third.endOffset + 1);
    expect(await restarted.messages()).toEqual(await restarted.messages(0));
    expect(restarted.store.counters).toEqual(partition.store.counters);
    expect(restarted.warnings).toEqual([]);
  });

  it("waits for a checkpoint where the journal refers to the segment, and asks for one", async () => {
    const partition = await TestPartition.open(await memoryDisk(), settings);
    for (let i = 0; i < 10; i++) await partition.send([`m${i}`]);
    expect(partition.store.checkpointDue).toBe(false);
    expect(await partition.store.deleteSegmentsThrough(5)).toBe(0);
    expect(partition.store.checkpointDue).toBe(true);
    await partition.checkpoint();
    expect(partition.store.checkpointDue).toBe(false);
    expect(await partition.store.deleteSegmentsThrough(5)).toBeGreaterThan(0);
  });

  it("removes no more than asked in one go", async () => {
    const partition = await TestPartition.open(await memoryDisk(), { ...settings, segmentSizeBytes: 100 });
    for (let i = 0; i < 40; i++) await partition.send([`m${i}`]);
    await partition.checkpoint();
    expect(await partition.store.deleteSegmentsThrough(39, 3)).toBe(3);
    expect(await partition.store.deleteSegmentsThrough(39)).toBe(16);
  });

  it("of everything leaves an empty active segment behind a full one, and the next offset", async () => {
    const io = await memoryDisk();
    const partition = await TestPartition.open(io, { ...settings, segmentSizeBytes: 100 });
    for (let i = 0; i < 3; i++) await partition.send([`m${i}`]);
    await partition.checkpoint();
    expect(partition.store.sealedSegments).toHaveLength(3);
    expect(await partition.store.deleteSegmentsThrough(2)).toBe(3);
    expect(partition.store).toMatchObject({
      startOffset: 3,
      counters: { segmentsCount: 1, sizeBytes: 0, messagesCount: 0 },
      sealedSegments: [],
    });
    const restarted = await TestPartition.open(io.kill(), { ...settings, segmentSizeBytes: 100 });
    expect(restarted.nextOffset).toBe(3);
    expect(restarted.store.startOffset).toBe(3);
    await restarted.send(["m3"]);
    expect(await restarted.messages()).toMatchObject([{ offset: 3, text: "m3" }]);
  });

  it("never takes the active segment", async () => {
    const partition = await TestPartition.open(await memoryDisk(), settings);
    for (let i = 0; i < 10; i++) await partition.send([`m${i}`]);
    await partition.send(["last"]);
    await partition.checkpoint();
    const active = filesOfActive(partition);
    await partition.store.deleteSegmentsThrough(Number.MAX_SAFE_INTEGER);
    expect(partition.store.startOffset).toBe(active);
    expect((await partition.texts()).at(-1)).toBe("last");
  });

  it("goes on under a reader that is in the middle of them", async () => {
    const io = await memoryDisk();
    const partition = await TestPartition.open(io, settings);
    for (let i = 0; i < 30; i++) await partition.send([`m${i}`]);
    await partition.checkpoint();
    const reading = partition.store.read({ startOffset: 0, ceilingOffset: 29, count: 30, maxBytes: 1_000_000 });
    const removed = partition.store.deleteSegmentsThrough(20);
    const result = await reading;
    expect(await removed).toBeGreaterThan(0);
    expect(result.messagesCount).toBeGreaterThan(0);
    expect(result.lastOffset! - result.firstOffset! + 1).toBe(result.messagesCount);
  });

  it("also takes what was in memory", async () => {
    const partition = await TestPartition.open(await memoryDisk(), { segmentSizeBytes: 600 });
    for (let i = 0; i < 10; i++) await partition.send([`m${i}`]);
    await partition.checkpoint();
    await partition.store.deleteSegmentsThrough(4);
    expect((await partition.messages())[0]?.offset).toBe(partition.store.startOffset);
    expect(partition.store.residentFrom).toBe(partition.store.startOffset);
  });
});

describe("the journal budget", () => {
  it("asks for a checkpoint at half and takes nothing when it is used up", async () => {
    const partition = await TestPartition.open(await memoryDisk(), { journalBytesMax: 20_000 });
    const body = new Uint8Array(1000);
    while (!partition.store.checkpointDue) await partition.operate(body);
    expect(partition.op).toBeGreaterThan(5);
    expect(partition.op).toBeLessThan(10);
    let op: number | undefined = partition.op;
    while (op !== undefined) op = partition.queueOperation(body);
    await partition.settled(partition.op);
    const full = partition.op;
    expect(full).toBeLessThan(16);
    expect(partition.queueOperation(body)).toBeUndefined();
    expect(partition.queue(["x".repeat(2000)])).toBeUndefined();
    await partition.checkpoint();
    expect(await partition.operate(body)).toBe(full + 1);
  });

  it("counts a batch in full only until it is written", async () => {
    const partition = await TestPartition.open(await memoryDisk(), { journalBytesMax: 30_000 });
    const payload = "x".repeat(9000);
    const queued = Array.from({ length: 6 }, () => partition.queue([payload]));
    expect(queued.filter((op) => op !== undefined)).toHaveLength(3);
    await partition.settled(partition.op);
    for (let i = 0; i < 20; i++) await partition.send([payload]);
    expect((await partition.messages()).length).toBe(23);
  });
});

function filesOfActive(partition: TestPartition): number {
  return partition.store.sealedSegments.at(-1)!.endOffset + 1;
}
