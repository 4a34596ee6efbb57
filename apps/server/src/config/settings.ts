import { join, resolve } from "node:path";
import type { RunArguments } from "./arguments.js";
import { assemble } from "./assemble.js";
import { readEnvironmentLayer } from "./environment-layer.js";
import { CONFIG_LEAVES, CONFIG_SCHEMA, type ConfigPath, type ServerConfig } from "./keys.js";
import { ValueRefused } from "./kinds/kind.js";
import { Layer } from "./layer.js";
import { configNotices, type Notice } from "./notices.js";
import { ConfigError, shownValue, type ConfigProblem } from "./problem.js";
import { variable, type Environment } from "./process-variables.js";
import { readRootCredentials, type RootCredentials } from "./root-credentials.js";
import { CONFIG_RULES } from "./rules.js";
import type { RuleHost } from "./rules/rule.js";
import { SECRET_MASK } from "./secret.js";
import { readTomlLayer } from "./toml-layer.js";
import { unavailableNotices, unavailableProblems } from "./unavailable.js";

/** Values for single keys, in the same forms as in the environment: `{ "tcp.address": "127.0.0.1:0" }`. */
export type ConfigOverrides = Readonly<Partial<Record<ConfigPath, string | number | boolean>>>;

/** What reading the settings may ask of the machine. */
export interface SettingsHost extends RuleHost {
  /** The text of a file, or undefined when there is none. Throws when it is there but cannot be read. */
  readText(path: string): string | undefined;
  /** Names in a directory, or undefined when there is none. */
  listDirectory(path: string): readonly string[] | undefined;
  readonly isInContainer: boolean;
  readonly workingDirectory: string;
}

export interface SettingsInput {
  readonly arguments: RunArguments;
  readonly environment: Environment;
  /** Win over everything else. */
  readonly overrides?: ConfigOverrides;
}

/** Everything the start needs to know. */
export interface Settings {
  readonly config: ServerConfig;
  /** Absolute. */
  readonly dataDirectory: string;
  readonly fresh: boolean;
  readonly rootCredentials: RootCredentials | undefined;
  /** Cores that the process may use. */
  readonly allowedCores: readonly number[];
  /** To be logged once the log is open. */
  readonly notices: readonly Notice[];
  /** The keys that were set, with their values as TOML and secrets masked; all others have their defaults. */
  readonly setKeys: ReadonlyMap<string, string>;
  /** `IGGY_DISPLAY_CONFIG`: whether the log shows `setKeys`. */
  readonly showsConfig: boolean;
}

/**
 * Reads and checks everything an operator can set. Changes nothing.
 * @throws ConfigError with every problem found: file, environment, rules, credentials and arguments together.
 */
export function readSettings(input: SettingsInput, host: SettingsHost): Settings {
  const problems: ConfigProblem[] = [];
  const file = readConfigFile(input, host, problems);
  const environmentLayer = readEnvironmentLayer(input.environment, problems);
  const layer = file.layer;
  layer.overlay(environmentLayer);
  layer.overlay(readRustLog(input.environment, problems));
  layer.overlay(readOverrides(input.overrides ?? {}, problems));

  const config = assemble(CONFIG_SCHEMA, layer, problems);
  checkRules(config, layer, host, problems);
  const sources = new Map([...layer.entries].map(([path, entry]) => [path, entry.source]));
  problems.push(...unavailableProblems(config, sources), ...replicaIdProblems(input.arguments, config));

  const dataDirectory = resolve(host.workingDirectory, config.path);
  const { fresh, withDefaultRootCredentials } = input.arguments;
  const mustCreateRoot = fresh || !host.fileExists(join(dataDirectory, "metadata"));
  const root = readRootCredentials(input.environment, withDefaultRootCredentials, mustCreateRoot);
  problems.push(...root.problems);
  if (fresh) problems.push(...wipeProblems(dataDirectory, host));
  if (problems.length > 0) throw new ConfigError(problems);

  const setKeys = shownSettings(layer);
  return {
    config,
    dataDirectory,
    fresh,
    rootCredentials: root.credentials,
    allowedCores: host.allowedCores,
    notices: [
      ...file.notices,
      ...overrideNotices(environmentLayer),
      ...root.notices,
      ...unavailableNotices(config, sources),
      ...configNotices(config, host.isInContainer),
    ],
    setKeys,
    showsConfig: ["1", "true"].includes((variable(input.environment, "IGGY_DISPLAY_CONFIG") ?? "true").toLowerCase()),
  };
}

/** Configuration file when neither `--config` nor IGGY_CONFIG_PATH names one. */
const DEFAULT_CONFIG_FILE = "config.toml";

function readConfigFile(
  input: SettingsInput,
  host: SettingsHost,
  problems: ConfigProblem[],
): { layer: Layer; notices: Notice[] } {
  const fromArguments = input.arguments.configFile;
  const named = fromArguments ?? variable(input.environment, "IGGY_CONFIG_PATH");
  const name = named ?? DEFAULT_CONFIG_FILE;
  try {
    const text = host.readText(resolve(host.workingDirectory, name));
    if (text !== undefined) return { layer: readTomlLayer(text, name, problems), notices: [info(`read ${name}`)] };
    if (fromArguments !== undefined) problems.push({ key: "--config", value: name, rule: "does not exist" });
  } catch (error) {
    problems.push({ key: name, rule: `cannot be read: ${error instanceof Error ? error.message : String(error)}` });
  }
  const missing = `there is no ${name}: the defaults apply`;
  return { layer: new Layer(), notices: [named === undefined ? info(missing) : { level: "warn", message: missing }] };
}

