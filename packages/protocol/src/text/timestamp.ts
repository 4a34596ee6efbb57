import { ErrorCode, IggyError } from "../errors/index.js";

function isoOf(micros: bigint): string {
  const date = new Date(Number(micros / 1000n));
  if (Number.isNaN(date.getTime())) {
    throw new IggyError(ErrorCode.TimestampOutOfRange, `${String(micros)} µs is no date`);
  }
  return date.toISOString();
}

/** UTC to the second: `2026-02-25 06:13:20`. Takes µs since the epoch; `TimestampOutOfRange` (10013) beyond dates. */
export function formatTimestamp(micros: bigint): string {
  return isoOf(micros).slice(0, -5).replace("T", " ");
}

/** RFC 3339 in UTC, with three or six decimals where they are needed: `2026-02-25T06:13:20.123456+00:00`. */
export function timestampRfc3339(micros: bigint): string {
  const fraction = String(micros % 1_000_000n).padStart(6, "0");
  const decimals = fraction.endsWith("000") ? fraction.slice(0, 3) : fraction;
  return `${isoOf(micros).slice(0, -5)}${decimals === "000" ? "" : `.${decimals}`}+00:00`;
}
