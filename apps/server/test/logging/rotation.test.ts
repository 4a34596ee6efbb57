import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { logFiles, RotatingFile, type RotatingFileOptions } from "../../src/logging/rotating-file.js";

const NAME = "test.log";
let directory: string;
let open: RotatingFile[] = [];
let troubles: string[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iggy-log-"));
  open = [];
  troubles = [];
});
afterEach(async () => {
  for (const file of open) await file.close();
  await rm(directory, { recursive: true });
});

async function openFile(options: Partial<RotatingFileOptions> = {}): Promise<RotatingFile> {
  const file = await RotatingFile.open({
    directory,
    name: NAME,
    maxFileSizeBytes: 0,
    maxTotalSizeBytes: 0,
    retentionMillis: 0,
    checkIntervalMillis: 60_000,
    nowMillis: Date.now,
    onTrouble: (message) => troubles.push(message),
    ...options,
  });
  open.push(file);
  return file;
}

const line = (index: number): string => `line ${String(index).padStart(4, "0")}\n`;
const text = (name: string): Promise<string> => readFile(join(directory, name), "utf8");
const names = async (): Promise<string[]> => (await readdir(directory)).sort();

/** The lines of all files together, oldest first. */
async function allLines(): Promise<string[]> {
  const texts = await Promise.all((await logFiles(directory, NAME)).map((path) => readFile(path, "utf8")));
  return texts.join("").split("\n").slice(0, -1);
}

