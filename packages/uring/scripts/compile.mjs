// Compiles the addon: with node-gyp where that works, else by calling the C++ compiler. Nothing is downloaded as long as
// the headers that belong to this Node.js are installed beside it, as they are in its own packages and images.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { addonApiFolder } from "./node-addon-api.mjs";
import { packageRoot, sources } from "./sources.mjs";

const FLAGS = [
  "-std=c++17",
  "-shared",
  "-fPIC",
  "-fvisibility=hidden",
  "-ffunction-sections",
  "-fno-exceptions",
  "-fno-rtti",
  "-Wall",
  "-Wextra",
  "-Wno-unused-parameter",
  "-Wno-cast-function-type",
];
const DEFINES = [
  "NAPI_VERSION=8",
  "NAPI_DISABLE_CPP_EXCEPTIONS",
  "NODE_ADDON_API_DISABLE_DEPRECATED",
  "NODE_GYP_MODULE_NAME=uring",
  "BUILDING_NODE_EXTENSION",
];
const RELEASE = ["-O2", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections", "-s"];
const SANITIZED = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address"];

export const RELEASE_FILE = join(packageRoot, "build", "Release", "uring.node");

/** The prefix that holds `include/node`, or undefined when this Node.js came without its headers. */
export function headersPrefix() {
  const candidates = [
    process.env.npm_config_nodedir,
    dirname(dirname(process.execPath)),
    process.config.variables.node_prefix,
  ];
  return candidates.find(
    (prefix) =>
      prefix !== undefined && ["node_api.h", "uv.h"].every((name) => existsSync(join(prefix, "include", "node", name))),
  );
}

/** Makes `build/Release/uring.node`; resolves to undefined, or to what was wrong. */
export function compileRelease() {
  const byGyp = compileWithGyp();
  if (byGyp === undefined) return undefined;
  const byHand = compileWithCompiler({ target: RELEASE_FILE });
  return byHand === undefined ? undefined : `${byGyp}; ${byHand}`;
}

function compileWithGyp() {
  const gyp = findGyp();
  if (gyp === undefined) return "node-gyp is not installed";
  const prefix = headersPrefix();
  const args = [gyp, "rebuild", "--release", "--jobs", "max", ...(prefix === undefined ? [] : [`--nodedir=${prefix}`])];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: packageRoot, encoding: "utf8" });
  if (status === 0 && existsSync(RELEASE_FILE)) return undefined;
  return `node-gyp failed: ${lastLine(stderr)}`;
}

/** Our own, the one that npm says it uses, or the one inside npm. */
function findGyp() {
  const require = createRequire(import.meta.url);
  try {
    return require.resolve("node-gyp/bin/node-gyp.js");
  } catch {
    const inside = "lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js";
    const candidates = [process.env.npm_config_node_gyp, join(dirname(dirname(process.execPath)), inside)];
    return candidates.find((path) => path !== undefined && existsSync(path));
  }
}

/** One call of the compiler. Resolves to undefined, or to what was wrong. */
export function compileWithCompiler({ target, compiler = process.env.CXX, sanitize = false }) {
  const prefix = headersPrefix();
  if (prefix === undefined) return "the headers of Node.js (include/node/node_api.h) are not installed";
  const program = compiler ?? ["g++", "clang++", "c++"].find(isThere);
  if (program === undefined) return "there is no C++ compiler (g++ or clang++)";
  mkdirSync(dirname(target), { recursive: true });
  const unfinished = `${target}.${process.pid}`;
  const args = [
    ...FLAGS,
    ...(sanitize ? SANITIZED : RELEASE),
    ...DEFINES.map((define) => `-D${define}`),
    ...["native", addonApiFolder(), join(prefix, "include", "node")].map((folder) => `-I${folder}`),
    ...sources(),
    "-o",
    unfinished,
  ];
  const { status, stderr, error } = spawnSync(program, args, { cwd: packageRoot, encoding: "utf8" });
  if (status === 0) {
    // A process that runs the old one keeps it.
    renameSync(unfinished, target);
    return undefined;
  }
  rmSync(unfinished, { force: true });
  return `${program} failed: ${error?.message ?? firstError(stderr)}`;
}

export function isThere(program) {
  return spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;
}

function firstError(text) {
  return text.split("\n").find((line) => line.includes("error")) ?? lastLine(text);
}

function lastLine(text) {
  return text.trim().split("\n").at(-1) ?? "";
}
