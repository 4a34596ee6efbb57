import { describe, expect, it } from "vitest";
import { PartitionFenced } from "../src/index.js";
import { DIRECTORY, filesOf, JOURNAL, memoryDisk, type Settings, TestPartition } from "./partition-harness.js";

const LOG = `${DIRECTORY}/00000000000000000000.log`;
const INDEX = `${DIRECTORY}/00000000000000000000.index`;
const WAL = `${JOURNAL}/00000000000000000001.wal`;

const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `m${i}`);

describe("after the end of the process", () => {
  it("everything acknowledged is there, with its operations and the next offset", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    await before.send(["m0", "m1"]);
    await before.operate(new TextEncoder().encode("an operation"));
    await before.send(["m2"]);
    const after = await TestPartition.open(io.kill());
    expect(await after.texts()).toEqual(numbers(3));
    expect(after.recovered).toMatchObject({ fresh: false, nextOffset: 3, lastTimestampMicros: before.clockMicros });
    const { entries } = after.recovered;
    expect(entries.map(({ kind }) => kind)).toEqual(["batch", "operation", "batch"]);
    expect(entries.map(({ entry }) => entry.op)).toEqual([1, 2, 3]);
    expect(entries.map(({ entry }) => entry.body.length)).toEqual([256, 12, 256]);
    expect(after.recovered.frontier).toMatchObject({ view: 0, logView: 0, commitMax: 2, checkpointOp: 0 });
    expect(after.warnings).toEqual([]);
    await after.send(["m3"]);
    expect(await after.texts()).toEqual(numbers(4));
  });

  it("offsets go on without a gap", async () => {
    let io = await memoryDisk();
    for (let run = 0; run < 5; run++) {
      const partition = await TestPartition.open(io);
      expect(partition.nextOffset).toBe(run);
      await partition.send([`m${run}`]);
      io = io.kill();
    }
    expect(await (await TestPartition.open(io)).texts()).toEqual(numbers(5));
  });

  it("a checkpoint gives its state, and only what came after it is replayed", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io, { segmentSizeBytes: 600 });
    for (const text of numbers(7)) await before.send([text]);
    await before.checkpoint(new TextEncoder().encode("state"));
    expect(before.store.checkpointDue).toBe(false);
    await before.send(["m7"]);
    const after = await TestPartition.open(io.kill(), { segmentSizeBytes: 600 });
    expect(after.recovered.checkpoint?.op).toBe(7);
    expect(new TextDecoder().decode(after.recovered.checkpoint?.state)).toBe("state");
    expect(after.recovered.entries.map(({ entry }) => entry.op)).toEqual([8]);
    expect(after.recovered.frontier).toMatchObject({ checkpointOp: 7, commitMax: 7 });
    expect(await after.texts()).toEqual(numbers(8));
    expect(after.store.counters).toEqual(before.store.counters);
    expect(after.store.sealedSegments).toEqual(before.store.sealedSegments);
  });

  it("a checkpoint of everything leaves a journal that starts empty", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    for (const text of numbers(3)) await before.send([text]);
    await before.checkpoint();
    await before.store.close();
    expect(io.tree(JOURNAL)).toEqual([`${JOURNAL}/00000000000000000004.wal`]);
    const after = await TestPartition.open(io);
    expect(after.recovered.entries).toEqual([]);
    expect(after.recovered.frontier.checkpointChecksum).toBe(before.identity);
    await after.send(["m3"]);
    expect(await after.texts()).toEqual(numbers(4));
  });
});

describe("three starts with one append each", () => {
  for (const end of ["close", "kill"] as const) {
    it(`leave one index entry per batch, and whole data without a warning (${end})`, async () => {
      let io = await memoryDisk();
      for (let run = 0; run < 3; run++) {
        const partition = await TestPartition.open(io, { residentBytesMax: 0 });
        expect(partition.warnings).toEqual([]);
        await partition.send([`m${run}`]);
        await partition.store.flush();
        if (end === "close") await partition.store.close();
        else io = io.kill();
      }
      expect(io.contents(INDEX)).toHaveLength(32 + 3 * 24);
      const partition = await TestPartition.open(io, { residentBytesMax: 0 });
      expect(await partition.texts()).toEqual(numbers(3));
    });
  }
});