describe("rotation by size", () => {
  it("keeps every line, in order, in files that never exceed the limit", async () => {
    const file = await openFile({ maxFileSizeBytes: 100 });
    for (let index = 0; index < 50; index++) {
      file.write(line(index));
      if (index % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await file.close();
    expect(await allLines()).toEqual(Array.from({ length: 50 }, (_, index) => line(index).trim()));
    expect((await names()).length).toBe(5);
    for (const name of await names()) expect((await text(name)).length).toBeLessThanOrEqual(100);
  });

  it("numbers full files upwards: the higher the newer, the bare name is in use", async () => {
    const file = await openFile({ maxFileSizeBytes: 10 });
    for (let index = 0; index < 12; index++) file.write(line(index));
    await file.close();
    expect(await text(`${NAME}.1`)).toBe(line(0));
    expect(await text(`${NAME}.11`)).toBe(line(10));
    expect(await text(NAME)).toBe(line(11));
  });

  it("gives a line above the limit a file of its own", async () => {
    const file = await openFile({ maxFileSizeBytes: 20 });
    const long = `${"x".repeat(100)}\n`;
    for (const item of [line(0), long, line(1)]) file.write(item);
    await file.close();
    expect([await text(`${NAME}.1`), await text(`${NAME}.2`), await text(NAME)]).toEqual([line(0), long, line(1)]);
  });

  it("goes on at the end of an existing file and counts what is there", async () => {
    await writeFile(join(directory, NAME), line(0));
    await writeFile(join(directory, `${NAME}.7`), "older\n");
    const file = await openFile({ maxFileSizeBytes: 20 });
    file.write(line(1));
    file.write(line(2));
    await file.close();
    expect(await text(`${NAME}.8`)).toBe(line(0) + line(1));
    expect(await text(NAME)).toBe(line(2));
  });

  it("never rotates with a limit of 0", async () => {
    const file = await openFile();
    for (let index = 0; index < 1000; index++) file.write(line(index));
    await file.close();
    expect(await names()).toEqual([NAME]);
    expect(await allLines()).toHaveLength(1000);
  });
});

describe("limits on rotated files", () => {
  it("delete the oldest above the total, and never the file in use", async () => {
    const file = await openFile({ maxFileSizeBytes: 10, maxTotalSizeBytes: 30 });
    for (let index = 0; index < 10; index++) file.write(line(index));
    await file.close();
    // At the last rotation the file in use was empty, so three full files fitted.
    expect(await names()).toEqual([NAME, `${NAME}.7`, `${NAME}.8`, `${NAME}.9`]);
    const single = await openFile({ maxFileSizeBytes: 1000, maxTotalSizeBytes: 1 });
    single.write(line(99));
    await single.close();
    expect(await names()).toEqual([NAME]);
    expect(await text(NAME)).toBe(line(9) + line(99));
  });

  it("delete rotated files by the time of their last write", async () => {
    const old = join(directory, `${NAME}.1`);
    await writeFile(old, "old\n");
    await writeFile(join(directory, `${NAME}.2`), "new\n");
    await writeFile(join(directory, NAME), "in use\n");
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(old, longAgo, longAgo);
    await utimes(join(directory, NAME), longAgo, longAgo);
    await openFile({ retentionMillis: 30_000 });
    expect(await names()).toEqual([NAME, `${NAME}.2`]);
  });

  it("are enforced periodically", async () => {
    let nowMillis = Date.now();
    await writeFile(join(directory, `${NAME}.1`), "old\n");
    await openFile({ retentionMillis: 60_000, checkIntervalMillis: 5, nowMillis: () => nowMillis });
    expect(await names()).toContain(`${NAME}.1`);
    nowMillis += 120_000;
    await expect.poll(names).toEqual([NAME]);
  });

  it("leave other files alone", async () => {
    const strangers = [`${NAME}.gz`, `${NAME}.1.gz`, `other.log.1`, `${NAME}.-1`];
    for (const name of strangers) await writeFile(join(directory, name), "x");
    await openFile({ maxTotalSizeBytes: 1 });
    expect(await names()).toEqual([NAME, ...strangers].sort());
  });
});

describe("a disk that refuses", () => {
  it("costs lines, not the process, and is reported once each way", async () => {
    const nested = join(directory, "logs");
    const file = await openFile({ directory: nested, maxFileSizeBytes: 10 });
    file.write(line(0));
    await expect.poll(() => readFile(join(nested, NAME), "utf8")).toBe(line(0));
    await rm(nested, { recursive: true });
    await writeFile(nested, "in the way");
    file.write(line(1));
    file.write(line(2));
    await expect.poll(() => troubles.length).toBe(1);
    expect(troubles[0]).toContain("cannot be written");
    await rm(nested);
    file.write(line(3));
    await expect.poll(() => troubles.length).toBe(2);
    expect(troubles[1]).toContain("lost 2 lines");
    await file.close();
    expect(await readFile(join(nested, NAME), "utf8")).toBe(line(3));
  });

  it("is no trouble when somebody removed the files", async () => {
    const nested = join(directory, "logs");
    const file = await openFile({ directory: nested, maxFileSizeBytes: 10 });
    file.write(line(0));
    await expect.poll(() => readFile(join(nested, NAME), "utf8")).toBe(line(0));
    await rm(nested, { recursive: true });
    file.write(line(1));
    await file.close();
    expect(await readFile(join(nested, NAME), "utf8")).toBe(line(1));
    expect(troubles).toEqual([]);
  });

  it("is told at the start, when the file cannot be opened at all", async () => {
    await writeFile(join(directory, "in-the-way"), "");
    await expect(openFile({ directory: join(directory, "in-the-way") })).rejects.toThrow(/ENOTDIR|EEXIST/);
  });
});

it("a flood is dropped above the bound of the queue, and counted", async () => {
  const file = await openFile();
  const big = `${"x".repeat(1024 * 1024 - 1)}\n`;
  for (let index = 0; index < 6; index++) file.write(big);
  await file.close();
  expect((await text(NAME)).length).toBe(4 * 1024 * 1024);
  expect(troubles.join()).toContain("lost 2 lines");
});

it("what is queued can be written at once before an unusual end", async () => {
  const file = await openFile();
  file.write(line(0));
  file.write(line(1));
  file.flushSync();
  expect(await text(NAME)).toBe(line(0) + line(1));
});
