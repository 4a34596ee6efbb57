import type { StoreClock } from "./group-commit.js";

/** A write at once that took longer did not only copy: the system made it wait for the disk. */
const STALL_MICROS = 10_000;
/** So long nothing is written at once after that. */
const PAUSE_MICROS = 250_000;

/**
 * Whether writes may be done at once. They hold up everything else on the shard, which costs less than handing them over
 * as long as they only fill the system's memory. When that is full, the system slows writers down to the pace of the
 * disk; then others are to do the waiting.
 */
export class WritePace {
  private readonly clock: StoreClock;
  private startMicros = 0;
  private pausedUntil = 0;

  constructor(clock: StoreClock) {
    this.clock = clock;
  }

  /** Also begins the measure of a write at once, which `end` ends. */
  begin(): boolean {
    this.startMicros = this.clock.nowMicros();
    return this.startMicros >= this.pausedUntil;
  }

  end(): void {
    const now = this.clock.nowMicros();
    if (now - this.startMicros > STALL_MICROS) this.pausedUntil = now + PAUSE_MICROS;
  }
}
