import { createRequire } from "node:module";
import { describe, it } from "vitest";
import { isNativeHash, type NativeHash } from "../../src/hash/index.js";
import { isNativeSiv, type NativeSiv } from "../../src/siv/index.js";

export type BuiltAddon = NativeHash & NativeSiv;

/** The addon as it was built here; `IGGY_URING_ADDON` names another one, such as a build with sanitizers. */
function load(): BuiltAddon | undefined {
  const file = process.env["IGGY_URING_ADDON"] ?? "../../build/Release/uring.node";
  const exports = loadedOrUndefined(file);
  if (exports === undefined) return undefined;
  if (!isNativeHash(exports) || !isNativeSiv(exports)) throw new Error(`${file} lacks hashing: build the addon anew`);
  return exports;
}

function loadedOrUndefined(file: string): object | undefined {
  try {
    return createRequire(import.meta.url)(file) as object;
  } catch (error) {
    // Not built, which is no fault on a system that can't build it. What can't be loaded is one.
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

const addon = load();

/** Tests of the addon, or a single one that is skipped and says why. */
export function describeAddon(title: string, body: (addon: BuiltAddon) => void): void {
  describe(title, () => {
    if (addon !== undefined) body(addon);
    else it.skip("needs the native addon: node scripts/build.mjs");
  });
}
