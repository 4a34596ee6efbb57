import type { TomlValue } from "smol-toml";

/** What a number counts when its key's name does not say so; becomes part of the property name (`intervalMillis`). */
export type Unit = "none" | "millis" | "bytes";

/**
 * The form of a value: how it reads from TOML and from an environment variable, and how it is written back. Readers
 * throw `ValueRefused` and nothing else; `toToml` gives a TOML literal that reads back as the same value.
 */
export interface Kind<T, U extends Unit = Unit> {
  /** The word for the documentation, such as `duration`. */
  readonly name: string;
  readonly unit: U;
  fromToml(value: TomlValue): T;
  fromText(text: string): T;
  toToml(value: T): string;
}

/** A value that breaks the rule of its kind; the message is the rule, without key and value. */
export class ValueRefused extends Error {
  constructor(rule: string) {
    super(rule);
    this.name = "ValueRefused";
  }
}

export function refuse(rule: string): never {
  throw new ValueRefused(rule);
}

/** A TOML basic string. JSON escapes are a subset of TOML's, except for DEL, which TOML wants escaped. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

/** Bounds of a number, both inclusive. `orZero` additionally admits 0, which then has a meaning of its own. */
export interface Bounds {
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
  readonly orZero?: boolean;
}

export function withinBounds(value: number, bounds: Bounds, show: (value: number) => string): number {
  if (bounds.orZero === true && value === 0) return value;
  const orZero = bounds.orZero === true ? ", or 0" : "";
  if (bounds.above !== undefined && value <= bounds.above) refuse(`must be above ${show(bounds.above)}${orZero}`);
  if (bounds.min !== undefined && value < bounds.min) refuse(`must be at least ${show(bounds.min)}${orZero}`);
  if (bounds.max !== undefined && value > bounds.max) refuse(`must be at most ${show(bounds.max)}`);
  return value;
}
