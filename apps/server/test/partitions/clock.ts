import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../src/request.js";
import type { Timers } from "../../src/partitions/index.js";

/** Time that stands still until the test moves it. */
export class ManualClock implements Clock, Timers {
  private micros = 1_700_000_000_000_000;
  private millis = 0;
  private readonly due = new Set<{ readonly at: number; readonly run: () => void }>();

  nowMicros(): number {
    return this.micros;
  }

  monotonicMillis(): number {
    return this.millis;
  }

  /** Timers that are set now. */
  get armed(): number {
    return this.due.size;
  }

  after(delayMillis: number, run: () => void): () => void {
    const entry = { at: this.millis + delayMillis, run };
    this.due.add(entry);
    return () => this.due.delete(entry);
  }

  /** Moves time forward, step by step through the timers on the way, and lets everything that follows happen. */
  async advance(byMillis: number): Promise<void> {
    const end = this.millis + byMillis;
    await this.runTimers(end);
    this.moveTo(end);
    await settle();
    // What happened meanwhile may have set timers that are due at once.
    await this.runTimers(end);
  }

  private async runTimers(until: number): Promise<void> {
    for (;;) {
      const next = [...this.due].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) return;
      this.moveTo(Math.max(this.millis, next.at));
      this.due.delete(next);
      next.run();
      await settle();
    }
  }

  private moveTo(millis: number): void {
    this.micros += Math.round((millis - this.millis) * 1000);
    this.millis = millis;
  }
}

/** Lets promises and the memory disk finish what they can. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await setImmediate();
}
