import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, getStreams } from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer } from "../../src/index.js";
import { freshPartition, messages, persisted, RawSession, ServerProcess } from "../raw-client/index.js";

let scratch: string;
/** A data directory of this server with something in it. */
let ours: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "iggy-formats-"));
  ours = join(scratch, "ours");
  await using server = await startServer({ dataDirectory: ours });
  const session = await RawSession.open(server.port);
  const partition = await freshPartition(session, { options: persisted });
  await partition.send(messages(20));
  await partition.store(5);
  await session.close();
}, 120_000);
afterAll(() => rm(scratch, { recursive: true }));

/** A server that has stopped leaves nothing that can not be copied, such as the socket of its lock. */
const copyOurs = (path: string): Promise<void> => cp(ours, path, { recursive: true, preserveTimestamps: true });

const marker = (path: string): string => join(path, "metadata", "storage-format");

/** Name, kind, size, times and content of everything below a directory. */
async function fingerprint(path: string): Promise<string[]> {
  const names = await readdir(path, { recursive: true });
  const facts = await Promise.all(
    ["", ...names].map(async (name) => {
      const found = await stat(join(path, name), { bigint: true });
      const content = found.isFile()
        ? createHash("sha256")
            .update(await readFile(join(path, name)))
            .digest("hex")
        : "directory";
      return `${name} ${found.ino} ${found.mode} ${found.size} ${found.mtimeNs} ${found.ctimeNs} ${content}`;
    }),
  );
  return facts.sort();
}

/** Directories that are not for this server, and what makes them so. */
const foreign: Readonly<Record<string, (path: string) => Promise<void>>> = {
  "the official format": (path) => writeFile(marker(path), "IGGY-OWNERSHIP-HISTORY-5\n"),
  "an older official format": (path) => writeFile(marker(path), "IGGY-DURABLE-SESSIONS-3\n"),
  "the next format of this server": (path) => writeFile(marker(path), "IGGY-OWNERSHIP-HISTORY-5/ts.2\n"),
  "a longer number of the same beginning": (path) => writeFile(marker(path), "IGGY-OWNERSHIP-HISTORY-5/ts.10\n"),
  "this format without its line end": (path) => writeFile(marker(path), "IGGY-OWNERSHIP-HISTORY-5/ts.1"),
  "an empty marker": (path) => writeFile(marker(path), ""),
  "a marker of noise": (path) => writeFile(marker(path), Buffer.from([0, 255, 10, 13, 0x1b, 7, 128])),
  "a marker of a megabyte": (path) => writeFile(marker(path), Buffer.alloc(1024 * 1024, "IGGY")),
  "no marker": (path) => rm(marker(path)),
  "no metadata directory": (path) => rm(join(path, "metadata"), { recursive: true }),
  "a directory in place of the marker": async (path) => {
    await rm(marker(path));
    await mkdir(marker(path));
  },
  "somebody's own files": async (path) => {
    await rm(path, { recursive: true });
    await mkdir(path);
    await writeFile(join(path, "letter.txt"), "dear all");
  },
};

for (const [what, make] of Object.entries(foreign)) {
  it(`${what}: the start is refused, and not a file is touched`, async () => {
    const path = join(scratch, what.replaceAll(/\W/g, "-"));
    await copyOurs(path);
    await make(path);
    const before = await fingerprint(path);
    await expect(startServer({ dataDirectory: path })).rejects.toThrow(path);
    expect(await fingerprint(path)).toEqual(before);
  });
}

it("the process says so in one line and ends with 1", { timeout: 60_000 }, async () => {
  const path = join(scratch, "process");
  await copyOurs(path);
  await writeFile(marker(path), "IGGY-OWNERSHIP-HISTORY-5\n");
  const before = await fingerprint(path);
  const server = ServerProcess.spawn({ dataDirectory: path });
  expect(await server.exit()).toBe(1);
  expect(server.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(server.stderr).toContain(path);
  expect(server.stderr).toContain("IGGY-OWNERSHIP-HISTORY-5");
  expect(await fingerprint(path)).toEqual(before);
});

it("its own directory, copied, is served", { timeout: 60_000 }, async () => {
  const path = join(scratch, "copied");
  await copyOurs(path);
  await using server = await startServer({ dataDirectory: path });
  const session = await RawSession.open(server.port);
  expect((await session.call(getStreams, {})).streams).toHaveLength(1);
  await session.call(createStream, { name: "more", options: [] });
});
