/** A figure of one benchmark. `nanosecondsPerRun` is the median of the faster half of its rounds. */
export interface Figure {
  readonly name: string;
  readonly nanosecondsPerRun: number;
  readonly bestNanosecondsPerRun: number;
  /** Bytes that one run handles; 0 where a rate in bytes means nothing. */
  readonly bytes: number;
}

const ROUNDS = 31;
const ROUND_MILLIS = 20;

/**
 * Runs `work` in rounds of about 20 ms. Other load on the machine only ever adds time, so the slower half of the rounds
 * is dropped.
 */
export function measure(name: string, bytes: number, work: () => void): Figure {
  const warmUntil = performance.now() + 200;
  let runs = 0;
  while (performance.now() < warmUntil) {
    work();
    runs++;
  }
  const perRound = Math.max(1, Math.round((runs * ROUND_MILLIS) / 200));
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    for (let i = 0; i < perRound; i++) work();
    return ((performance.now() - start) * 1e6) / perRound;
  }).sort((a, b) => a - b);
  return {
    name,
    bytes,
    nanosecondsPerRun: times[ROUNDS >> 2] ?? 0,
    bestNanosecondsPerRun: times[0] ?? 0,
  };
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, bytes, nanosecondsPerRun, bestNanosecondsPerRun }) => [
    name,
    duration(nanosecondsPerRun),
    duration(bestNanosecondsPerRun),
    bytes === 0 ? "" : `${(bytes / nanosecondsPerRun).toFixed(2)} GB/s`,
  ]);
  const head = ["what", "typical", "best", "rate"];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? "").length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

function duration(nanoseconds: number): string {
  return nanoseconds < 1000 ? `${nanoseconds.toFixed(1)} ns` : `${(nanoseconds / 1000).toFixed(2)} µs`;
}
