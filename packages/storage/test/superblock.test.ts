import { describe, expect, it } from "vitest";
import { DamagedFile, MemoryIo } from "../src/index.js";
import { Superblock, type SuperblockState } from "../src/records/superblock.js";

const STATE: SuperblockState = {
  cluster: 0x112233445566778899aabbccddeeff00n,
  replica: 2,
  replicaCount: 3,
  view: 0x01020304,
  logView: 0x01020303,
  commitMax: 2 ** 52 + 1,
  checkpointOp: 77,
  checkpointChecksum: (1n << 127n) | 5n,
  nextOffset: 1000,
  reservedOffset: 66536,
  createdView: 4,
  incarnation: 12,
  retryCapacity: 4096,
  bootId: 0xdeadbeefn,
  syncedOp: 76,
};

async function directory(): Promise<MemoryIo> {
  const io = new MemoryIo();
  await io.makeDirectory("/p");
  return io;
}

describe("a superblock", () => {
  it("keeps every field, in the slot whose turn it is", async () => {
    const io = await directory();
    const created = await Superblock.create(io, "/p", STATE);
    expect(io.tree("/p")).toEqual(["/p/superblock.a"]);
    await created.update((old) => ({ ...old, commitMax: 5 }));
    expect(io.tree("/p")).toEqual(["/p/superblock.a", "/p/superblock.b"]);
    expect((await Superblock.read(io, "/p"))?.state).toEqual({ ...STATE, commitMax: 5 });
    await created.update((old) => ({ ...old, commitMax: 6 }));
    await io.remove("/p/superblock.a");
    expect((await Superblock.read(io, "/p"))?.state.commitMax).toBe(5);
  });

  it("has magic, version, sequence, length and checksum where the layout says", async () => {
    const io = await directory();
    await Superblock.create(io, "/p", STATE);
    const bytes = io.contents("/p/superblock.a")!;
    const view = new DataView(bytes.buffer);
    expect(view.getUint32(0, true)).toBe(0x53424c4b);
    expect(view.getUint16(4, true)).toBe(1);
    expect(view.getBigUint64(8, true)).toBe(1n);
    expect(view.getUint32(24, true)).toBe(bytes.length - 28 - 8);
    expect(view.getUint32(28 + 18, true)).toBe(STATE.view);
    expect(view.getBigUint64(28 + 58, true)).toBe(1000n);
  });

  it("is absent, not unreadable, when there are no bytes", async () => {
    const io = await directory();
    expect(await Superblock.read(io, "/p")).toBeUndefined();
    io.setContents("/p/superblock.b", new Uint8Array(0));
    expect(await Superblock.read(io, "/p")).toBeUndefined();
  });

  it("with a damaged slot is unreadable whatever the other slot holds", async () => {
    for (const slot of ["a", "b"]) {
      const io = await directory();
      const superblock = await Superblock.create(io, "/p", STATE);
      await superblock.update((old) => old);
      const whole = io.contents(`/p/superblock.${slot}`)!;
      for (let at = 0; at < whole.length; at++) {
        const bytes = Uint8Array.from(whole);
        bytes[at] = bytes[at]! ^ 0x40;
        io.setContents(`/p/superblock.${slot}`, bytes);
        await expect(Superblock.read(io, "/p")).rejects.toThrow(DamagedFile);
        io.setContents(`/p/superblock.${slot}`, whole.subarray(0, Math.max(1, at)));
        await expect(Superblock.read(io, "/p")).rejects.toThrow(DamagedFile);
      }
    }
  });

  it("keeps its old state when a write fails, and writes in the order of the calls", async () => {
    const io = await directory();
    const superblock = await Superblock.create(io, "/p", STATE);
    io.fail({ operation: "write", code: "ENOSPC", times: 1 });
    await expect(superblock.update((old) => ({ ...old, view: 0xffffffff }))).rejects.toMatchObject({ code: "ENOSPC" });
    expect(superblock.state).toEqual(STATE);
    await Promise.all(
      [1, 2, 3].map((step) => superblock.update((old) => ({ ...old, nextOffset: old.nextOffset * 10 + step }))),
    );
    expect((await Superblock.read(io, "/p"))?.state).toEqual({ ...STATE, nextOffset: 1000123 });
  });

  it("of a newer version is reported as a downgrade", async () => {
    const io = await directory();
    await Superblock.create(io, "/p", STATE);
    const { xxh3_64 } = await import("@iggy/protocol");
    const bytes = io.contents("/p/superblock.a")!;
    const view = new DataView(bytes.buffer);
    view.setUint16(4, 2, true);
    view.setBigUint64(bytes.length - 8, xxh3_64(bytes.subarray(0, -8)), true);
    io.setContents("/p/superblock.a", bytes);
    await expect(Superblock.read(io, "/p")).rejects.toThrow(/downgrade/);
  });
});
