import {
  byteSizeJson,
  EXPIRY_NEVER,
  EXPIRY_SERVER_DEFAULT,
  formatDuration,
  formatExpiry,
  parseByteSize,
  parseDuration,
  parseExpiry,
} from "@iggy/protocol";
import type { TomlValue } from "smol-toml";
import { refuse, tomlString, withinBounds, type Bounds, type Kind } from "./kind.js";

/** Bounds written as an operator writes them, such as `{ min: "1 s", orZero: true }`. */
export interface TextBounds {
  readonly min?: string;
  readonly max?: string;
  readonly above?: string;
  readonly orZero?: boolean;
}

const DURATION_RULE = 'must be a duration in quotes with its unit, such as "30 s", "500 ms" or "1 h 30 m"';

/** Milliseconds; a fraction carries microseconds. */
export function durationKind(textBounds: TextBounds): Kind<number, "millis"> {
  const bounds = numericBounds(textBounds, parseMillis);
  const check = (text: string): number => withinBounds(parseMillis(text), bounds, showMillis);
  return {
    name: "duration",
    unit: "millis",
    fromToml: (value) => (typeof value === "string" ? check(value) : refuse(DURATION_RULE)),
    fromText: check,
    toToml: (millis) => tomlString(showMillis(millis)),
  };
}

function parseMillis(text: string): number {
  // Case does not matter here, so `M` is a minute; only an expiry knows it as the month.
  const micros = attempt(() => parseDuration(text.toLowerCase()), DURATION_RULE);
  return micros > BigInt(Number.MAX_SAFE_INTEGER) ? refuse("is too long") : Number(micros) / 1000;
}

function showMillis(millis: number): string {
  return formatDuration(BigInt(microsOf(millis)));
}

/**
 * The whole microseconds that read as these milliseconds. From about 35 years on, the product is off by up to two, so the
 * neighbours are tried.
 */
function microsOf(millis: number): number {
  const nearest = Math.round(millis * 1000);
  const candidates = [0, -1, 1, -2, 2].map((step) => nearest + step);
  return candidates.find((micros) => micros / 1000 === millis) ?? nearest;
}

const SIZE_RULE = 'must be a number of bytes or a size in quotes with its unit, such as "64 MiB" or "1.5 GB"';

export interface SizeBounds extends TextBounds {
  readonly multipleOf?: number;
  /** Admits `unlimited` and `none` for 0. */
  readonly words?: boolean;
}

/** Bytes. */
export function sizeKind(textBounds: SizeBounds): Kind<number, "bytes"> {
  const { multipleOf, words = false } = textBounds;
  const bounds = numericBounds(textBounds, (text) => parseSize(text, false));
  const check = (bytes: number): number => {
    if (multipleOf !== undefined && bytes % multipleOf !== 0) refuse(`must be a multiple of ${multipleOf} bytes`);
    return withinBounds(bytes, bounds, showSize);
  };
  return {
    name: "size",
    unit: "bytes",
    fromToml: (value: TomlValue) => {
      if (typeof value === "bigint") return check(parseSize(String(value), false));
      return typeof value === "string" ? check(parseSize(value, words)) : refuse(SIZE_RULE);
    },
    fromText: (text) => check(parseSize(text, words)),
    toToml: (bytes) => tomlString(showSize(bytes)),
  };
}

function parseSize(text: string, allowsWords: boolean): number {
  if (!allowsWords && /^[a-z]+$/i.test(text)) refuse(SIZE_RULE);
  const bytes = attempt(() => parseByteSize(text.replace(/bits$/, "bit")), SIZE_RULE);
  return bytes > BigInt(Number.MAX_SAFE_INTEGER) ? refuse("is too large") : Number(bytes);
}

/** The size in a unit that states it exactly. */
function showSize(bytes: number): string {
  return byteSizeJson(BigInt(bytes));
}

const EXPIRY_RULE = 'must be a duration such as "1 h", "never_expire" or "server_default"';

/** When something ends by itself: microseconds after its creation, or one of the two words. */
export type ExpirySetting = "never" | "server_default" | { readonly micros: bigint };

export const expiryKind: Kind<ExpirySetting, "none"> = {
  name: "expiry",
  unit: "none",
  fromToml: (value) => (typeof value === "string" ? parseExpirySetting(value) : refuse(EXPIRY_RULE)),
  fromText: parseExpirySetting,
  toToml: (expiry) => {
    if (typeof expiry === "object") return tomlString(formatDuration(expiry.micros));
    return tomlString(formatExpiry(expiry === "never" ? EXPIRY_NEVER : EXPIRY_SERVER_DEFAULT));
  },
};

function parseExpirySetting(text: string): ExpirySetting {
  const micros = attempt(() => parseExpiry(text), EXPIRY_RULE);
  if (micros === EXPIRY_SERVER_DEFAULT) return "server_default";
  return micros === EXPIRY_NEVER ? "never" : { micros };
}

function numericBounds(bounds: TextBounds, parse: (text: string) => number): Bounds {
  return {
    ...(bounds.min === undefined ? {} : { min: parse(bounds.min) }),
    ...(bounds.max === undefined ? {} : { max: parse(bounds.max) }),
    ...(bounds.above === undefined ? {} : { above: parse(bounds.above) }),
    ...(bounds.orZero === undefined ? {} : { orZero: bounds.orZero }),
  };
}

/** Replaces whatever a parser says about a text by the rule of the kind. */
function attempt<T>(parse: () => T, rule: string): T {
  try {
    return parse();
  } catch {
    return refuse(rule);
  }
}
