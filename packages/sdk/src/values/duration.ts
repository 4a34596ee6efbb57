import { ErrorCode, parseDuration } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { wrongType } from "./check.js";

/** Milliseconds, or text such as `500ms`, `5s` or `1h 1m`. */
export type Duration = number | string;

/** Milliseconds of a duration within bounds. */
export function milliseconds(argument: string, value: Duration, min = 0, max = Number.MAX_SAFE_INTEGER): number {
  const ms = typeof value === "string" ? Number(micros(argument, value)) / 1000 : value;
  if (typeof ms !== "number") throw wrongType(argument, "milliseconds or a duration text", value);
  if (!(ms >= min && ms <= max)) {
    throw new RangeError(`${argument} takes ${String(min)} to ${String(max)} ms, got ${String(ms)}`);
  }
  return ms;
}

function micros(argument: string, text: string): bigint {
  try {
    return parseDuration(text);
  } catch (cause) {
    throw new ValidationError(ErrorCode.InvalidNumberValue, `${argument}: ${JSON.stringify(text)} is no duration`, {
      cause,
    });
  }
}

/** Microseconds as the wire carries them; a part below a microsecond is cut. */
export const toMicros = (ms: number): bigint => BigInt(Math.trunc(ms * 1000));

/** µs since the epoch as a date, cut to the millisecond. */
export const dateOfMicros = (timestamp: bigint): Date => new Date(Number(timestamp / 1000n));