function readRustLog(environment: Environment, problems: ConfigProblem[]): Layer {
  const text = variable(environment, "RUST_LOG");
  return text === undefined ? new Layer() : readTexts([["logging.level", text]], "RUST_LOG", problems);
}

function readOverrides(overrides: ConfigOverrides, problems: ConfigProblem[]): Layer {
  const texts = Object.entries(overrides).map(([path, value]): [string, string] => [path, String(value)]);
  return readTexts(texts, "options", problems);
}

function readTexts(texts: readonly [path: string, text: string][], source: string, problems: ConfigProblem[]): Layer {
  const layer = new Layer();
  for (const [path, text] of texts) {
    const leaf = CONFIG_LEAVES.find((candidate) => candidate.path === path);
    try {
      if (leaf === undefined) problems.push({ key: path, source, rule: "unknown key" });
      else layer.set(path, { value: leaf.key.kind.fromText(text), source });
    } catch (error) {
      if (!(error instanceof ValueRefused)) throw error;
      problems.push({ key: path, value: shownValue(text, leaf?.key.isSecret ?? false), source, rule: error.message });
    }
  }
  return layer;
}

function checkRules(config: ServerConfig, layer: Layer, host: SettingsHost, problems: ConfigProblem[]): void {
  const faulty = problems.map((problem) => problem.key);
  const resolving: RuleHost = {
    allowedCores: host.allowedCores,
    fileExists: (path) => host.fileExists(resolve(host.workingDirectory, path)),
  };
  for (const { key, breaks, says } of CONFIG_RULES) {
    // A key that could not be read has its default here, and an array of tables has holes: neither is worth a rule.
    if (faulty.some((other) => other === key || other.startsWith(`${key}[`)) || !breaks(config, resolving)) continue;
    const leaf = CONFIG_LEAVES.find((candidate) => candidate.path === key);
    const entry = layer.entries.get(key);
    const value = entry?.value ?? leaf?.key.default?.value;
    problems.push({
      key,
      ...(leaf === undefined || value === undefined
        ? {}
        : { value: leaf.key.isSecret ? SECRET_MASK : leaf.key.kind.toToml(value) }),
      source: entry?.source ?? "default",
      rule: typeof says === "string" ? says : says(config),
    });
  }
}

function replicaIdProblems({ replicaId }: RunArguments, { cluster }: ServerConfig): ConfigProblem[] {
  if (!cluster.enabled) {
    return replicaId === undefined || replicaId === 0
      ? []
      : [{ key: "--replica-id", value: String(replicaId), rule: "must be 0 or absent while `cluster.enabled` is off" }];
  }
  if (replicaId === undefined) return [{ key: "--replica-id", rule: "is needed while `cluster.enabled` is on" }];
  return cluster.nodes.some((node) => node.replicaId === replicaId)
    ? []
    : [{ key: "--replica-id", value: String(replicaId), rule: "names no node of `cluster.nodes`" }];
}

/** Names by which a data directory, of any version, is known. */
const DATA_DIRECTORY_NAMES = ["metadata", "streams", "state", "partition-initialization", "runtime", "logs"];

/** `--fresh` deletes a directory with everything in it, so a mistyped path must not cost somebody's files. */
function wipeProblems(dataDirectory: string, host: SettingsHost): ConfigProblem[] {
  const refused = (rule: string): ConfigProblem[] => [{ key: "--fresh", value: dataDirectory, rule }];
  if (`${host.workingDirectory}/`.startsWith(dataDirectory === "/" ? "/" : `${dataDirectory}/`)) {
    return refused("would delete the working directory; give the data a directory of its own with `path`");
  }
  const names = host.listDirectory(dataDirectory) ?? [];
  return names.length === 0 || names.some((name) => DATA_DIRECTORY_NAMES.includes(name))
    ? []
    : refused("does not look like a data directory, and is not deleted; empty it by hand if it is meant");
}

/** The set keys with masked secrets, in the order of their paths. */
function shownSettings(layer: Layer): Map<string, string> {
  const shown = [...layer.entries].map(([path, { value }]): [string, string] => {
    const leaf = leafAt(path);
    return [path, leaf === undefined || leaf.key.isSecret ? SECRET_MASK : leaf.key.kind.toToml(value)];
  });
  return new Map(shown.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function overrideNotices(layer: Layer): Notice[] {
  const shown = shownSettings(layer);
  return [...layer.entries].map(([path, entry]) => info(`${entry.source} sets ${path} = ${shown.get(path) ?? ""}`));
}

function leafAt(path: string) {
  const declared = path.replaceAll(/\[\d+\]/g, "[]");
  return CONFIG_LEAVES.find((leaf) => leaf.path === declared);
}

function info(message: string): Notice {
  return { level: "info", message };
}
