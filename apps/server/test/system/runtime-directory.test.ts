import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { currentConfigToml } from "../../src/config/index.js";
import { currentConfigPath, recreateRuntimeDirectory, writeCurrentConfig } from "../../src/system/index.js";
import { read } from "../config/read.js";

let directory: string;
const { config } = read();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iggy-runtime-"));
});
afterEach(() => rm(directory, { recursive: true }));

it("the runtime directory is empty after a start, whatever was there", async () => {
  await recreateRuntimeDirectory(directory, config);
  expect(await readdir(join(directory, "runtime"))).toEqual([]);
  await mkdir(join(directory, "runtime", "nested"));
  await writeFile(join(directory, "runtime", "stale"), "x");
  await recreateRuntimeDirectory(directory, config);
  expect(await readdir(join(directory, "runtime"))).toEqual([]);
});

it("the current configuration is written whole, for the owner's eyes", async () => {
  await recreateRuntimeDirectory(directory, config);
  await writeCurrentConfig(directory, config);
  await writeCurrentConfig(directory, config);
  expect(await readdir(join(directory, "runtime"))).toEqual(["current_config.toml"]);
  const path = currentConfigPath(directory, config);
  expect(await readFile(path, "utf8")).toBe(currentConfigToml(config));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});
