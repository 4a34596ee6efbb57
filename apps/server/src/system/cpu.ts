import type { CpuInfo } from "node:os";

/** CPU use in percent of one core; the process may go above 100 with several threads. */
export interface CpuUsage {
  readonly process: number;
  /** Average over the cores the process may use. */
  readonly total: number;
}

/** A reading of the counters; usage is the difference of two. */
export interface CpuCounters {
  readonly atMicros: number;
  readonly processMicros: number;
  readonly busyMillis: number;
  readonly elapsedMillis: number;
}

/** Two readings closer than this say more about the timer than about the load. */
const WINDOW_MICROS_MIN = 200_000;

export function cpuCounters(
  atMicros: number,
  usage: NodeJS.CpuUsage,
  cores: readonly CpuInfo[],
  allowedCores: readonly number[],
): CpuCounters {
  const allowed = new Set(allowedCores);
  const counted = cores.filter((_, core) => allowed.size === 0 || allowed.has(core));
  let busyMillis = 0;
  let elapsedMillis = 0;
  for (const { times } of counted) {
    const busy = times.user + times.nice + times.sys + times.irq;
    busyMillis += busy;
    elapsedMillis += busy + times.idle;
  }
  return { atMicros, processMicros: usage.user + usage.system, busyMillis, elapsedMillis };
}

/** Usage between successive readings: 0 on the first, the last known value when the readings are too close. */
export class CpuMeter {
  #last: CpuCounters | undefined;
  #usage: CpuUsage = { process: 0, total: 0 };

  usageAt(counters: CpuCounters): CpuUsage {
    const last = this.#last;
    if (last === undefined) this.#last = counters;
    else if (counters.atMicros - last.atMicros >= WINDOW_MICROS_MIN) {
      this.#last = counters;
      this.#usage = {
        process: percent(counters.processMicros - last.processMicros, counters.atMicros - last.atMicros),
        total: percent(counters.busyMillis - last.busyMillis, counters.elapsedMillis - last.elapsedMillis),
      };
    }
    return this.#usage;
  }
}

function percent(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.max(0, (part / whole) * 100);
}
