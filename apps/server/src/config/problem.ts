import { SECRET_MASK } from "./secret.js";

/** One thing that keeps the server from starting: the full dotted key or variable, the offending value, the rule. */
export interface ConfigProblem {
  readonly key: string;
  /** The value as the operator wrote it, masked when the key is a secret; absent when there is none to show. */
  readonly value?: string;
  readonly rule: string;
  /** Where the value came from, such as `config.toml` or an environment variable. */
  readonly source?: string;
}

/** A refused start. Carries every problem found in one pass, so that nobody repairs them one start at a time. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const list = problems.map((problem) => `  - ${describeProblem(problem)}`).join("\n");
    super(`the configuration has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n${list}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

export function describeProblem(problem: ConfigProblem): string {
  const value = problem.value === undefined ? "" : ` = ${problem.value}`;
  const source = problem.source === undefined ? "" : ` (${problem.source})`;
  return `${problem.key}${value}${source}: ${problem.rule}`;
}

/** Longest piece of an offending value that a message repeats. */
const SHOWN_VALUE_MAX = 120;

/** An offending value as a message shows it. */
export function shownValue(value: unknown, isSecret: boolean): string {
  if (isSecret) return SECRET_MASK;
  const text = typeof value === "bigint" ? value.toString() : JSON.stringify(value, bigintAsText);
  return text.length > SHOWN_VALUE_MAX ? `${text.slice(0, SHOWN_VALUE_MAX)}...` : text;
}

function bigintAsText(_: string, item: unknown): unknown {
  return typeof item === "bigint" ? item.toString() : item;
}
