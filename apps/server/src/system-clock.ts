import type { Clock } from "./request.js";

/** Time of the machine. Its monotonic part begins anew in every thread. */
export const systemClock: Clock = {
  nowMicros: () => Date.now() * 1000,
  monotonicMillis: () => performance.now(),
};