describe("a log whose last batch is cut", () => {
  for (const state of ["killed", "closed", "checkpointed"] as const) {
    it(`at any byte keeps every whole message and gives no offset twice (${state})`, async () => {
      const io = await memoryDisk();
      const before = await TestPartition.open(io);
      await before.send(["m0", "m1"]);
      await before.send(["m2"]);
      const whole = before.store.counters.sizeBytes;
      await before.send(["m3", "m4"]);
      if (state === "checkpointed") await before.checkpoint();
      if (state !== "killed") await before.store.close();
      const files = new Map(io.tree(DIRECTORY).map((path) => [path, io.contents(path)!]));
      const log = files.get(LOG)!;
      for (let size = whole; size < log.length; size++) {
        for (const path of io.tree(DIRECTORY)) if (!files.has(path)) await io.remove(path);
        for (const [path, bytes] of files) io.setContents(path, bytes);
        io.setContents(LOG, log.subarray(0, size));
        const after = await TestPartition.open(io);
        expect(await after.texts()).toEqual(numbers(3));
        expect(after.nextOffset).toBe(5);
        expect(after.warnings.length).toBeGreaterThan(0);
        await after.send(["new"]);
        expect(await after.messages(3)).toMatchObject([{ offset: 5, text: "new" }]);
        await after.store.close();
        const again = await TestPartition.open(io);
        expect(await again.texts()).toEqual(["m0", "m1", "m2", "new"]);
        expect(again.nextOffset).toBe(6);
        expect(again.warnings).toEqual([]);
      }
    });
  }

  it("below what was synced fences a partition that promised to persist", async () => {
    const io = await memoryDisk();
    const settings: Settings = { persisted: true };
    const before = await TestPartition.open(io, settings);
    for (const text of numbers(3)) await before.send([text], true);
    const log = io.contents(LOG)!;
    // Op 3 names op 2 as synced.
    io.setContents(LOG, log.subarray(0, log.length / 3 + 10));
    await expectFence(TestPartition.open(io.kill(), settings), "damaged-log", "synced");
    expect(io.contents(LOG)).toHaveLength(log.length / 3 + 10);
  });
});

describe("a journal that is cut", () => {
  it("at any byte of its last entry loses that operation only", async () => {
    let io = await memoryDisk();
    const before = await TestPartition.open(io);
    await before.send(["m0"]);
    await before.send(["m1"]);
    const whole = io.contents(WAL)!.length;
    await before.send(["m2"]);
    const wal = io.contents(WAL)!;
    const log = io.contents(LOG)!;
    for (let size = whole; size < wal.length; size++) {
      io = io.kill();
      io.setContents(WAL, wal.subarray(0, size));
      io.setContents(LOG, log);
      const after = await TestPartition.open(io);
      expect(await after.texts()).toEqual(numbers(2));
      expect(after.nextOffset).toBe(2);
      await after.send(["m2"]);
      io = io.kill();
      const again = await TestPartition.open(io);
      expect(await again.texts()).toEqual(numbers(3));
    }
  });
});

describe("a journal that lost its end while the segments kept theirs", () => {
  it("fences the partition when that had been synced, and nothing is cut", async () => {
    for (const persisted of [false, true]) {
      const io = await memoryDisk();
      const before = await TestPartition.open(io, { persisted });
      for (const text of numbers(3)) await before.send([text]);
      await before.store.close();
      const wal = io.contents(WAL)!;
      const log = io.contents(LOG)!;
      for (const size of [64, 64 + 336, wal.length - 1]) {
        io.setContents(WAL, wal.subarray(0, size));
        await expectFence(TestPartition.open(io, { persisted }), "damaged-log", "op 3");
        expect(io.contents(LOG)).toEqual(log);
      }
      io.setContents(WAL, wal);
      expect(await (await TestPartition.open(io, { persisted })).texts()).toEqual(numbers(3));
    }
  });
});

