/** Time for group commit. */
export interface StoreClock {
  /** Never goes back. */
  nowMicros(): number;
  /** Runs once, after at least so long. */
  after(delayMicros: number, run: () => void): void;
}

const TIMER_MICROS_MIN = 1000;

/** Timers have a grain of a millisecond; a shorter wait looks at the clock once per turn of the event loop. */
export const systemClock: StoreClock = {
  nowMicros: () => performance.now() * 1000,
  after: (delayMicros, run) => {
    if (delayMicros >= TIMER_MICROS_MIN) {
      setTimeout(run, delayMicros / 1000);
      return;
    }
    const end = systemClock.nowMicros() + delayMicros;
    const look = (): void => {
      if (systemClock.nowMicros() >= end) run();
      else setImmediate(look);
    };
    setImmediate(look);
  },
};

/**
 * How long one partition's writer waits for more operations before a sync covers them all. Operations that come further
 * apart than the delay are never waited for, so an idle partition does not wait.
 */
export class GroupCommit {
  private readonly delayMicros: number;
  private readonly clock: StoreClock;
  private lastMicros = -Infinity;
  private firstMicros = 0;
  private isBusy = false;

  constructor(delayMicros: number, clock: StoreClock) {
    this.delayMicros = delayMicros;
    this.clock = clock;
  }

  /** An operation that asks for a sync arrived; `isFirst` of those that wait now. */
  arrived(isFirst: boolean): void {
    if (this.delayMicros === 0) return;
    const now = this.clock.nowMicros();
    if (isFirst) {
      this.isBusy = now - this.lastMicros <= this.delayMicros;
      this.firstMicros = now;
    }
    this.lastMicros = now;
  }

  /** Microseconds that the group which waits now may still wait, 0 for none. */
  get waitMicros(): number {
    if (this.delayMicros === 0 || !this.isBusy) return 0;
    return Math.max(0, this.firstMicros + this.delayMicros - this.clock.nowMicros());
  }

  wait(micros: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.after(micros, resolve);
    });
  }
}
