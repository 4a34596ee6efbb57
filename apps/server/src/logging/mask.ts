import { SECRET_MASK } from "../config/index.js";

/** Names of fields that never carry anything a person may read. */
const SECRET_NAME =
  /passw(or)?d|secret|token|psk|credential|authorization|cookie|(private|server|stream|encryption|data|api)_?key$/i;
/** Fields below this depth are not looked at, and not printed either. */
const DEPTH_MAX = 8;

/**
 * A copy of a log line's fields in which every text or byte value with a secret-looking name is masked. Numbers and
 * booleans stay: `max_tokens_per_user` is no secret. A second net under the `Secret` type, not a replacement for it.
 */
export function maskSecrets(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return maskRecord(fields, 0);
}

function maskRecord(fields: object, depth: number): Record<string, unknown> {
  const masked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    masked[name] = SECRET_NAME.test(name) && isReadable(value) ? SECRET_MASK : maskValue(value, depth);
  }
  return masked;
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return depth >= DEPTH_MAX ? "..." : value.map((item) => maskValue(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return depth >= DEPTH_MAX ? "..." : maskRecord(value, depth + 1);
}

function isReadable(value: unknown): boolean {
  return typeof value === "string" || typeof value === "bigint" || (typeof value === "object" && value !== null);
}