describe("foreign bytes behind the log", () => {
  it("are removed and never served", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    await before.send(["m0"]);
    const first = io.contents(LOG)!;
    await before.send(["m1"]);
    const log = io.contents(LOG)!;
    for (const garbage of [new Uint8Array(1000).fill(0xaa), first, new Uint8Array(3), new Uint8Array(5000)]) {
      io.setContents(LOG, Buffer.concat([log, garbage]));
      const after = await TestPartition.open(io, { residentBytesMax: 0 });
      expect(await after.texts()).toEqual(numbers(2));
      expect(after.warnings.some((warning) => warning.includes(`${garbage.length} unacknowledged bytes`))).toBe(true);
      expect(io.contents(LOG)).toEqual(log);
    }
  });

  it("in the journal are removed, where they can be what a crash has left of an entry", async () => {
    for (const [bytes, crash] of [
      [300, "kill"],
      [500, "losePower"],
    ] as const) {
      const io = await memoryDisk();
      const before = await TestPartition.open(io);
      await before.send(["m0"], true);
      io.setContents(WAL, Buffer.concat([io.contents(WAL)!, new Uint8Array(bytes).fill(1)]));
      const next = io[crash]();
      const after = await TestPartition.open(next);
      await after.send(["m1"]);
      const again = await TestPartition.open(next.kill());
      expect(await again.texts()).toEqual(numbers(2));
    }
  });

  it("in the journal that can be a damaged entry fence the partition", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    await before.send(["m0"]);
    io.setContents(WAL, Buffer.concat([io.contents(WAL)!, new Uint8Array(500).fill(1)]));
    await expectFence(TestPartition.open(io.kill()), "damaged-log", "byte 400");
  });
});

describe("damage inside the log", () => {
  it("of a batch fences the partition and changes nothing", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    for (const text of numbers(3)) await before.send([text]);
    const log = io.contents(LOG)!;
    log[300] = log[300]! ^ 1;
    io.setContents(LOG, log);
    const files = io.tree();
    await expectFence(TestPartition.open(io.kill()), "damaged-log", "op 1");
    expect(io.contents(LOG)).toEqual(log);
    expect(io.tree()).toEqual(files);
  });

  it("of a journal entry fences the partition", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    for (const text of numbers(3)) await before.send([text]);
    const wal = io.contents(WAL)!;
    wal[64 + 100] = wal[64 + 100]! ^ 1;
    io.setContents(WAL, wal);
    await expectFence(TestPartition.open(io.kill()), "damaged-log", "byte 64");
  });

  it("that a loss of power explains is cut when nothing behind it was synced", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    await before.send(["m0"], true);
    await before.send(["m1"]);
    await before.send(["m2"]);
    const log = io.contents(LOG)!;
    const at = log.length / 3 + 300;
    const lost = io.losePower();
    log[at] = log[at]! ^ 1;
    lost.setContents(LOG, log);
    const after = await TestPartition.open(lost);
    expect((await after.texts())[0]).toBe("m0");
    expect((await after.texts()).length).toBe(1);
    expect(after.nextOffset).toBe(1000);
  });

  it("of a segment that a checkpoint counts is met by the reader, who gets what precedes it, then a typed error", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    for (const text of numbers(3)) await before.send([text]);
    await before.checkpoint();
    await before.store.close();
    const log = io.contents(LOG)!;
    const record = log.length / 3;
    const flip = (at: number): void => {
      const bytes = Uint8Array.from(log);
      bytes[at] = bytes[at]! ^ 1;
      io.setContents(LOG, bytes);
    };
    const request = { startOffset: 0, ceilingOffset: 2, count: 10, maxBytes: 1_000_000 };
    for (const [at, code] of [
      [record + 256 + 48, 4027],
      [record + 41, 4039],
      [record + 35, 4039],
      [record + 9, 4039],
    ] as const) {
      flip(at);
      const after = await TestPartition.open(io);
      expect(await after.store.read(request)).toMatchObject({ messagesCount: 1, lastOffset: 0 });
      await expect(after.store.read({ ...request, startOffset: 1 })).rejects.toMatchObject({ code });
      await after.store.close();
    }
  });

  it("of a missing segment in the middle or of all segments fences the partition", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io, { segmentSizeBytes: 300 });
    for (const text of numbers(4)) await before.send([text]);
    await before.checkpoint();
    await before.store.close();
    const logs = filesOf(io, ".log");
    const contents = logs.map((path) => io.contents(path)!);
    await io.remove(logs[2]!);
    await expectFence(TestPartition.open(io, { segmentSizeBytes: 300 }), "damaged-log", "missing");
    for (const path of logs) await io.remove(path);
    await expectFence(TestPartition.open(io, { segmentSizeBytes: 300 }), "missing-history", "gone");
    logs.forEach((path, i) => {
      io.setContents(path, contents[i]!);
    });
    expect(await (await TestPartition.open(io, { segmentSizeBytes: 300 })).texts()).toEqual(numbers(4));
  });

  it("of a journal that starts too late fences the partition", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    for (const text of numbers(3)) await before.send([text]);
    await before.checkpoint();
    await before.store.close();
    await io.remove(`${DIRECTORY}/checkpoint`);
    await expectFence(TestPartition.open(io), "missing-history", "checkpoint at op 3");
  });
});

