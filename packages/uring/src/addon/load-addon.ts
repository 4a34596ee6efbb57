import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Addon, ADDON_REVISION, isAddon } from "./addon.js";
import { type CLibrary, cLibraryOf } from "./c-library.js";

export type LoadedAddon =
  | { readonly addon: Addon; readonly path: string }
  | { readonly addon: undefined; readonly reason: string; readonly remedy: string };

/** What decides which file is loaded. Tests put other machines in its place. */
export interface AddonPlace {
  readonly platform: string;
  readonly arch: string;
  readonly cLibrary: CLibrary;
  /** The folder of this package. */
  readonly root: string;
  readonly exists: (path: string) => boolean;
  readonly load: (path: string) => unknown;
}

const COMPILE = "install g++ and make and run `npm rebuild @iggy/uring`";

/** Loads the addon that fits this process: one that was built here, else a prebuilt one. Never throws. */
export function loadAddon(place: AddonPlace = thisPlace()): LoadedAddon {
  if (place.platform !== "linux") {
    return unavailable(`io_uring needs Linux, this is ${place.platform}`, "nothing to do: libuv serves this system");
  }
  const problems: string[] = [];
  for (const path of candidates(place)) {
    if (!place.exists(path)) continue;
    try {
      const exports = place.load(path);
      if (isAddon(exports)) return { addon: exports, path };
      problems.push(`${path} is not of revision ${ADDON_REVISION}`);
    } catch (error) {
      problems.push(cause(path, error));
    }
  }
  if (problems.length > 0) return unavailable(`the native addon can't be loaded: ${problems.join("; ")}`, COMPILE);
  const wanted = `${place.platform}-${place.arch} with ${place.cLibrary}`;
  return unavailable(`there is no native addon for ${wanted}, and none was built at installation`, COMPILE);
}

function candidates({ root, arch, cLibrary }: AddonPlace): readonly string[] {
  const prebuilt = (name: string): string => join(root, "prebuilds", `linux-${arch}`, `uring.${name}.node`);
  const names = cLibrary === "unknown" ? ["glibc", "musl"] : [cLibrary];
  return [join(root, "build", "Release", "uring.node"), ...names.map(prebuilt)];
}

function cause(path: string, error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
  if (text.includes("musl") || text.includes("ld-linux") || text.includes("GLIBC_")) {
    return `${path} was built for another C library (${text})`;
  }
  return text.includes(path) ? text : `${path}: ${text}`;
}

function unavailable(reason: string, remedy: string): LoadedAddon {
  return { addon: undefined, reason, remedy };
}

function thisPlace(): AddonPlace {
  return {
    platform: process.platform,
    arch: process.arch,
    cLibrary: process.platform === "linux" ? cLibraryOf() : "unknown",
    root: packageRoot(),
    exists: existsSync,
    load: createRequire(import.meta.url),
  };
}

/** Sources and the bundled file lie at different depths below the package. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!isPackage(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

function isPackage(folder: string): boolean {
  const manifest = join(folder, "package.json");
  return existsSync(manifest) && readFileSync(manifest, "utf8").includes('"@iggy/uring"');
}
