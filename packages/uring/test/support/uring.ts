import { describe } from "vitest";
import { type Addon, probe } from "../../src/index.js";
import { load } from "./ring-setup.js";

export { load, openUring, REGIONS, SLAB_BYTES, type Uring } from "./ring-setup.js";

const found = probe(load);

/** A suite that needs the addon, and one that needs a ring; skipped with the reason in its name where there is none. */
export function withAddon(name: string, suite: (addon: Addon) => void): void {
  const loaded = load();
  if (loaded.addon === undefined) describe.skip(`${name} (${loaded.reason})`, () => undefined);
  else describe(name, () => suite(loaded.addon));
}

export function withRing(name: string, suite: (addon: Addon) => void): void {
  if (found.ring) withAddon(name, suite);
  else describe.skip(`${name} (${found.reason})`, () => undefined);
}
