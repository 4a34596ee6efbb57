import { refuseText, U64_MAX } from "./number-text.js";

const second = 1_000_000_000n;

/** Nanoseconds of each unit, with its spellings; spellings are case-sensitive, `m` is a minute and `M` a month. */
const units: readonly (readonly [nanos: bigint, ...spellings: string[]])[] = [
  [1n, "ns", "nsec", "nanos"],
  [1000n, "us", "usec", "µs"],
  [1_000_000n, "ms", "msec", "millis"],
  [second, "s", "sec", "secs", "second", "seconds"],
  [60n * second, "m", "min", "mins", "minute", "minutes"],
  [3600n * second, "h", "hr", "hrs", "hour", "hours"],
  [86_400n * second, "d", "day", "days"],
  [604_800n * second, "w", "wk", "wks", "week", "weeks"],
  [2_630_016n * second, "M", "month", "months"],
  [31_557_600n * second, "y", "yr", "yrs", "year", "years"],
];

const nanosBySpelling = new Map(units.flatMap(([nanos, ...spellings]) => spellings.map((text) => [text, nanos])));

const zeroWords: ReadonlySet<string> = new Set(["0", "unlimited", "disabled", "none"]);

/**
 * Microseconds of a text such as `1h 30m`, `500 ms` or `4.2s`: a sum of `<number><unit>`, parts below a microsecond cut.
 * `0`, `none`, `disabled` and `unlimited` in any case are 0. A number without a unit, or a sum above u64::MAX, is
 * refused with `InvalidNumberValue` (84).
 */
export function parseDuration(text: string): bigint {
  if (zeroWords.has(text.toLowerCase())) return 0n;
  return parseSpans(text) ?? refuseText("duration", text);
}

/** A sum of spans in µs, without the words that mean zero. */
export function parseSpans(text: string): bigint | undefined {
  const span = /\s*([0-9]{1,20})(?:\.([0-9]{1,20}))?\s*([a-zA-Zµ]+)\s*/y;
  let nanos = 0n;
  while (span.lastIndex < text.length) {
    const [, whole, fraction = "", spelling = ""] = span.exec(text) ?? [];
    const unit = nanosBySpelling.get(spelling);
    if (whole === undefined || unit === undefined) return undefined;
    nanos += (BigInt(whole + fraction) * unit) / 10n ** BigInt(fraction.length);
  }
  const micros = nanos / 1000n;
  return text.length > 0 && micros <= U64_MAX ? micros : undefined;
}

interface Part {
  readonly micros: bigint;
  readonly one: string;
  readonly many: string;
}

const parts: readonly Part[] = [
  { micros: 31_557_600_000_000n, one: "year", many: "years" },
  { micros: 2_630_016_000_000n, one: "month", many: "months" },
  { micros: 86_400_000_000n, one: "day", many: "days" },
  { micros: 3_600_000_000n, one: "h", many: "h" },
  { micros: 60_000_000n, one: "m", many: "m" },
  { micros: 1_000_000n, one: "s", many: "s" },
  { micros: 1000n, one: "ms", many: "ms" },
  { micros: 1n, one: "us", many: "us" },
];

/** Text of a duration in µs, largest unit first and zero parts left out: `1day 2h 3m 4s 5ms 6us`, `0s`. */
export function formatDuration(micros: bigint): string {
  const texts: string[] = [];
  let rest = micros;
  for (const part of parts) {
    const count = rest / part.micros;
    rest %= part.micros;
    if (count > 0n) texts.push(`${String(count)}${count === 1n ? part.one : part.many}`);
  }
  return texts.length === 0 ? "0s" : texts.join(" ");
}
