// `node scripts/build.mjs`: builds the addon unless it is current. Never fails: without it the server uses libuv.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileRelease, RELEASE_FILE } from "./compile.mjs";
import { buildInputs, packageRoot } from "./sources.mjs";

const STAMP = join(packageRoot, "build", "digest");

/** Undefined when there is a current addon, else why there is none. */
export function build() {
  if (process.platform !== "linux") return `io_uring needs Linux; this is ${process.platform}`;
  const digest = digestOfInputs();
  if (existsSync(RELEASE_FILE) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === digest) return undefined;
  const problem = compileRelease();
  if (problem === undefined) writeFileSync(STAMP, digest);
  return problem;
}

function digestOfInputs() {
  const hash = createHash("sha256").update(`${process.arch} ${process.versions.node}`);
  for (const path of buildInputs())
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(packageRoot, path)));
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problem = build();
  if (problem !== undefined) console.log(`@iggy/uring: no native addon, the server will use libuv (${problem})`);
}
