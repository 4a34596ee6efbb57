// The C++ files of the addon, one a line, relative to the package. binding.gyp and the plain build read this list.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const packageRoot = dirname(dirname(fileURLToPath(import.meta.url)));

export function sources() {
  return filesOf("native").filter((path) => path.endsWith(".cc"));
}

/** Everything that a build depends on. */
export function buildInputs() {
  return [...filesOf("native"), "binding.gyp", "scripts/compile.mjs"];
}

function filesOf(folder) {
  return readdirSync(join(packageRoot, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesOf(path) : [path];
    })
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(sources().join("\n"));
