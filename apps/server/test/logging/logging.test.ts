import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Secret, type ConfigOverrides, type ServerConfig } from "../../src/config/index.js";
import { Logging, MemoryConsole, silentConsole, stdoutConsole, type Console } from "../../src/logging/index.js";
import { read } from "../config/read.js";

let directory: string;
let loggings: Logging[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iggy-logging-"));
  loggings = [];
});
afterEach(async () => {
  for (const logging of loggings) await logging.close();
  await rm(directory, { recursive: true });
});

function newLogging(console: Console): Logging {
  const logging = new Logging(console);
  loggings.push(logging);
  return logging;
}

const configured = (overrides: ConfigOverrides = {}): ServerConfig["logging"] => read({ overrides }).config.logging;
const fileText = (): Promise<string> => readFile(join(directory, "logs", "iggy-server.log"), "utf8");

/** The messages of JSON lines. */
const messages = (lines: readonly string[]): unknown[] =>
  lines.map((text) => (JSON.parse(text) as { msg: unknown }).msg);

describe("early lines", () => {
  it("appear in console and file once the log is open, filtered by the level that is known then", async () => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    logging.logger.debug("too detailed");
    logging.logger.info("first");
    logging.part("config").debug("wanted here");
    expect(console.lines).toEqual([]);
    await logging.open(configured({ "logging.level": "info,config=debug" }), directory, Date.now);
    logging.logger.info("later");
    logging.logger.debug("too detailed");
    await logging.close();
    expect(messages(console.lines)).toEqual(["first", "wanted here", "later"]);
    expect(messages((await fileText()).trim().split("\n"))).toEqual(["first", "wanted here", "later"]);
  });

  it("of a start that fails appear on the console", () => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    logging.logger.debug("detail");
    logging.logger.warn("about to fail");
    logging.abandon();
    expect(messages(console.lines)).toEqual(["about to fail"]);
  });

  it("are bounded", () => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    for (let index = 0; index < 5000; index++) logging.logger.info(`line ${index}`);
    logging.abandon();
    expect(console.lines).toHaveLength(1000);
  });
});

describe("levels", () => {
  it("apply to parts that were named before and after the log was opened", async () => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    const before = logging.part("tcp");
    await logging.open(configured({ "logging.level": "warn,tcp=debug,storage=off" }), directory, Date.now);
    before.debug("tcp detail");
    logging.part("storage").error("storage error");
    logging.part("sessions").info("session info");
    logging.part("sessions").warn("session warning");
    expect(messages(console.lines)).toEqual(["tcp detail", "session warning"]);
    expect(logging.part("tcp")).toBe(before);
  });

  it.each(["off", "none"])("%s is silence", async (level) => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    await logging.open(configured({ "logging.level": level }), directory, Date.now);
    logging.logger.fatal("nobody hears this");
    expect(console.lines).toEqual([]);
  });
});

