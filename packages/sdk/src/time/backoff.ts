/** A source of numbers from 0 up to 1, 1 excluded. */
export type Random = () => number;

/** Retry pauses of one call: a random time up to 50 ms, doubling to at most 1 s. */
const retryBaseMs = 50;
const retryCapMs = 1000;

/** Pause before retry `attempt`, counted from 0. Full jitter, so that many clients do not come back together. */
export function retryPauseMs(attempt: number, random: Random): number {
  return random() * cappedDouble(retryBaseMs, retryCapMs, attempt);
}

/** Pause before redial `attempt`, counted from 0. */
export function redialPauseMs(attempt: number, intervalMs: number, maxIntervalMs: number, random: Random): number {
  return random() * cappedDouble(intervalMs, maxIntervalMs, attempt);
}

function cappedDouble(baseMs: number, capMs: number, attempt: number): number {
  return Math.min(capMs, baseMs * 2 ** Math.min(attempt, 32));
}
