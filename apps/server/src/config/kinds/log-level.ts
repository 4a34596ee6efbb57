import { refuse, tomlString, type Kind } from "./kind.js";

/** Levels an operator may name, most talkative first. `none` is another word for `off`. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "off", "none"] as const;
export type LogLevel = Exclude<(typeof LOG_LEVELS)[number], "none">;

/** The level of everything, and of the parts of the server that are named apart. */
export interface LogDirectives {
  readonly level: LogLevel;
  readonly targets: ReadonlyMap<string, LogLevel>;
}

export const logDirectivesKind: Kind<LogDirectives, "none"> = {
  name: "log level",
  unit: "none",
  fromToml: (value) => (typeof value === "string" ? parseLogDirectives(value) : refuse("must be a text in quotes")),
  fromText: parseLogDirectives,
  toToml: ({ level, targets }) =>
    tomlString([level, ...[...targets].map(([target, targetLevel]) => `${target}=${targetLevel}`)].join(",")),
};

/** `level`, or comma-separated `target=level` with at most one bare level for the rest (`info` without one). */
export function parseLogDirectives(text: string): LogDirectives {
  let level: LogLevel | undefined;
  const targets = new Map<string, LogLevel>();
  for (const directive of text.split(",").map((part) => part.trim())) {
    const separator = directive.lastIndexOf("=");
    if (separator === -1) {
      const parsed = parseLevel(directive);
      level = level === undefined ? parsed : refuse("names two levels for everything");
    } else {
      const target = directive.slice(0, separator).trim();
      if (!/^[\w:.-]+$/.test(target)) refuse(`has ${JSON.stringify(target)} where the name of a part belongs`);
      targets.set(target, parseLevel(directive.slice(separator + 1).trim()));
    }
  }
  return { level: level ?? "info", targets };
}

function parseLevel(word: string): LogLevel {
  const lower = word.toLowerCase();
  const level = LOG_LEVELS.find((known) => known === lower);
  if (level === undefined) refuse(`has no level ${JSON.stringify(word)}; the levels are ${LOG_LEVELS.join(", ")}`);
  return level === "none" ? "off" : level;
}
