import { describe, expect, it } from "vitest";
import type { StoreClock } from "../src/index.js";
import { memoryDisk, quickDisk, type Settings, TestPartition } from "./partition-harness.js";

/** Time that passes when the test says so. */
class TestClock implements StoreClock {
  micros = 0;
  readonly waits: number[] = [];
  private timers: { at: number; run: () => void }[] = [];

  nowMicros(): number {
    return this.micros;
  }

  after(delayMicros: number, run: () => void): void {
    this.waits.push(delayMicros);
    this.timers.push({ at: this.micros + delayMicros, run });
  }

  pass(micros: number): void {
    this.micros += micros;
    const due = this.timers.filter(({ at }) => at <= this.micros);
    this.timers = this.timers.filter(({ at }) => at > this.micros);
    for (const { run } of due) run();
  }
}

const turns = async (count = 50): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** A partition on a disk that counts syncs, and can hold them up. */
async function counted(
  settings: Settings = {},
): Promise<{ partition: TestPartition; syncs: () => number; hold: () => () => void }> {
  const io = await quickDisk();
  let syncs = 0;
  let held: Promise<void> | undefined;
  const open = io.open.bind(io);
  io.open = async (path, mode) => {
    const file = await open(path, mode);
    return {
      ...file,
      sync: async () => {
        if (path.endsWith(".wal")) syncs++;
        await held;
        await file.sync();
      },
    };
  };
  const partition = await TestPartition.open(io, settings);
  await partition.send(["first"], true);
  syncs = 0;
  const hold = (): (() => void) => {
    let release = (): void => undefined;
    held = new Promise((resolve) => {
      release = () => {
        held = undefined;
        resolve();
      };
    });
    return release;
  };
  return { partition, syncs: () => syncs, hold };
}

describe("group commit", () => {
  it("covers everything that was queued while the last sync ran with one sync", async () => {
    const { partition, syncs, hold } = await counted();
    const release = hold();
    partition.queue(["a"], true);
    await turns();
    for (const text of ["b", "c", "d"]) {
      partition.queue([text], true);
      await turns(2);
    }
    expect(partition.journaledOp).toBe(1);
    expect(syncs()).toBe(1);
    release();
    await partition.settled(5);
    expect(syncs()).toBe(2);
  });

  it("with a delay waits for more, so that one sync covers what comes within it", async () => {
    const clock = new TestClock();
    const { partition, syncs } = await counted({ groupCommitDelayMicros: 500, clock });
    clock.pass(100);
    partition.queue(["a"], true);
    await turns();
    clock.pass(200);
    partition.queue(["b"], true);
    partition.queue(["c"]);
    await turns();
    expect(syncs()).toBe(0);
    expect(partition.journaledOp).toBe(1);
    clock.pass(300);
    await partition.settled(4);
    expect(syncs()).toBe(1);
    expect(clock.waits).toEqual([500]);
    expect(await partition.texts()).toEqual(["first", "a", "b", "c"]);
  });

  it("waits for nobody on a partition that was idle, or whose operations come further apart than the delay", async () => {
    const clock = new TestClock();
    const { partition, syncs } = await counted({ groupCommitDelayMicros: 500, clock });
    for (let i = 0; i < 3; i++) {
      clock.pass(501);
      partition.queue([`${i}`], true);
      partition.queue([`and ${i}`], true);
      await partition.settled(partition.op);
      expect(syncs()).toBe(i + 1);
    }
    expect(clock.waits).toEqual([]);
  });

  it("never waits for operations that need no sync", async () => {
    const clock = new TestClock();
    const { partition } = await counted({ groupCommitDelayMicros: 500, clock });
    for (let i = 0; i < 3; i++) await partition.send([`${i}`]);
    expect(clock.waits).toEqual([]);
  });

  it("that waits when the disk fails, or the store is closed, ends", async () => {
    const clock = new TestClock();
    const { partition } = await counted({ groupCommitDelayMicros: 500, clock });
    partition.queue(["a"], true);
    await turns();
    const closed = partition.store.close();
    await turns();
    clock.pass(500);
    await closed;
    expect(partition.journaledOp).toBe(2);
  });
});

