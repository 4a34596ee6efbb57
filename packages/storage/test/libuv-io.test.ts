import { spawn } from "node:child_process";
import { once } from "node:events";
import { link, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type IoLock, LibuvIo, openDataDirectory, openMetadataStore, StorageRefused } from "../src/index.js";
import { ID, TestPartition } from "./partition-harness.js";
import { LibuvDataIo } from "./libuv-data-io.js";

let directory: string;
const io = new LibuvIo();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iggy-storage-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

describe("a file", () => {
  it("is written in pieces at a position, read, cut and measured", async () => {
    const file = await io.open(`${directory}/a`, "write");
    await file.write([text("hello "), new Uint8Array(0), text("world")], 3);
    expect(await file.size()).toBe(14);
    const bytes = new Uint8Array(20);
    expect(await file.read(bytes, 3)).toBe(11);
    expect(new TextDecoder().decode(bytes.subarray(0, 11))).toBe("hello world");
    expect(await file.read(bytes, 14)).toBe(0);
    await file.truncate(8);
    await file.sync();
    expect(await file.size()).toBe(8);
    await file.close();
    expect(await readFile(`${directory}/a`, "latin1")).toBe("\0\0\0hello");
  });

  it("takes more pieces in one write than the system takes in one call", async () => {
    const file = await io.open(`${directory}/many`, "write");
    const pieces = Array.from({ length: 5000 }, (_, i) => new Uint8Array([i & 0xff]));
    await file.write(pieces, 0);
    await file.close();
    const bytes = await readFile(`${directory}/many`);
    expect(bytes).toHaveLength(5000);
    expect(bytes.every((byte, i) => byte === (i & 0xff))).toBe(true);
  });

  it("is opened as asked", async () => {
    await expect(io.open(`${directory}/a`, "read")).rejects.toMatchObject({ code: "ENOENT" });
    const first = await io.open(`${directory}/a`, "create-exclusive");
    await first.write([text("x")], 0);
    await first.close();
    await expect(io.open(`${directory}/a`, "create-exclusive")).rejects.toMatchObject({ code: "EEXIST" });
    const again = await io.open(`${directory}/a`, "write");
    expect(await again.size()).toBe(1);
    await again.close();
    const reader = await io.open(`${directory}/a`, "read");
    await expect(reader.write([text("y")], 0)).rejects.toMatchObject({ code: "EBADF" });
    await reader.sync();
    await reader.close();
  });
});

describe("a directory", () => {
  it("is listed, renamed in, linked in, synced and removed; missing things are no fault", async () => {
    await io.makeDirectory(`${directory}/x/y/z`);
    await io.makeDirectory(`${directory}/x/y/z`);
    await writeFile(`${directory}/x/a`, "a");
    await io.rename(`${directory}/x/a`, `${directory}/x/b`);
    await io.link(`${directory}/x/b`, `${directory}/x/c`);
    await io.syncDirectory(`${directory}/x`);
    expect([...((await io.list(`${directory}/x`)) ?? [])].sort()).toEqual(["b", "c", "y"]);
    expect(await io.list(`${directory}/none`)).toBeUndefined();
    await io.removeEmptyDirectory(`${directory}/x/y`);
    await io.removeEmptyDirectory(`${directory}/x/y/z`);
    await io.removeEmptyDirectory(`${directory}/x/y`);
    await io.remove(`${directory}/x/b`);
    await io.remove(`${directory}/x/b`);
    expect(await io.list(`${directory}/x`)).toEqual(["c"]);
    await io.removeTree(`${directory}/x`);
    await io.removeTree(`${directory}/x`);
    expect(await io.list(directory)).toEqual([]);
  });
});

