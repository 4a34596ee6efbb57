import type { RandomSource } from "@iggy/protocol";

/** Fills nonces from the platform's secure source. */
export const randomFill: RandomSource = (bytes) => {
  globalThis.crypto.getRandomValues(bytes);
};
