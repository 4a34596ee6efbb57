import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Addon, ADDON_REVISION, isAddon } from "./addon.js";

export type LoadedAddon =
  { readonly addon: Addon } | { readonly addon: undefined; readonly reason: string; readonly remedy: string };

/** What decides which file is loaded. Tests put other machines in its place. */
export interface AddonPlace {
  readonly platform: string;
  readonly arch: string;
  /** The folder of this package. */
  readonly root: string;
  readonly exists: (path: string) => boolean;
  readonly load: (path: string) => unknown;
}

const REMEDY = "install Rust (https://rustup.rs) and run `npm explore @iggy/quic -- npm run build:addon`";

let loaded: LoadedAddon | undefined;

/** The addon of this process, looked for once. */
export const ownAddon = (): LoadedAddon => (loaded ??= loadAddon());

/** Loads the addon that fits this process: one that was built here, else a prebuilt one. Never throws. */
export function loadAddon(place: AddonPlace = thisPlace()): LoadedAddon {
  const problems: string[] = [];
  for (const path of candidates(place)) {
    if (!place.exists(path)) continue;
    try {
      const exports = place.load(path);
      if (isAddon(exports)) return { addon: exports };
      problems.push(`${path} is not of revision ${ADDON_REVISION}`);
    } catch (error) {
      const text = (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
      problems.push(text.includes(path) ? text : `${path}: ${text}`);
    }
  }
  const reason =
    problems.length === 0
      ? `there is no native addon for ${place.platform}-${place.arch}, and none was built here`
      : `the native addon can't be loaded: ${problems.join("; ")}`;
  return { addon: undefined, reason, remedy: REMEDY };
}

function candidates({ root, platform, arch }: AddonPlace): readonly string[] {
  const names = platform === "linux" ? ["quic.glibc.node", "quic.musl.node"] : ["quic.node"];
  return [
    join(root, "build", "Release", "quic.node"),
    ...names.map((name) => join(root, "prebuilds", `${platform}-${arch}`, name)),
  ];
}

function thisPlace(): AddonPlace {
  return {
    platform: process.platform,
    arch: process.arch,
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
  return existsSync(manifest) && readFileSync(manifest, "utf8").includes('"@iggy/quic"');
}