describe("a group that needs no sync", () => {
  it("holds everything of a turn, and is written and reported behind it", async () => {
    const io = await quickDisk();
    const partition = await TestPartition.open(io);
    await partition.send(["opens the files"]);
    const reports: number[] = [];
    const waiting = [partition.queue(["a"]), partition.queue(["b"]), partition.queueOperation(new Uint8Array(9))];
    await Promise.resolve();
    await Promise.resolve();
    reports.push(partition.journaledOp);
    expect(waiting).toEqual([2, 3, 4]);
    expect(reports).toEqual([4]);
    expect((await TestPartition.open(io.kill())).op).toBe(4);
  });

  it("is written in one go for all partitions of a shard", async () => {
    const io = await quickDisk();
    const first = await TestPartition.open(io);
    const second = await TestPartition.open(io, { shard: first.shard, topicId: 9 });
    for (const partition of [first, second]) await partition.send(["opens the files"]);
    for (const partition of [first, second]) partition.queue(["a"]);
    await Promise.resolve();
    await Promise.resolve();
    expect([first.journaledOp, second.journaledOp]).toEqual([2, 2]);
  });

  it("is handed over for a while when the disk made one wait", async () => {
    const clock = new TestClock();
    const io = await quickDisk();
    let isSlow = false;
    const written: string[] = [];
    const open = io.open.bind(io);
    io.open = async (path, mode) => {
      const file = await open(path, mode);
      return {
        ...file,
        writeNow: (buffers, position) => {
          written.push("at once");
          if (isSlow) clock.micros += 20_000;
          file.writeNow?.(buffers, position);
        },
        write: (buffers, position) => {
          written.push("handed over");
          return file.write(buffers, position);
        },
      };
    };
    const partition = await TestPartition.open(io, { clock });
    const send = async (): Promise<string[]> => {
      written.length = 0;
      await partition.send(["a"]);
      return [...written];
    };
    await send();
    expect(await send()).toEqual(["at once", "at once"]);
    isSlow = true;
    expect(await send()).toEqual(["at once", "at once"]);
    isSlow = false;
    expect(await send()).toEqual(["handed over", "handed over"]);
    clock.pass(200_000);
    expect(await send()).toEqual(["handed over", "handed over"]);
    clock.pass(100_000);
    expect(await send()).toEqual(["at once", "at once"]);
    expect(await partition.texts()).toHaveLength(6);
  });

  it("takes its time when it begins a segment, renews offsets or is very large, and loses nothing", async () => {
    const io = await quickDisk();
    const partition = await TestPartition.open(io, { segmentSizeBytes: 700, offsetReservationLease: 3 });
    for (let i = 0; i < 40; i++) partition.queue([`m${i}`]);
    await partition.settled(40);
    for (let i = 40; i < 60; i++) await partition.send([`m${i}`]);
    const texts = Array.from({ length: 60 }, (_, i) => `m${i}`);
    expect(await partition.texts()).toEqual(texts);
    expect(await (await TestPartition.open(io.kill())).texts()).toEqual(texts);
  });
});

describe("a read from files", () => {
  const read = { startOffset: 0, ceilingOffset: 1000, count: 1000, maxBytes: 1_000_000 };

  it("is answered at once when file, index and bytes are there", async () => {
    const partition = await TestPartition.open(await quickDisk(), { residentBytesMax: 0, segmentSizeBytes: 600 });
    for (let i = 0; i < 5; i++) await partition.send([`m${i}`]);
    expect(partition.store.read(read)).toBeInstanceOf(Promise);
    const found = await partition.store.read({ ...read, startOffset: 4 });
    expect(found.messagesCount).toBe(1);
    expect(partition.store.read({ ...read, startOffset: 4 })).toMatchObject({ messagesCount: 1, firstOffset: 4 });
  });

  it("that would have to wait for the disk gives a promise", async () => {
    let isCold = false;
    const io = await memoryDisk({ immediate: { wouldBlock: () => isCold } });
    const partition = await TestPartition.open(io, { residentBytesMax: 0 });
    await partition.send(["a"]);
    await partition.store.read(read);
    expect(partition.store.read(read)).toMatchObject({ messagesCount: 1 });
    isCold = true;
    const cold = partition.store.read(read);
    expect(cold).toBeInstanceOf(Promise);
    expect(await cold).toMatchObject({ messagesCount: 1 });
  });
});
