// `npm run test:asan`: the tests of the native part under AddressSanitizer. Needs g++ with libasan.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { compileWithCompiler } from "./compile.mjs";
import { packageRoot } from "./sources.mjs";

const target = join(packageRoot, "build-asan", "uring.node");
const problem = compileWithCompiler({ target, sanitize: true });
if (problem !== undefined) fail(problem);

const runtime = spawnSync(process.env.CXX ?? "g++", ["-print-file-name=libasan.so"], { encoding: "utf8" });
const library = runtime.stdout?.trim() ?? "";
if (!existsSync(library)) fail("libasan is not installed");

// Only the test processes are loaded with it: Node.js itself never frees much of what it has at its end.
const repository = join(packageRoot, "..", "..");
const wanted = process.argv.slice(2);
const { status } = spawnSync(
  process.execPath,
  [
    join(repository, "node_modules/vitest/vitest.mjs"),
    "run",
    ...(wanted.length > 0 ? wanted : ["packages/uring/test"]),
  ],
  {
    cwd: repository,
    stdio: "inherit",
    env: {
      ...process.env,
      LD_PRELOAD: library,
      ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1:handle_segv=1:use_sigaltstack=0",
      URING_TEST_ADDON: target,
    },
  },
);
process.exit(status ?? 1);

function fail(message) {
  console.error(`The sanitized build can't be tested: ${message}`);
  process.exit(1);
}
