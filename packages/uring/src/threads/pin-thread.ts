import type { Addon } from "../addon/index.js";

/**
 * Keeps this thread on one core, and with it the threads that it starts from now on unless they are pinned themselves.
 * Throws the system's error when the process may not use that core. Gives how to undo it.
 */
export function pinThread(addon: Addon, core: number): () => void {
  const before = addon.threadCores();
  addon.threadPin([core]);
  return () => {
    addon.threadPin(before);
  };
}