describe("an index", () => {
  it("that is missing, cut or untrue is built again, and every message is found", async () => {
    for (const seal of [false, true]) {
      const io = await memoryDisk();
      const settings: Settings = { segmentSizeBytes: 200_000, residentBytesMax: 0 };
      const before = await TestPartition.open(io, settings);
      for (let i = 0; i < 60; i++) await before.send([`m${i}`, "x".repeat(6000)]);
      if (seal) await before.checkpoint();
      await before.store.close();
      const paths = filesOf(io, ".index");
      const originals = paths.map((path) => io.contents(path)!);
      expect(originals[0]!.length).toBeGreaterThan(32 + 24 * 5);
      const expected = await (await TestPartition.open(io, settings)).messages();
      const variants: ((bytes: Uint8Array) => Uint8Array | undefined)[] = [
        () => undefined,
        () => new Uint8Array(0),
        (bytes) => bytes.subarray(0, 32 + 12),
        (bytes) => bytes.subarray(0, bytes.length - 12),
        (bytes) => change(bytes, 32 + 24 + 16, 64),
        (bytes) => change(bytes, 32 + 24, 1),
        (bytes) => change(bytes, 4, 9),
        () => new Uint8Array(500).fill(0xff),
        (bytes) => Buffer.concat([bytes, bytes.subarray(32)]),
      ];
      for (const variant of variants) {
        for (const [i, path] of paths.entries()) {
          const bytes = variant(originals[i]!);
          if (bytes === undefined) await io.remove(path);
          else io.setContents(path, bytes);
        }
        const after = await TestPartition.open(io, settings);
        for (const start of [0, 1, 31, 64, 90, 119]) {
          expect((await after.messages(start))[0]).toEqual(expected[start]);
        }
        expect(await after.messages(0, 5)).toEqual(expected);
        for (const at of [1, 30, 118])
          expect(await after.store.offsetAt(expected[at]!.timestampMicros, 999)).toBe(at - (at % 2));
        await after.store.close();
      }
    }
  });

  it("without a log is removed", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    await before.send(["m0"]);
    io.setContents(`${DIRECTORY}/00000000000000000077.index`, new Uint8Array(32));
    io.setContents(`${DIRECTORY}/00000000000000000000.log.staging`, new Uint8Array(5));
    io.setContents(`${DIRECTORY}/checkpoint.tmp`, new Uint8Array(5));
    await TestPartition.open(io.kill());
    const names = io.tree(DIRECTORY);
    expect(names.filter((name) => /77|staging|tmp/.test(name))).toEqual([]);
  });
});

describe("after a loss of power", () => {
  it("no offset that was confirmed is given to another message", async () => {
    for (let attempt = 0; attempt < 30; attempt++) {
      let io = await memoryDisk({ random: Math.random });
      let confirmed = 0;
      for (let run = 0; run < 3; run++) {
        const partition = await TestPartition.open(io);
        expect(partition.nextOffset).toBeGreaterThanOrEqual(confirmed);
        for (let i = 0; i < 5; i++) await partition.send(["a", "b"]);
        confirmed = partition.nextOffset;
        io = io.losePower();
      }
    }
  });

  it("that follows a clean stop offsets go on without a gap", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io);
    await before.send(["m0"]);
    await before.store.close();
    const after = await TestPartition.open(io.losePower());
    expect(after.nextOffset).toBe(1);
    expect(await after.texts()).toEqual(["m0"]);
  });

  it("reserves more than one lease", async () => {
    const io = await memoryDisk();
    const before = await TestPartition.open(io, { offsetReservationLease: 3 });
    for (const text of numbers(20)) await before.send([text]);
    const after = await TestPartition.open(io.losePower(), { offsetReservationLease: 3 });
    expect(after.nextOffset).toBeGreaterThanOrEqual(20);
    expect(after.nextOffset).toBeLessThan(30);
  });
});

function change(bytes: Uint8Array, at: number, by: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[at] = (changed[at]! + by) & 0xff;
  return changed;
}

async function expectFence(opening: Promise<unknown>, reason: string, detail: string): Promise<void> {
  const error: unknown = await opening.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(PartitionFenced);
  expect(error).toMatchObject({ reason, code: 87, directory: DIRECTORY });
  expect((error as PartitionFenced).message).toContain(detail);
}
