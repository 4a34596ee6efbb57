import { SnapshotCompression, SnapshotType, type GetSnapshotRequest } from "@iggy/protocol";
import { unzipSync } from "fflate";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Logging, MemoryConsole } from "../../src/logging/index.js";
import { SnapshotCollector } from "../../src/snapshot/index.js";
import { LOG_BYTES_MAX } from "../../src/snapshot/sections.js";

let directory: string;
let console: MemoryConsole;
let collector: SnapshotCollector;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iggy-snapshot-"));
  await mkdir(join(directory, "logs"));
  await writeFile(join(directory, "logs", "iggy-server.log.1"), "oldest\n");
  await writeFile(join(directory, "logs", "iggy-server.log.10"), "newer\n");
  await writeFile(join(directory, "logs", "iggy-server.log.2"), "older\n");
  await writeFile(join(directory, "logs", "iggy-server.log"), "newest\n");
  await writeFile(join(directory, "current_config.toml"), 'path = "x"\n');
  console = new MemoryConsole();
  const logging = new Logging(console);
  logging.abandon();
  collector = new SnapshotCollector(
    {
      dataDirectory: directory,
      logDirectory: join(directory, "logs"),
      currentConfigPath: join(directory, "current_config.toml"),
    },
    logging.part("snapshot"),
  );
});
afterEach(() => rm(directory, { recursive: true }));

const request = (
  snapshotTypes: readonly GetSnapshotRequest["snapshotTypes"][number][],
  compression: GetSnapshotRequest["compression"] = SnapshotCompression.deflated,
): GetSnapshotRequest => ({ compression, snapshotTypes: [...snapshotTypes] });

async function files(asked: GetSnapshotRequest): Promise<Record<string, string>> {
  const entries = Object.entries(unzipSync(await collector.collect(asked)));
  return Object.fromEntries(entries.map(([name, bytes]) => [name, Buffer.from(bytes).toString()]));
}

describe("sections", () => {
  it.each([SnapshotCompression.stored, SnapshotCompression.deflated])("all, compression %i", async (compression) => {
    const archive = await files(request([SnapshotType.all], compression));
    expect(Object.keys(archive).sort()).toEqual([
      "filesystem_overview.txt",
      "process_list.txt",
      "resource_usage.txt",
      "server_config.txt",
      "server_logs.txt",
    ]);
    expect(archive["server_logs.txt"]).toBe("oldest\nolder\nnewer\nnewest\n");
    expect(archive["server_config.txt"]).toBe('path = "x"\n');
    expect(archive["filesystem_overview.txt"]).toContain(`${directory}:\n`);
    expect(archive["filesystem_overview.txt"]).toMatch(/^drwx\S+ .* logs$/m);
    expect(archive["filesystem_overview.txt"]).toContain("/proc:\n");
    expect(archive["process_list.txt"]).toMatch(
      new RegExp(`^ *${process.pid} +${process.ppid} [A-Z] +\\d+ +\\d+ `, "m"),
    );
    expect(archive["resource_usage.txt"]).toMatch(/^ *\d+ +\d+\.\d [A-Z] \S+/m);
  });

  it("only those asked for, once each", async () => {
    expect(await files(request([SnapshotType.test, SnapshotType.test]))).toEqual({ "test.txt": "test" });
    expect(await files(request([]))).toEqual({});
  });

  it("one that fails is logged and left out", async () => {
    await rm(join(directory, "current_config.toml"));
    const archive = await files(request([SnapshotType.server_config, SnapshotType.test]));
    expect(Object.keys(archive)).toEqual(["test.txt"]);
    expect(console.lines.join("")).toContain("a section of the snapshot is left out");
  });

  it("shows no arguments of processes, which may hold passwords", async () => {
    const archive = await files(request([SnapshotType.process_list]));
    expect(archive["process_list.txt"]).not.toContain("--");
    expect(archive["process_list.txt"]).not.toContain("vitest.mjs");
  });

  it("takes the newest end of logs that are too large", async () => {
    const block = Buffer.alloc(20 * 2 ** 20, "y");
    await writeFile(join(directory, "logs", "iggy-server.log.10"), block);
    await writeFile(join(directory, "logs", "iggy-server.log.2"), block);
    const logs = (await files(request([SnapshotType.server_logs])))["server_logs.txt"] ?? "";
    expect(logs.length).toBe(LOG_BYTES_MAX);
    expect(logs.endsWith("ynewest\n")).toBe(true);
    expect(logs).not.toContain("oldest");
  });
});

describe("refusals", () => {
  it.each([SnapshotCompression.bzip2, SnapshotCompression.zstd, SnapshotCompression.lzma, SnapshotCompression.xz])(
    "compression %i is not available",
    async (compression) => {
      await expect(collector.collect(request([SnapshotType.test], compression))).rejects.toMatchObject({ code: 5 });
    },
  );

  it("`all` has no company", async () => {
    await expect(collector.collect(request([SnapshotType.all, SnapshotType.test]))).rejects.toMatchObject({ code: 3 });
  });

  it("one at a time, and again afterwards", async () => {
    const first = collector.collect(request([SnapshotType.resource_usage]));
    await expect(collector.collect(request([SnapshotType.test]))).rejects.toMatchObject({ code: 9000 });
    expect(Object.keys(unzipSync(await first))).toEqual(["resource_usage.txt"]);
    expect(await files(request([SnapshotType.test]))).toEqual({ "test.txt": "test" });
  });

  it("a refused request does not block the next one", async () => {
    await expect(collector.collect(request([SnapshotType.test], SnapshotCompression.xz))).rejects.toThrow();
    expect(await files(request([SnapshotType.test]))).toEqual({ "test.txt": "test" });
  });
});

it("the event loop keeps turning while a large archive is made", async () => {
  await writeFile(join(directory, "logs", "iggy-server.log"), Buffer.alloc(24 * 2 ** 20, "some log line\n"));
  let longestMillis = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longestMillis = Math.max(longestMillis, performance.now() - last);
    last = performance.now();
  }, 1);
  await collector.collect(request([SnapshotType.server_logs]));
  clearInterval(timer);
  expect(longestMillis).toBeGreaterThan(0);
  expect(longestMillis).toBeLessThan(400);
});
