// What `npm start` and `npm test` share: a workspace that is installed and built, with nothing but Node.js and npm.
// Plain Node.js without dependencies, because it runs before there are any.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const NODE_MIN = manifest.engines.node.replace(/[^\d.]/g, "");
/** Folders that hold packages, one level down or themselves. */
const PACKAGE_FOLDERS = ["packages", "apps", "examples", "bdd"];
/** What a build reads, besides `src`. */
const BUILD_INPUTS = ["package.json", "tsup.config.ts", "tsconfig.json"];

export function requireNode() {
  const [have, want] = [process.versions.node, NODE_MIN].map((version) => version.split(".").map(Number));
  if (have[0] > want[0] || (have[0] === want[0] && have[1] >= want[1])) return;
  fail(`Node.js ${NODE_MIN} or newer is needed; this is ${process.versions.node}.`);
}

export function fail(message) {
  console.error(message);
  process.exit(1);
}

/** Installs what the lockfile pins, unless that has been done already. */
export async function ensureInstalled() {
  const isPresent = existsSync(join(root, "node_modules", ".modules.yaml"));
  const stamp = stampFile("install");
  const digest = digestOf([join(root, "pnpm-lock.yaml"), join(root, "pnpm-workspace.yaml"), ...manifests()], contentOf);
  if (isPresent && stamp.read() === digest) return;
  console.log("Installing the pinned dependencies ...");
  if ((await pnpm(["install", "--frozen-lockfile"])) !== 0) fail("The installation failed; see above.");
  stamp.write(digest);
}

/** Builds every package, unless nothing has changed since the last build. */
export async function ensureBuilt() {
  const stamp = stampFile("build");
  const digest = digestOf(buildInputs(), sizeAndTimeOf);
  const isPresent = packages().every(
    (folder) => !existsSync(join(folder, "tsup.config.ts")) || existsSync(join(folder, "dist")),
  );
  if (isPresent && stamp.read() === digest) return;
  console.log("Building ...");
  if ((await pnpm(["run", "build", "--output-logs=errors-only"])) !== 0) fail("The build failed; see above.");
  stamp.write(digest);
}

/** Builds the native addon where that is possible. Without it everything runs, on libuv. */
export function ensureAddon() {
  return run(process.execPath, [join(root, "packages/uring/scripts/build.mjs")]);
}

/**
 * Builds the native part of QUIC where there is cargo. The first time takes a minute, so only tests wait for it: without it
 * the server says in one line that QUIC is off.
 */
export function ensureQuic() {
  return run(process.execPath, [join(root, "packages/quic/scripts/build.mjs")]);
}

/** Runs the pinned pnpm, which npm fetches when the machine has none. Resolves to its exit status. */
export function pnpm(args) {
  const version = manifest.packageManager.split("+", 1)[0];
  return run("npx", ["--yes", version, ...args], { TURBO_TELEMETRY_DISABLED: "1" });
}

/** Runs a program in the root of the repository, on this terminal. Resolves to its exit status. */
export function run(program, args, environment = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, ...environment },
      shell: process.platform === "win32",
    });
    child.once("error", (error) => {
      console.error(`${program}: ${error.message}`);
      resolve(127);
    });
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

function packages() {
  return PACKAGE_FOLDERS.map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      existsSync(join(folder, "package.json")) ? [folder] : readdirSync(folder).map((name) => join(folder, name)),
    )
    .filter((folder) => existsSync(join(folder, "package.json")));
}

function manifests() {
  return [join(root, "package.json"), ...packages().map((folder) => join(folder, "package.json"))];
}

function buildInputs() {
  const own = packages().flatMap((folder) => [
    ...BUILD_INPUTS.map((name) => join(folder, name)).filter((path) => existsSync(path)),
    ...filesBelow(join(folder, "src")),
  ]);
  return [join(root, "tsconfig.base.json"), join(root, "pnpm-lock.yaml"), ...own];
}

function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

const contentOf = (path) => readFileSync(path);
const sizeAndTimeOf = (path) => {
  const { size, mtimeMs } = statSync(path);
  return `${size} ${mtimeMs}`;
};

function digestOf(paths, describe) {
  const hash = createHash("sha256");
  for (const path of [...paths].sort()) hash.update(path).update("\0").update(describe(path)).update("\0");
  return hash.digest("hex");
}

/** A note beside the installed packages of what a step has last worked on. */
function stampFile(step) {
  const path = join(root, "node_modules", ".cache", "iggy", step);
  return {
    read: () => (existsSync(path) ? readFileSync(path, "utf8") : undefined),
    write: (digest) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, digest);
    },
  };
}