describe("a lock", () => {
  it("is held by one until it is released, however often", async () => {
    const path = `${directory}/.lock`;
    for (let round = 0; round < 3; round++) {
      const lock = await io.lock(path);
      expect(lock).toBeDefined();
      expect(await io.lock(path)).toBeUndefined();
      await lock?.release();
    }
  });

  it("leaves nothing in the directory when it is released, so that any tool can copy it", async () => {
    for (let round = 0; round < 3; round++) {
      const lock = await io.lock(`${directory}/.lock`);
      expect((await readdir(directory)).length).toBe(1);
      await lock?.release();
      expect(await readdir(directory)).toEqual([]);
    }
  });

  it("stays with its holder when a contender that withdrew has left a dead file with a higher number", async () => {
    const path = `${directory}/.lock`;
    const lock = await io.lock(path);
    const withdrawn = net.createServer().listen(`${directory}/withdrawn`);
    await once(withdrawn, "listening");
    await link(`${directory}/withdrawn`, `${path}.2`);
    await new Promise((resolve) => withdrawn.close(resolve));
    expect(await io.lock(path)).toBeUndefined();
    await lock?.release();
    const next = await io.lock(path);
    expect(next).toBeDefined();
    await next?.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it("is never held twice while others take and release it", { timeout: 30_000 }, async () => {
    let holders = 0;
    let held = 0;
    const contend = async (): Promise<void> => {
      for (let turn = 0; turn < 30; turn++) {
        const lock = await io.lock(`${directory}/.lock`);
        if (lock === undefined) continue;
        holders++;
        held++;
        expect(holders).toBe(1);
        await nextTurn();
        expect(holders).toBe(1);
        holders--;
        await lock.release();
      }
    };
    await Promise.all(Array.from({ length: 8 }, contend));
    expect(held).toBeGreaterThan(0);
    const lock = await io.lock(`${directory}/.lock`);
    expect(lock, "and nobody is left in the way").toBeDefined();
    await lock?.release();
  });

  it("goes to exactly one of many that want it at once", async () => {
    for (let round = 0; round < 5; round++) {
      const locks = await Promise.all(Array.from({ length: 20 }, () => io.lock(`${directory}/.lock`)));
      const held = locks.filter((lock): lock is IoLock => lock !== undefined);
      expect(held).toHaveLength(1);
      await held[0]?.release();
    }
  });

  it("works below a path that is too long for a socket address", async () => {
    const deep = join(directory, "d".repeat(80), "e".repeat(80));
    await io.makeDirectory(deep);
    const lock = await io.lock(`${deep}/.lock`);
    expect(lock).toBeDefined();
    expect(await io.lock(`${deep}/.lock`)).toBeUndefined();
    await lock?.release();
  });

  it("ends with its process, also when that is killed", async () => {
    const holder = spawn(
      process.execPath,
      ["--conditions=@iggy/source", "--import", "tsx", join(import.meta.dirname, "lock-holder.ts"), directory],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const exited = new Promise((resolve) => holder.once("exit", resolve));
    await new Promise((resolve) => holder.stdout.once("data", resolve));
    await expect(openDataDirectory(io, directory)).rejects.toThrow(StorageRefused);
    holder.kill("SIGKILL");
    await exited;
    const opened = await openDataDirectory(io, directory);
    expect(opened.fresh).toBe(false);
    await opened.release();
  });
});

describe("on a real disk", () => {
  it("a data directory, its metadata and a partition open, keep and come back", async () => {
    const data = `${directory}/nested/data`;
    const root = await openDataDirectory(io, data);
    expect(root.fresh).toBe(true);
    await expect(openDataDirectory(io, data)).rejects.toThrow(/another server/);
    const options = { clusterId: 9n, replicaId: 0, replicaCount: 1, journalSlots: 300, prepareQueueDepth: 32 };
    const metadata = await openMetadataStore(io, data, options);
    await metadata.store.close();

    const disk = new LibuvDataIo(data);
    const settings = { segmentSizeBytes: 100_000, residentBytesMax: 20_000 };
    const partition = await TestPartition.open(disk, settings);
    for (let i = 0; i < 50; i++) await partition.send([`m${i}`, "x".repeat(5000)], i % 10 === 0);
    await partition.checkpoint(text("state"));
    for (let i = 50; i < 60; i++) await partition.send([`m${i}`, "x".repeat(5000)]);
    const written = await partition.messages();
    expect(written).toHaveLength(120);
    // Not closed: the process might as well have been killed.
    const again = await TestPartition.open(disk, settings);
    expect(again.warnings).toEqual([]);
    expect(again.recovered.entries).toHaveLength(10);
    expect(await again.messages()).toEqual(written);
    expect(await again.store.deleteSegmentsThrough(written[90]!.offset)).toBeGreaterThan(1);
    await again.store.close();
    const last = await TestPartition.open(disk, settings);
    expect(await last.messages()).toEqual(written.slice(last.store.startOffset));
    await last.store.close();
    const names = await readdir(`${data}/streams/${ID.streamId}/topics/${ID.topicId}/partitions/${ID.partitionId}`);
    expect(names).toContain("checkpoint");
    await root.release();
  });

  it("has the same boot id twice", async () => {
    expect(await io.bootId()).toBe(await new LibuvIo().bootId());
  });
});