describe("form", () => {
  const terminal = (): MemoryConsole => Object.assign(new MemoryConsole(), { isTerminal: true });

  it.each([
    ["auto", false, /^\{"level":"info","time":"\d{4}-.*"part":"tcp","port":8090,"msg":"listening"\}\n$/],
    ["auto", true, /^\[\d{4}-\d\d-\d\d .*\] INFO: tcp: listening \{"port":8090\}\n$/],
    ["text", false, /INFO: tcp: listening \{"port":8090\}\n$/],
    ["json", true, /^\{"level":"info".*"msg":"listening"\}\n$/],
  ])("%s, terminal: %s", async (format, isTerminal, expected) => {
    const console = isTerminal ? terminal() : new MemoryConsole();
    const logging = newLogging(console);
    await logging.open(configured({ "logging.format": format }), directory, Date.now);
    logging.part("tcp").info({ port: 8090 }, "listening");
    expect(console.lines[0]).toMatch(expected);
  });

  it.each([
    ["auto", /^\{/],
    ["json", /^\{/],
    ["text", /^\[\d{4}/],
  ])("%s in the file", async (format, expected) => {
    const logging = newLogging(terminal());
    await logging.open(configured({ "logging.format": format }), directory, Date.now);
    logging.logger.info("line");
    await logging.close();
    expect(await fileText()).toMatch(expected);
  });

  it("errors keep their message, stack and cause", async () => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    await logging.open(configured(), directory, Date.now);
    logging.logger.error({ err: new Error("outer", { cause: new Error("inner") }), count: 5n }, "failed");
    expect(console.lines[0]).toContain('"message":"outer: inner"');
    expect(console.lines[0]).toContain("logging.test.ts");
    expect(console.lines[0]).toContain('"count":5');
  });
});

describe("secrets", () => {
  it.each([
    { password: "hunter2" },
    { newPassword: "hunter2" },
    { passwd: "hunter2" },
    { user: { password: "hunter2" } },
    { list: [{ token: "hunter2" }] },
    { rawToken: "hunter2" },
    { shared_secret: "hunter2" },
    { authorization: "Bearer hunter2" },
    { streamKey: Buffer.from("hunter2") },
    { encryption_key: "hunter2" },
    { credentials: { a: "hunter2" } },
    { anything: new Secret("hunter2") },
  ])("%j", async (fields) => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    await logging.open(configured(), directory, Date.now);
    logging.logger.info(fields, "line");
    logging.logger.child(fields).info("child line");
    await logging.close();
    expect(console.lines).toHaveLength(2);
    const written = console.lines.join("") + (await fileText());
    expect(written).not.toContain("hunter2");
    expect(written).not.toContain("104,117,110");
    expect(written).toContain("******");
  });

  it("leave harmless fields alone", async () => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    await logging.open(configured(), directory, Date.now);
    logging.logger.info({ maxTokens: 100, tokensCount: 3, key: "orders", hasPassword: true, nested: { a: [1, null] } });
    expect(JSON.parse(console.lines[0] ?? "")).toMatchObject({
      maxTokens: 100,
      tokensCount: 3,
      key: "orders",
      hasPassword: true,
      nested: { a: [1, null] },
    });
  });

  it("do not hide behind depth or a cycle", async () => {
    const console = new MemoryConsole();
    const logging = newLogging(console);
    await logging.open(configured(), directory, Date.now);
    let nested: Record<string, unknown> = { password: "hunter2" };
    for (let depth = 0; depth < 30; depth++) nested = { nested };
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    logging.logger.info({ nested, cycle }, "line");
    expect(console.lines.join("")).not.toContain("hunter2");
  });
});

it("file_enabled = false writes to the console only", async () => {
  const console = new MemoryConsole();
  const logging = newLogging(console);
  await logging.open(configured({ "logging.file_enabled": false }), directory, Date.now);
  logging.logger.info("line");
  await logging.close();
  expect(console.lines).toHaveLength(1);
  await expect(fileText()).rejects.toThrow("ENOENT");
});

it("a silent console still has a file", async () => {
  const logging = newLogging(silentConsole);
  await logging.open(configured(), directory, Date.now);
  logging.logger.info("line");
  await logging.close();
  expect(await fileText()).toContain("line");
});

it("a memory console keeps the newest lines", () => {
  const console = new MemoryConsole(2);
  for (const text of ["a", "b", "c"]) console.write(text);
  expect(console.lines).toEqual(["b", "c"]);
});

it("a closed standard output silences the console", () => {
  const written: string[] = [];
  const listeners: (() => void)[] = [];
  const stream = {
    isTTY: true,
    on: (_: string, listener: () => void) => listeners.push(listener),
    write: (text: string) => written.push(text),
  } as unknown as NodeJS.WriteStream;
  const console = stdoutConsole(stream, { NO_COLOR: "1" });
  expect(console.isTerminal).toBe(true);
  expect(console.hasColors).toBe(false);
  console.write("a");
  for (const listener of listeners) listener();
  console.write("b");
  expect(written).toEqual(["a"]);
});
