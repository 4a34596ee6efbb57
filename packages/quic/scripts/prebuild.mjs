// `npm run prebuilds`: makes the addon of this machine for shipping inside the package. Run it on the oldest system that
// the result has to work on, once per system, processor and C library. The loader in `src/addon` looks for these names.
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "./build.mjs";

const made = compile();
if (made.problem !== undefined) {
  console.error(made.problem);
  process.exit(1);
}
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const musl = `/lib/ld-musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
const suffix = process.platform !== "linux" ? "" : existsSync(musl) ? ".musl" : ".glibc";
const file = join(root, "prebuilds", `${process.platform}-${process.arch}`, `quic${suffix}.node`);
mkdirSync(dirname(file), { recursive: true });
copyFileSync(made.file, file);
console.log(file);
