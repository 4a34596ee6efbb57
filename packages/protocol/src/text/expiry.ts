import { formatDuration, parseSpans } from "./duration.js";
import { refuseText, U64_MAX } from "./number-text.js";

/** Expiry in µs that means the default of the server. */
export const EXPIRY_SERVER_DEFAULT = 0n;
/** Expiry in µs that means never. */
export const EXPIRY_NEVER = U64_MAX;

const never: ReadonlySet<string> = new Set(["unlimited", "Unlimited", "none", "None", "never_expire"]);
const serverDefault: ReadonlySet<string> = new Set(["default", "Default", "server_default", "Server_default", "0"]);

/** Longest expiry that text may give: u32::MAX seconds. */
const maxTextMicros = 4_294_967_295_999_999n;

/**
 * Microseconds of an expiry text: a word for never or for the server default, or a duration up to u32::MAX seconds.
 * Anything else is `InvalidNumberValue` (84).
 */
export function parseExpiry(text: string): bigint {
  if (never.has(text)) return EXPIRY_NEVER;
  if (serverDefault.has(text)) return EXPIRY_SERVER_DEFAULT;
  const micros = parseSpans(text);
  return micros === undefined || micros > maxTextMicros ? refuseText("expiry", text) : micros;
}

export function formatExpiry(micros: bigint): string {
  if (micros === EXPIRY_SERVER_DEFAULT) return "server_default";
  return micros === EXPIRY_NEVER ? "never_expire" : formatDuration(micros);
}
