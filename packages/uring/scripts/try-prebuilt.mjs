// `node scripts/try-prebuilt.mjs works|refused`: loads the prebuilt addon that fits this Node.js and opens a ring, or
// sees it refused with an error of the system. Needs nothing but Node.js.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { prebuiltFile } from "./prebuilt.mjs";

const [expected] = process.argv.slice(2);
const addon = load();
let outcome;
try {
  addon.ringClose(addon.ringOpen(8, 8, () => {}).id);
  outcome = "works";
} catch (error) {
  console.log(error.message);
  outcome = ["EPERM", "ENOSYS"].includes(error.code) ? "refused" : "failed";
}
addon.slabOpen(1 << 20);
console.log(`Node.js ${process.versions.node}: ${outcome}`);
process.exit(outcome === expected ? 0 : 1);

function load() {
  for (const library of ["glibc", "musl"]) {
    const file = prebuiltFile(process.arch, library);
    if (existsSync(file)) return createRequire(import.meta.url)(file);
  }
  throw new Error("there is no prebuilt addon for this processor");
}
