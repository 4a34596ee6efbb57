import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, getStreams } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startServer } from "../start-server.js";
import { developmentEnvironment, type ProcessOptions, RawSession, ServerProcess } from "../raw-client/index.js";

const MARKER = "metadata/storage-format";
/** Of the user that owns nothing, where tests run as root and no mode keeps them from writing. */
const NOBODY = 65_534;

let dataDirectory: string;
const started: ServerProcess[] = [];

beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-start-"));
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.kill();
  await rm(dataDirectory, { recursive: true });
});

async function start(options: Partial<ProcessOptions> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start({ dataDirectory, ...options });
  started.push(server);
  return server;
}

/** A start that must fail: gives what it said on stderr. */
async function refused(options: Partial<ProcessOptions> = {}): Promise<string> {
  const server = ServerProcess.spawn({ dataDirectory, ...options });
  started.push(server);
  expect(await server.exit(), server.stdout).toBe(1);
  expect(server.stdout).not.toContain("ready");
  expect(server.stderr).toMatch(/^iggy-server: /);
  // One message, not a stack trace.
  expect(server.stderr).not.toMatch(/^ +at /m);
  return server.stderr;
}

/** Path, size and time of change of everything in a directory. */
async function listing(directory: string): Promise<string[]> {
  const names = (await readdir(directory, { recursive: true })).sort();
  const lines: string[] = [];
  for (const name of names) {
    const { size, mtimeMs } = await stat(join(directory, name));
    lines.push(`${name} ${size} ${mtimeMs}`);
  }
  return lines;
}

describe("a data directory", () => {
  it("that a server uses is refused to a second one, whoever started it, and the first one goes on", async () => {
    const first = await start();
    const message = await refused({ arguments: ["--fresh"] });
    expect(message).toContain(dataDirectory);
    expect(message).toMatch(/another server uses this directory/);
    await expect(startServer({ dataDirectory })).rejects.toThrow(/another server uses this directory/);
    const session = await RawSession.open(first.port);
    expect(await session.call(getStreams, {})).toEqual({ streams: [] });
    await session.close();
  });

  it.each([
    ["of another program", "notes.txt", "mine"],
    ["of an older format", MARKER, "IGGY-OWNERSHIP-HISTORY-4\n"],
    ["of a newer format of ours", MARKER, "IGGY-OWNERSHIP-HISTORY-5/ts.99\n"],
    ["with a marker that is none", MARKER, ""],
    ["with files of the original server", "state/log", "\u0000\u0001"],
  ])("%s is refused without touching anything in it", async (_what, name, content) => {
    await mkdir(join(dataDirectory, name, ".."), { recursive: true });
    await writeFile(join(dataDirectory, name), content);
    const before = await listing(dataDirectory);
    await expect(startServer({ dataDirectory })).rejects.toThrow(dataDirectory);
    expect(await listing(dataDirectory)).toEqual(before);
    expect(await readFile(join(dataDirectory, name), "utf8")).toBe(content);
  });

  it("that is not ours is refused with the ways out", async () => {
    await mkdir(join(dataDirectory, "metadata"));
    await writeFile(join(dataDirectory, MARKER), "IGGY-OWNERSHIP-HISTORY-4\n");
    const message = await refused();
    expect(message).toContain("IGGY-OWNERSHIP-HISTORY-4");
    expect(message).toMatch(/restore a backup .* choose another path, or delete it with --fresh/);
  });

  it("starts over with --fresh, and only with it", async () => {
    const server = await start();
    const session = await RawSession.open(server.port);
    await session.call(createStream, { name: "kept", options: [] });
    await session.close();
    expect(await server.stop()).toBe(0);
    // Credentials are needed by the first start only.
    const environment = Object.entries(developmentEnvironment).filter(([name]) => !name.startsWith("IGGY_ROOT_"));
    const again = await start({ environment: Object.fromEntries(environment) });
    const kept = await RawSession.open(again.port);
    expect((await kept.call(getStreams, {})).streams).toHaveLength(1);
    await kept.close();
    expect(await again.stop()).toBe(0);
    const fresh = await start({ arguments: ["--fresh"] });
    const empty = await RawSession.open(fresh.port);
    expect((await empty.call(getStreams, {})).streams).toHaveLength(0);
    await empty.close();
  });

  it("of another program is not wiped either: --fresh deletes data directories only", async () => {
    await writeFile(join(dataDirectory, "notes.txt"), "mine");
    expect(await refused({ arguments: ["--fresh"] })).toContain(dataDirectory);
    expect(await readFile(join(dataDirectory, "notes.txt"), "utf8")).toBe("mine");
  });

  it("that may not be written is named, with what to check", async () => {
    await chmod(dataDirectory, 0o555);
    const isRoot = process.getuid?.() === 0;
    const message = await refused(isRoot ? { userId: NOBODY } : {});
    expect(message).toContain(dataDirectory);
    expect(message).toMatch(/check the path, its owner and the disk/);
    await chmod(dataDirectory, 0o755);
  });

  it("that is a file is named", async () => {
    const path = join(dataDirectory, "file");
    await writeFile(path, "");
    await expect(startServer({ dataDirectory: path })).rejects.toThrow(path);
  });
});

