import { AsyncLocalStorage } from "node:async_hooks";
import type { CallScope } from "./platform.js";

/** Follows calls through everything that they wait for. */
export function nodeCallScope(): CallScope {
  const storage = new AsyncLocalStorage<true>();
  return {
    run: (call) => storage.run(true, call),
    get isInside() {
      return storage.getStore() === true;
    },
  };
}
