import { type AddonPlace, loadAddon, ownAddon } from "./addon/index.js";

/** Whether this process can speak QUIC. */
export interface Probe {
  readonly available: boolean;
  /** Why not, in one line; empty when it can. */
  readonly reason: string;
  /** What would change that; empty when there is nothing to do. */
  readonly remedy: string;
}

/** Tries to load the addon and tells what stands in the way. Never throws. */
export function probe(place?: AddonPlace): Probe {
  const loaded = place === undefined ? ownAddon() : loadAddon(place);
  if (loaded.addon === undefined) return { available: false, reason: loaded.reason, remedy: loaded.remedy };
  return { available: true, reason: "", remedy: "" };
}
