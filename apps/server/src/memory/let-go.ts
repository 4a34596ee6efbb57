import type { Memory } from "@iggy/storage";

/** Releases each of these once. */
export function letGo(memory: Iterable<Memory>): void {
  for (const held of memory) held.release();
}