describe("a port in use", () => {
  let holder: Server;
  let port: number;

  beforeEach(async () => {
    holder = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => holder.once("listening", resolve));
    const address = holder.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
  });
  afterEach(() => {
    holder.close();
  });

  it("is named with its address, and the data directory is free again", async () => {
    const environment = { ...developmentEnvironment, IGGY_TCP_ADDRESS: `127.0.0.1:${port}` };
    const message = await refused({ environment });
    expect(message).toContain(`127.0.0.1:${port}`);
    expect(message).toMatch(/in use/i);
    expect(message).toContain("IGGY_TCP_ENABLED");
    await using server = await startServer({ dataDirectory });
    await (await RawSession.open(server.port)).close();
  });

  it("rejects the start in a process, and leaves nothing running", async () => {
    await expect(startServer({ dataDirectory, config: { "tcp.address": `127.0.0.1:${port}` } })).rejects.toThrow(
      `127.0.0.1:${port}`,
    );
    await using server = await startServer({ dataDirectory });
    const session = await RawSession.open(server.port);
    await session.close();
  });
});

describe("settings", () => {
  it("that are missing are all named by one start", async () => {
    const message = await refused({ environment: { IGGY_TCP_ADDRESS: "0.0.0.0:0" } });
    expect(message).toContain("IGGY_ROOT_USERNAME");
    expect(message).toContain("IGGY_ROOT_PASSWORD");
    expect(message).toContain("--with-default-root-credentials");
    expect(message).toContain("advertised_address");
    expect(await readdir(dataDirectory)).toEqual([]);
  });

  it("that are unknown are refused, each with its place and its nearest name", async () => {
    const file = join(dataDirectory, "config.toml");
    await writeFile(file, '[tcp]\nadress = "127.0.0.1:0"\n[nonsense]\nkey = 1\n');
    const home = join(dataDirectory, "data");
    const message = await refused({ dataDirectory: home, arguments: ["--config", file] });
    expect(message).toContain("tcp.adress");
    expect(message).toContain("tcp.address");
    expect(message).toContain("nonsense");
    const environment = { ...developmentEnvironment, IGGY_TCP_ADRESS: "127.0.0.1:0" };
    expect(await refused({ dataDirectory: home, environment })).toContain("IGGY_TCP_ADRESS");
  });

  it("that hold a secret do not show it", async () => {
    const secret = "p@s:s/w?o#r%40d";
    const environment = { ...developmentEnvironment, IGGY_ROOT_PASSWORD: secret };
    const server = await start({ environment });
    const session = await RawSession.open(server.port, { username: "iggy", password: secret });
    await session.close();
    expect(await server.stop()).toBe(0);
    expect(server.stdout + server.stderr).not.toContain(secret);
    for (const name of await readdir(dataDirectory, { recursive: true })) {
      const path = join(dataDirectory, name);
      if ((await stat(path)).isFile()) expect((await readFile(path)).includes(secret), name).toBe(false);
    }
  });

  it("root credentials count for the first start only", async () => {
    await (await startServer({ dataDirectory })).close();
    await using server = await startServer({ dataDirectory, credentials: { username: "other", password: "other" } });
    await (await RawSession.open(server.port)).close();
    await expect(RawSession.open(server.port, { username: "other", password: "other" })).rejects.toThrow("eviction 9");
  });
});
