// `npm run prebuilds`: makes the addon of this machine, and of arm64 where a cross compiler is installed, for shipping
// inside the package. Run it on the oldest system that the result has to work on; CI does, per processor and C library.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { compileRelease, compileWithCompiler, isThere, RELEASE_FILE } from "./compile.mjs";
import { prebuiltFile } from "./prebuilt.mjs";

const CROSS = { arm64: "aarch64-linux-gnu-g++", x64: "x86_64-linux-gnu-g++" };

if (process.platform !== "linux") fail("prebuilt addons are made on Linux");
make(process.arch, ownLibrary(), () => {
  const problem = compileRelease();
  if (problem !== undefined) return problem;
  const target = prebuiltFile(process.arch, ownLibrary());
  mkdirSync(dirname(target), { recursive: true });
  cpSync(RELEASE_FILE, target);
  return undefined;
});
for (const [arch, compiler] of Object.entries(CROSS)) {
  if (arch === process.arch || !isThere(compiler)) continue;
  make(arch, "glibc", () => compileWithCompiler({ target: prebuiltFile(arch, "glibc"), compiler }));
}

function make(arch, library, compile) {
  const problem = compile();
  if (problem !== undefined) fail(problem);
  const file = prebuiltFile(arch, library);
  check(file, library);
  console.log(`${file} for ${arch} with ${library}`);
}

/** A file under the wrong name would be blamed on everything but its name. */
function check(file, library) {
  const { stdout, status } = spawnSync("readelf", ["-d", file], { encoding: "utf8" });
  if (status !== 0) return;
  const needsMusl = /NEEDED.*libc\.musl|NEEDED.*\[libc\.so\]/.test(stdout);
  if (needsMusl !== (library === "musl")) fail(`${file} was built for another C library:\n${stdout}`);
}

function ownLibrary() {
  return existsSync(`/lib/ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`) ? "musl" : "glibc";
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
