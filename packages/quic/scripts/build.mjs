// `node scripts/build.mjs`: builds the addon unless it is current. Never fails: without it there is no QUIC, and the rest
// goes on. A first build takes about a minute and needs cargo, so nobody's installation or start waits for it: the tests
// call it, and `IGGY_QUIC_BUILD=1 npm install` does.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packageRoot = dirname(dirname(fileURLToPath(import.meta.url)));
const native = join(packageRoot, "native");
export const RELEASE_FILE = join(packageRoot, "build", "Release", "quic.node");
const STAMP = join(packageRoot, "build", "digest");

/** Outside the package and shared by all copies of it, so that what it depends on is compiled once. */
const TARGET =
  process.env.CARGO_TARGET_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "iggy-ts", "quic");

/** Undefined when there is a current addon, else why there is none. */
export function build() {
  const digest = digestOfInputs();
  if (existsSync(RELEASE_FILE) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === digest) return undefined;
  const made = compile();
  if (made.problem !== undefined) return made.problem;
  mkdirSync(dirname(RELEASE_FILE), { recursive: true });
  // A process that runs the old one keeps it.
  const unfinished = `${RELEASE_FILE}.${process.pid}`;
  copyFileSync(made.file, unfinished);
  renameSync(unfinished, RELEASE_FILE);
  writeFileSync(STAMP, digest);
  return undefined;
}

/** The library that cargo made, for this machine or the named target. */
export function compile(target) {
  const args = ["build", "--release", "--locked", "--quiet", ...(target === undefined ? [] : ["--target", target])];
  const { status, error, stderr } = spawnSync("cargo", args, {
    cwd: native,
    encoding: "utf8",
    env: { ...process.env, CARGO_TARGET_DIR: TARGET },
    shell: process.platform === "win32",
  });
  if (error !== undefined) return { problem: "cargo is not installed" };
  if (status !== 0) return { problem: `cargo failed: ${firstError(stderr)}` };
  const names = { darwin: "libiggy_quic.dylib", win32: "iggy_quic.dll" };
  return {
    file: join(
      TARGET,
      ...(target === undefined ? [] : [target]),
      "release",
      names[process.platform] ?? "libiggy_quic.so",
    ),
  };
}

function digestOfInputs() {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  const sources = readdirSync(join(native, "src")).map((name) => `src/${name}`);
  for (const path of ["Cargo.toml", "Cargo.lock", "build.rs", ...sources.sort()])
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(native, path)));
  return hash.digest("hex");
}

function firstError(text) {
  const lines = text.trim().split("\n");
  return lines.find((line) => line.startsWith("error")) ?? lines.at(-1) ?? "";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problem = build();
  if (problem !== undefined) console.log(`@iggy/quic: no native addon, so no QUIC (${problem})`);
}
