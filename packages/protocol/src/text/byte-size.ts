import { refuseText, U64_MAX } from "./number-text.js";

const prefixes = ["", "K", "M", "G", "T", "P", "E"] as const;

const zeroWords: ReadonlySet<string> = new Set(["0", "unlimited", "Unlimited", "none", "None"]);

/**
 * Bytes of a size text such as `64 MiB`, `1.5 GB` or `1024`. Prefixes are decimal (`K` = 1000) or binary (`Ki` = 1024)
 * in either case; without a unit they count bytes; a final `b` or `bit` counts bits. Parts of a byte round up.
 * `none` and `unlimited` are 0. Anything else, or more than u64::MAX, is `InvalidNumberValue` (84).
 */
export function parseByteSize(text: string): bigint {
  if (zeroWords.has(text)) return 0n;
  return parseSize(text) ?? refuseText("byte size", text);
}

function parseSize(text: string): bigint | undefined {
  const match = /^([0-9]{1,20})(?:\.([0-9]{1,20}))?\s*(?:([kmgtpe])(i?))?(B|b|bit)?$/i.exec(text);
  const [, whole, fraction = "", prefix = "", binary = "", unit = "B"] = match ?? [];
  if (whole === undefined || !isUnitSpelling(binary, unit)) return undefined;
  const power = prefixes.findIndex((candidate) => candidate === prefix.toUpperCase());
  const size = (binary === "" ? 1000n : 1024n) ** BigInt(power);
  const divisor = 10n ** BigInt(fraction.length) * (unit === "B" ? 1n : 8n);
  const bytes = (BigInt(whole + fraction) * size + divisor - 1n) / divisor;
  return bytes <= U64_MAX ? bytes : undefined;
}

// Only the prefix takes either case: B is bytes, b is bits.
const isUnitSpelling = (binary: string, unit: string): boolean =>
  (binary === "" || binary === "i") && (unit === "B" || unit === "b" || unit === "bit");

/** Two decimals of the largest decimal unit that the size reaches: `1.07 GB`, `999 B`. */
export function formatByteSize(bytes: bigint): string {
  if (bytes < 1000n) return `${String(bytes)} B`;
  let power = 1;
  while (power < prefixes.length - 1 && bytes >= 1000n ** BigInt(power + 1)) power++;
  return `${(Number(bytes) / 1000 ** power).toFixed(2)} ${prefixes[power] ?? ""}B`;
}

/** Decimal and binary units by falling size: EiB, EB, PiB, …, KB. */
const jsonUnits = [6, 5, 4, 3, 2, 1].flatMap((power) => [
  { name: `${prefixes[power] ?? ""}iB`, size: 1024n ** BigInt(power) },
  { name: `${prefixes[power] ?? ""}B`, size: 1000n ** BigInt(power) },
]);

/** The exact form of JSON: the largest unit that takes at most three decimals, `1.5 GiB`, `1048.577 KB`, `512 B`. */
export function byteSizeJson(bytes: bigint): string {
  const unit = jsonUnits.find(({ size }) => bytes >= size && (bytes * 1000n) % size === 0n);
  if (unit === undefined) return `${String(bytes)} B`;
  const thousandths = (bytes * 1000n) / unit.size;
  const decimals = String(thousandths % 1000n)
    .padStart(3, "0")
    .replace(/0+$/, "");
  return `${String(thousandths / 1000n)}${decimals === "" ? "" : `.${decimals}`} ${unit.name}`;
}

/** Cap of a topic in bytes that means the default of the server. */
export const TOPIC_SIZE_SERVER_DEFAULT = 0n;
/** Cap of a topic in bytes that means none. */
export const TOPIC_SIZE_UNLIMITED = U64_MAX;

/** Bytes of a topic size text: exactly `unlimited` is no cap, `server_default` 0, anything else a byte size. */
export function parseTopicSize(text: string): bigint {
  if (text === "unlimited") return TOPIC_SIZE_UNLIMITED;
  return text === "server_default" ? TOPIC_SIZE_SERVER_DEFAULT : parseByteSize(text);
}

export function formatTopicSize(bytes: bigint): string {
  if (bytes === TOPIC_SIZE_SERVER_DEFAULT) return "server_default";
  return bytes === TOPIC_SIZE_UNLIMITED ? "unlimited" : formatByteSize(bytes);
}
