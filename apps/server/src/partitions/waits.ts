import { type Deadline, DeadlineQueue } from "@iggy/engine";
import type { Clock } from "../request.js";
import type { Timers } from "./environment.js";

export type Wait = Deadline<() => void>;

/** Deadlines of everything that waits on this shard, behind one timer. */
export class Waits {
  private readonly queue = new DeadlineQueue<() => void>();
  private readonly clock: Clock;
  private readonly timers: Timers;
  private armedFor = Infinity;
  private disarm: (() => void) | undefined;
  private isClosed = false;

  constructor(clock: Clock, timers: Timers) {
    this.clock = clock;
    this.timers = timers;
  }

  /** Monotonic time, as all deadlines are given. */
  get nowMillis(): number {
    return this.clock.monotonicMillis();
  }

  /** Runs at the given time unless it is cancelled, or everything is closed, before. */
  at(dueMillis: number, run: () => void): Wait {
    const wait = this.queue.add(dueMillis, run);
    this.arm();
    return wait;
  }

  cancel(wait: Wait): void {
    this.queue.remove(wait);
    if (this.queue.size === 0) this.stop();
  }

  /** From now on nothing runs any more. */
  close(): void {
    this.isClosed = true;
    this.stop();
  }

  private arm(): void {
    const next = this.queue.next;
    if (this.isClosed || next === undefined || next >= this.armedFor) return;
    this.stop();
    this.armedFor = next;
    this.disarm = this.timers.after(Math.max(0, next - this.nowMillis), () => {
      this.armedFor = Infinity;
      this.disarm = undefined;
      const now = this.nowMillis;
      for (let run = this.queue.takeDue(now); run !== undefined; run = this.queue.takeDue(now)) run();
      this.arm();
    });
  }

  private stop(): void {
    this.disarm?.();
    this.disarm = undefined;
    this.armedFor = Infinity;
  }
}
