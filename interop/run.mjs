// `node interop/run.mjs`: runs the official clients of Apache Iggy, the Rust SDK and the `iggy` CLI, against a fresh
// server of this repository, or against the one that `--url` names. The status is 0 when everything passed or cargo is
// missing, 1 when something failed, 2 for a wrong call.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runCli } from "./cli.mjs";

const USAGE =
  "usage: node interop/run.mjs [--url iggy+tcp://USER:PASSWORD@HOST:PORT] [--only NAME,PREFIX*] [--skip-cli]";
const CLI_VERSION = "0.14.1-edge.7";
const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const WITH_SERVER = fileURLToPath(new URL("../scripts/with-server.mjs", import.meta.url));
/** Outside the work tree, and shared by all of them. */
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "iggy-ts", "interop");
const TARGET = process.env.CARGO_TARGET_DIR || join(CACHE, "target");

const options = readOptions();
if (spawnSync("cargo", ["--version"], { cwd: FOLDER }).error !== undefined) {
  console.log("interop skipped: cargo is not installed");
  process.exit(0);
}
const scenarios = buildScenarios();
const cli = options["skip-cli"] ? undefined : installCli();
process.exitCode = options.url === undefined ? runWithFreshServer() : await runClients(options.url);

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        url: { type: "string" },
        only: { type: "string" },
        "skip-cli": { type: "boolean", default: false },
      },
    });
    return values;
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

/** The lock file decides every version. */
function buildScenarios() {
  cargo(["build", "--locked"]);
  return join(TARGET, "debug", programName("interop"));
}

function installCli() {
  const root = join(CACHE, `iggy-cli-${CLI_VERSION}`);
  const program = join(root, "bin", programName("iggy"));
  if (!existsSync(program)) {
    console.log(`Installing iggy-cli ${CLI_VERSION}; this happens once ...`);
    cargo(["install", "iggy-cli", "--version", CLI_VERSION, "--locked", "--debug", "--root", root]);
  }
  return program;
}

/** Works in the folder of the scenarios, whose rust-toolchain.toml names the compiler. */
function cargo(words) {
  const env = { ...process.env, CARGO_TARGET_DIR: TARGET, CARGO_PROFILE_DEV_DEBUG: "0" };
  const { status } = spawnSync("cargo", words, { cwd: FOLDER, env, stdio: ["ignore", "inherit", "inherit"] });
  if (status === 0) return;
  console.error(`cargo ${words[0]} failed; see above.`);
  process.exit(1);
}

function programName(name) {
  return process.platform === "win32" ? `${name}.exe` : name;
}

/** Runs this program once more, with the address of a server that lives as long as the run. */
function runWithFreshServer() {
  const own = [fileURLToPath(import.meta.url), "--url", "{url}", ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, [WITH_SERVER, process.execPath, ...own], { stdio: "inherit" });
  return status ?? 1;
}

async function runClients(url) {
  console.log("Official Rust SDK");
  const results = [await runScenarios(url)];
  if (cli !== undefined) {
    console.log(`\nOfficial iggy CLI ${CLI_VERSION}`);
    results.push(await runCli(cli, url));
  }
  const [passed, failed] = ["passed", "failed"].map((of) => results.reduce((sum, result) => sum + result[of], 0));
  console.log(`\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Passes the output of the scenarios on. Their last line is `N passed, N failed`. */
async function runScenarios(url) {
  const selection = options.only === undefined ? [] : ["--only", options.only];
  const child = spawn(scenarios, ["--url", url, ...selection], { cwd: FOLDER, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  let summary;
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(line);
    summary = /^(\d+) passed, (\d+) failed$/.exec(line) ?? summary;
  }
  const status = await ended;
  if (summary === undefined) throw new Error(`The scenarios ended with ${status} and without a summary.`);
  return { passed: Number(summary[1]), failed: Number(summary[2]) };
}
