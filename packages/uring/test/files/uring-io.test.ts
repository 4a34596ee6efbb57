import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Block, type FallbackIo, UringIo } from "../../src/index.js";
import { openUring, type Uring, withRing } from "../support/uring.js";

const rare: FallbackIo = {
  makeDirectory: (path) => fs.promises.mkdir(path, { recursive: true }).then(() => undefined),
  list: (path) => fs.promises.readdir(path),
  removeTree: (path) => rm(path, { recursive: true, force: true }),
  lock: () => Promise.resolve(undefined),
  bootId: () => Promise.resolve(7n),
};

withRing("files on a ring", (addon) => {
  let uring: Uring;
  let io: UringIo;
  let directory: string;
  let path: string;

  beforeEach(async () => {
    uring = openUring(addon);
    io = new UringIo(uring.ring, rare);
    directory = await mkdtemp(join(tmpdir(), "iggy-uring-"));
    path = join(directory, "file with ümlaut");
  });

  afterEach(async () => {
    await uring.close();
    expect(uring.blocks.usedBytes).toBe(0);
    await rm(directory, { recursive: true, force: true });
  });

  test("hold what was written, by this package and for node:fs alike", async () => {
    const file = await io.open(path, "write");
    const pieces = [randomBytes(3), randomBytes(0), randomBytes(100_000), randomBytes(17)];
    await file.write(pieces, 5);
    await file.sync();
    expect(await file.size()).toBe(100_025);
    expect(fs.readFileSync(path).equals(Buffer.concat([Buffer.alloc(5), ...pieces]))).toBe(true);
    await file.truncate(50);
    expect(fs.statSync(path).size).toBe(50);
    const into = new Uint8Array(100);
    expect(await file.read(into, 5)).toBe(45);
    expect(Buffer.from(into.subarray(0, 45)).equals(Buffer.concat(pieces).subarray(0, 45))).toBe(true);
    expect(await file.read(into, 1000)).toBe(0);
    await file.close();
  });

  test("are read from the disk into the heap and into the slab when the page cache does not have them", async () => {
    const bytes = randomBytes(1_500_000);
    fs.writeFileSync(path, bytes);
    const file = await io.open(path, "read");
    for (const into of [new Uint8Array(1_400_000), uring.blocks.allocate(1_400_000)]) {
      dropCache(path);
      const target = into instanceof Uint8Array ? into : (into?.bytes ?? new Uint8Array());
      const wanted = target.subarray(0, 1_400_000);
      expect(await file.read(wanted, 777)).toBe(1_400_000);
      expect(Buffer.from(wanted).equals(bytes.subarray(777, 1_400_777))).toBe(true);
      if (!(into instanceof Uint8Array)) into?.release();
    }
    await file.close();
  });

  test("are read without any block left in the slab", async () => {
    const bytes = randomBytes(500_000);
    fs.writeFileSync(path, bytes);
    const file = await io.open(path, "read");
    const hoard: Block[] = [];
    for (let size = 16 * 1024 * 1024; size >= 4096;) {
      const block = uring.blocks.allocate(size);
      if (block === undefined) size /= 2;
      else hoard.push(block);
    }
    dropCache(path);
    const into = new Uint8Array(500_000);
    expect(await file.read(into, 0)).toBe(500_000);
    expect(Buffer.from(into).equals(bytes)).toBe(true);
    for (const block of hoard) block.release();
    await file.close();
  });

  test("take a write of many megabytes and of thousands of pieces", async () => {
    const pieces = Array.from({ length: 3000 }, (_, at) => new Uint8Array(5000 + (at % 7)).fill(at % 256));
    const file = await io.open(path, "write");
    await file.write(pieces, 0);
    expect(fs.readFileSync(path).equals(Buffer.concat(pieces))).toBe(true);
    expect(file.writeNow([Uint8Array.of(1, 2), Uint8Array.of(3)], 10)).toBe(3);
    expect([...fs.readFileSync(path).subarray(9, 14)]).toEqual([0, 1, 2, 3, 0]);
    await file.close();
  });

  test("are reserved without changing their size", async () => {
    const file = await io.open(path, "write");
    await file.reserve(1_000_000);
    expect(fs.statSync(path)).toMatchObject({ size: 0 });
    expect(fs.statSync(path).blocks * 512).toBeGreaterThanOrEqual(1_000_000);
    await file.close();
  });

  test("are opened in the three modes", async () => {
    await expect(io.open(path, "read")).rejects.toMatchObject({ code: "ENOENT", syscall: "open", path });
    await (await io.open(path, "create-exclusive")).close();
    await expect(io.open(path, "create-exclusive")).rejects.toMatchObject({ code: "EEXIST", errno: -17 });
    const file = await io.open(path, "read");
    await expect(file.write([new Uint8Array(1)], 0)).rejects.toMatchObject({ code: "EBADF" });
    await file.close();
    await expect(file.size()).rejects.toMatchObject({ code: "EBADF" });
    await expect(file.close()).rejects.toMatchObject({ code: "EBADF" });
  });

  test("are renamed, linked and removed", async () => {
    fs.writeFileSync(path, "x");
    const other = join(directory, "other");
    await io.link(path, other);
    await expect(io.link(path, other)).rejects.toMatchObject({ code: "EEXIST" });
    await io.remove(path);
    await io.remove(path);
    fs.writeFileSync(path, "y");
    await io.rename(path, other);
    expect(fs.readFileSync(other, "utf8")).toBe("y");
    await io.syncDirectory(directory);
    await io.makeDirectory(join(directory, "a/b"));
    await io.removeEmptyDirectory(join(directory, "a"));
    expect(fs.existsSync(join(directory, "a/b"))).toBe(true);
    await io.removeEmptyDirectory(join(directory, "a/b"));
    await io.removeEmptyDirectory(join(directory, "a/b"));
    expect(fs.existsSync(join(directory, "a/b"))).toBe(false);
    await expect(io.remove(join(directory, "a"))).rejects.toMatchObject({ code: "EISDIR" });
    await expect(io.syncDirectory(join(directory, "none"))).rejects.toMatchObject({ code: "ENOENT" });
    expect(await io.bootId()).toBe(7n);
  });

  test("refuse a path with a zero byte and one that is too long", async () => {
    await expect(io.open("a\0b", "read")).rejects.toThrow(TypeError);
    await expect(io.open("é".repeat(2048), "read")).rejects.toThrow(/fewer than 4096 bytes/);
    await expect(io.open("x".repeat(4095), "read")).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  });

  test("many at a time wait for their turn", async () => {
    const names = Array.from({ length: 200 }, (_, at) => join(directory, String(at)));
    const files = await Promise.all(names.map((name) => io.open(name, "write")));
    await Promise.all(files.map((file, at) => file.write([Buffer.from(String(at))], 0)));
    await Promise.all(files.map((file) => file.sync()));
    await Promise.all(files.map((file) => file.close()));
    expect(names.map((name) => fs.readFileSync(name, "utf8"))).toEqual(names.map((_, at) => String(at)));
  });

  test("any history leaves the same bytes as the same history through node:fs", async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("write" as const),
        at: fc.nat(70_000),
        sizes: fc.array(fc.nat(9000), { maxLength: 5 }),
      }),
      fc.record({ kind: fc.constant("truncate" as const), at: fc.nat(90_000), sizes: fc.constant([]) }),
      fc.record({ kind: fc.constant("read" as const), at: fc.nat(90_000), sizes: fc.tuple(fc.nat(20_000)) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const model = join(directory, "model");
        fs.writeFileSync(model, "");
        fs.writeFileSync(path, "");
        const reference = fs.openSync(model, "r+");
        const file = await io.open(path, "write");
        for (const { kind, at, sizes } of steps) {
          if (kind === "write") {
            const pieces = sizes.map((size) => randomBytes(size));
            await file.write(pieces, at);
            const all = Buffer.concat(pieces);
            if (all.length > 0) fs.writeSync(reference, all, 0, all.length, at);
          } else if (kind === "truncate") {
            await file.truncate(at);
            fs.ftruncateSync(reference, at);
          } else {
            const [ours, theirs] = [Buffer.alloc(sizes[0]), Buffer.alloc(sizes[0])];
            expect(await file.read(ours, at)).toBe(fs.readSync(reference, theirs, 0, theirs.length, at));
            expect(ours.equals(theirs)).toBe(true);
          }
        }
        await file.close();
        fs.closeSync(reference);
        expect(fs.readFileSync(path).equals(fs.readFileSync(model))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});

/** What is written back can be forgotten by the page cache; where the system keeps it, the test sees only cached reads. */
function dropCache(path: string): void {
  const descriptor = fs.openSync(path, "r");
  fs.fsyncSync(descriptor);
  fs.closeSync(descriptor);
  try {
    fs.writeFileSync("/proc/sys/vm/drop_caches", "1");
  } catch {
    // Not allowed here.
  }
}
