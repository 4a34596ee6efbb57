// The folder of napi.h, for binding.gyp.
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export function addonApiFolder() {
  return dirname(createRequire(import.meta.url).resolve("node-addon-api/package.json"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(addonApiFolder());
