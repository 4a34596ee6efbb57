import type { ServerConfig } from "../keys.js";

/** What a rule may ask about the machine. */
export interface RuleHost {
  fileExists(path: string): boolean;
  /** Numbers of the cores this process may run on. */
  readonly allowedCores: readonly number[];
}

/** A condition between keys, and what the operator reads when it does not hold. */
export interface Rule {
  /** The key the operator has to change. */
  readonly key: string;
  readonly breaks: (config: ServerConfig, host: RuleHost) => boolean;
  readonly says: string | ((config: ServerConfig) => string);
}

export function rule(key: string, breaks: Rule["breaks"], says: Rule["says"]): Rule {
  return { key, breaks, says };
}
