import { describe, expect, it } from "vitest";
import { MemoryIo, openDataDirectory, STORAGE_FORMAT, StorageRefused } from "../src/index.js";

const PATH = "/var/lib/iggy";
const MARKER = `${PATH}/metadata/storage-format`;

async function disk(files: Record<string, string> = {}): Promise<MemoryIo> {
  const io = new MemoryIo();
  for (const [path, text] of Object.entries(files)) {
    await io.makeDirectory(`${PATH}/${path}`.replace(/\/[^/]*$/, ""));
    io.setContents(`${PATH}/${path}`, new TextEncoder().encode(text));
    const steps = `${PATH}/${path}`.split("/").slice(1, -1);
    for (let depth = 0; depth < steps.length; depth++) await io.syncDirectory(`/${steps.slice(0, depth).join("/")}`);
  }
  return io;
}

async function refusalOf(opening: Promise<unknown>): Promise<StorageRefused> {
  const error: unknown = await opening.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof StorageRefused)) throw new Error(`not refused but ${String(error)}`);
  expect(error.directory).toBe(PATH);
  expect(error.message).toContain(PATH);
  return error;
}

describe("the storage gate", () => {
  it("initialises a missing or empty directory, the marker durably first", async () => {
    for (const io of [await disk(), await disk()]) {
      const opened = await openDataDirectory(io, PATH);
      expect(opened).toMatchObject({ path: PATH, fresh: true });
      expect(new TextDecoder().decode(io.contents(MARKER))).toBe(`${STORAGE_FORMAT}\n`);
      expect([...((await io.list(PATH)) ?? [])].sort()).toEqual([
        "logs",
        "metadata",
        "partition-initialization",
        "runtime",
        "state",
        "streams",
      ]);
      await opened.release();
      expect((await openDataDirectory(io, PATH)).fresh).toBe(false);
    }
    expect(STORAGE_FORMAT).toBe("IGGY-OWNERSHIP-HISTORY-5/ts.1");
  });

  it("creates every kind of path", async () => {
    for (const path of ["local_data", "./local_data", "a/b/c", "/x/y/z/"]) {
      const io = new MemoryIo();
      expect((await openDataDirectory(io, path)).fresh).toBe(true);
      expect(io.contents(`${path}/metadata/storage-format`)).toBeDefined();
      expect((await openDataDirectory(io.losePower(), path)).fresh).toBe(false);
    }
  });

  it("opens again wherever an initialisation was cut off", async () => {
    for (const end of ["kill", "power"] as const) {
      for (let mutation = 1; mutation < 30; mutation++) {
        let io = await disk();
        io.haltAt(mutation);
        await openDataDirectory(io, PATH).catch(() => undefined);
        io = end === "kill" ? io.kill() : io.losePower();
        await openDataDirectory(io, PATH);
        expect(io.contents(MARKER)).toBeDefined();
      }
    }
  });

  it("refuses a foreign, older or unmarked directory and changes nothing", async () => {
    for (const files of [
      { "metadata/storage-format": "IGGY-DURABLE-SESSIONS-3\n" },
      { "metadata/storage-format": "IGGY-OWNERSHIP-HISTORY-5\n" },
      { "metadata/storage-format": "IGGY-OWNERSHIP-HISTORY-5/ts.2\n" },
      { "metadata/storage-format": STORAGE_FORMAT },
      { "metadata/storage-format": "" },
      { "metadata/journal.wal": "x" },
      { "streams/1/topics/1/partitions/0/00000000000000000000.log": "x" },
      { "notes.txt": "my file" },
    ]) {
      const io = await disk({ ...files, "metadata/leftover.tmp": "x" });
      const tree = io.tree();
      const refusal = await refusalOf(openDataDirectory(io, PATH));
      expect(refusal.message).toMatch(/--fresh/);
      expect(io.tree()).toEqual(tree);
      for (const [path, text] of Object.entries(files)) {
        expect(new TextDecoder().decode(io.contents(`${PATH}/${path}`))).toBe(text);
      }
    }
  });

  it("names the format that it found", async () => {
    const io = await disk({ "metadata/storage-format": "IGGY-DURABLE-SESSIONS-3\n" });
    expect((await refusalOf(openDataDirectory(io, PATH))).message).toContain("IGGY-DURABLE-SESSIONS-3");
  });

  it("refuses a directory that another server uses, also with fresh", async () => {
    const io = await disk();
    const first = await openDataDirectory(io, PATH);
    expect((await refusalOf(openDataDirectory(io, PATH))).message).toContain("another server");
    expect((await refusalOf(openDataDirectory(io, PATH, { fresh: true }))).message).toContain("another server");
    await first.release();
    await openDataDirectory(io, PATH);
  });

  it("wipes everything with fresh, whatever it was", async () => {
    for (const files of [
      { "metadata/storage-format": "IGGY-DURABLE-SESSIONS-3\n", "streams/1/x": "x" },
      { "notes.txt": "my file" },
      { "metadata/storage-format": `${STORAGE_FORMAT}\n`, "metadata/journal.wal": "x", "streams/1/x": "x" },
    ]) {
      const io = await disk(files);
      expect((await openDataDirectory(io, PATH, { fresh: true })).fresh).toBe(true);
      expect(io.tree()).toEqual([MARKER]);
    }
  });

  it("that is cut off while it wipes leaves a directory that is refused or empty, never half a history", async () => {
    for (let mutation = 1; mutation < 25; mutation++) {
      let io = await disk({
        "metadata/storage-format": `${STORAGE_FORMAT}\n`,
        "metadata/journal.wal": "x",
        "streams/1/x": "x",
        "streams/2/x": "x",
      });
      const whole = io.tree();
      io.haltAt(mutation);
      await openDataDirectory(io, PATH, { fresh: true }).catch(() => undefined);
      io = io.losePower();
      const opened = await openDataDirectory(io, PATH).catch((error: unknown) => error);
      if (opened instanceof StorageRefused) continue;
      expect([whole, [MARKER]]).toContainEqual(io.tree());
    }
  });

  it("removes leftovers of replacements from the metadata directory", async () => {
    const io = await disk();
    await (await openDataDirectory(io, PATH)).release();
    io.setContents(`${PATH}/metadata/snapshot.bin.tmp`, new Uint8Array(3));
    io.setContents(`${PATH}/metadata/x.staging`, new Uint8Array(3));
    await openDataDirectory(io, PATH);
    expect(io.tree(`${PATH}/metadata`)).toEqual([MARKER]);
  });

  it("says what is wrong with a path that can't be used", async () => {
    const io = await disk();
    io.fail({ operation: "make-directory", code: "EACCES" });
    expect((await refusalOf(openDataDirectory(io, PATH))).message).toContain("EACCES");
  });
});
