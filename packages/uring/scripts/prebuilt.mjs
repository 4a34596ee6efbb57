// Names and checks prebuilt addons. The loader in `src/addon` looks for the same names.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { packageRoot } from "./sources.mjs";

/** Where a prebuilt addon lies, for a C library that is `glibc` or `musl`. */
export function prebuiltFile(arch, libc) {
  return join(packageRoot, "prebuilds", `linux-${arch}`, `uring.${libc}.node`);
}

/** Undefined when a prebuilt addon fits this process, else why none does. */
export function loadPrebuilt() {
  const problems = [];
  for (const libc of ["glibc", "musl"]) {
    const path = prebuiltFile(process.arch, libc);
    if (!existsSync(path)) continue;
    try {
      createRequire(import.meta.url)(path);
      return undefined;
    } catch (error) {
      problems.push(error.message);
    }
  }
  return problems.join("; ") || "no prebuilt addon";
}
