import { describe, expect, it } from "vitest";
import { MemoryIo } from "../src/index.js";
import { seeded } from "./partition-harness.js";

const bytes = (size: number, value: number): Uint8Array => new Uint8Array(size).fill(value);

async function written(io: MemoryIo, path: string, value: number, size: number, sync: boolean): Promise<void> {
  const file = await io.open(path, "write");
  await file.write([bytes(size, value)], 0);
  if (sync) await file.sync();
  await file.close();
}

describe("the disk in memory", () => {
  it("keeps every write when the process ends", async () => {
    const io = new MemoryIo();
    await written(io, "/a", 1, 5000, false);
    const next = io.kill();
    expect(next.contents("/a")).toEqual(bytes(5000, 1));
    expect(await next.bootId()).toBe(await io.bootId());
    await expect(io.open("/a", "read")).rejects.toMatchObject({ code: "EHALTED" });
  });

  it("loses only what was not synced, sector by sector, when the power goes", async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 200; seed++) {
      const io = new MemoryIo({ random: seeded(seed) });
      await written(io, "/a", 1, 1024, true);
      await io.syncDirectory("/");
      const file = await io.open("/a", "write");
      await file.write([bytes(1024, 2)], 0);
      const after = io.losePower();
      const found = after.contents("/a")!;
      expect(found).toHaveLength(1024);
      for (const sector of [found.subarray(0, 512), found.subarray(512)]) {
        expect([1, 2]).toContain(sector[0]);
        expect(sector.every((byte) => byte === sector[0])).toBe(true);
      }
      outcomes.add(`${found[0]}${found[512]}`);
      expect(await after.bootId()).not.toBe(await io.bootId());
    }
    expect([...outcomes].sort()).toEqual(["11", "12", "21", "22"]);
  });

  it("loses names that were not synced, in the reverse order of their making", async () => {
    const outcomes = new Set<string>();
    for (let seed = 0; seed < 200; seed++) {
      const io = new MemoryIo({ random: seeded(seed) });
      await written(io, "/old", 1, 10, true);
      await io.syncDirectory("/");
      await written(io, "/new", 2, 10, true);
      await io.rename("/new", "/old");
      await written(io, "/third", 3, 10, true);
      const after = io.losePower();
      outcomes.add(
        after
          .tree()
          .map((path) => `${path}${String(after.contents(path)?.[0])}`)
          .join(" "),
      );
    }
    expect([...outcomes].sort()).toEqual(["/new2 /old1", "/old1", "/old2", "/old2 /third3"]);
  });

  it("gives a file any size between the stable and the new one", async () => {
    const sizes = new Set<number>();
    for (let seed = 0; seed < 300; seed++) {
      const io = new MemoryIo({ random: seeded(seed) });
      await written(io, "/a", 1, 4, true);
      await io.syncDirectory("/");
      const file = await io.open("/a", "write");
      await file.write([bytes(4, 2)], 4);
      sizes.add(io.losePower().contents("/a")!.length);
    }
    expect([...sizes].sort()).toEqual([4, 5, 6, 7, 8]);
  });

  it("cuts a write short when it is full", async () => {
    const io = new MemoryIo({ capacityBytes: 100 });
    await written(io, "/a", 1, 60, true);
    await expect(written(io, "/b", 2, 60, true)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(io.contents("/b")).toEqual(bytes(40, 2));
    await written(io, "/a", 3, 60, true);
    io.capacityBytes = 200;
    await written(io, "/b", 2, 60, true);
  });

  it("fails what it is told to fail, as often as told", async () => {
    const io = new MemoryIo();
    const stop = io.fail({ operation: "sync", code: "EIO", path: (path) => path === "/a" });
    io.fail({ operation: "read", code: "EIO", times: 1 });
    await expect(written(io, "/a", 1, 1, true)).rejects.toMatchObject({ code: "EIO" });
    await written(io, "/b", 1, 1, true);
    stop();
    await written(io, "/a", 1, 1, true);
    const file = await io.open("/a", "read");
    await expect(file.read(new Uint8Array(1), 0)).rejects.toMatchObject({ code: "EIO" });
    expect(await file.read(new Uint8Array(1), 0)).toBe(1);
  });

  it("stops in the middle of a chosen operation, which then is done in part at most", async () => {
    const sizes = new Set<number>();
    for (let seed = 0; seed < 60; seed++) {
      const io = new MemoryIo({ random: seeded(seed) });
      const file = await io.open("/a", "write");
      io.haltAt(2);
      await file.write([bytes(3, 1)], 0);
      await expect(file.write([bytes(3, 2)], 3)).rejects.toMatchObject({
        code: expect.stringMatching(/EHALTED|ENOSPC/) as string,
      });
      expect(io.halted).toBe(true);
      await expect(file.sync()).rejects.toMatchObject({ code: "EHALTED" });
      sizes.add(io.kill().contents("/a")!.length);
    }
    expect([...sizes].sort()).toEqual([3, 4, 5, 6]);
  });

  it("holds a lock for one until its process ends", async () => {
    const io = new MemoryIo();
    const lock = await io.lock("/lock");
    expect(await io.lock("/lock")).toBeUndefined();
    await lock?.release();
    expect(await io.lock("/lock")).toBeDefined();
    expect(await io.kill().lock("/lock")).toBeDefined();
  });
});
