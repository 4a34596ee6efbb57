import type { RareOperation, Ring } from "./ring.js";
import type { Completion } from "./completion.js";
import { systemError } from "./ring-errors.js";

/** An operation as a promise, for those that are too rare to mind the objects. Rejects with the system's error. */
export function call(ring: Ring, syscall: string, operation: RareOperation, path?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const owner: Completion = {
      completed: (result) => {
        if (result < 0) reject(systemError(-result, syscall, path));
        else resolve(result);
      },
    };
    ring.operate(operation, owner, 0);
  });
}
