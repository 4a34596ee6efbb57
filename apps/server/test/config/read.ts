import {
  ConfigError,
  readSettings,
  type ConfigOverrides,
  type Settings,
  type SettingsHost,
} from "../../src/config/index.js";

/** A machine with four cores and the given files; everything below `/work` that is not listed is missing. */
export function machine(files: Readonly<Record<string, string>> = {}, isInContainer = false): SettingsHost {
  return {
    readText: (path) => files[path],
    fileExists: (path) => path in files,
    listDirectory: (path) => {
      const below = Object.keys(files).filter((name) => name.startsWith(`${path}/`));
      const names = below.map((name) => name.slice(path.length + 1).split("/", 1)[0] ?? "");
      return names.length === 0 ? undefined : [...new Set(names)];
    },
    allowedCores: [0, 1, 2, 3],
    isInContainer,
    workingDirectory: "/srv",
  };
}

export interface Start {
  readonly toml?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly overrides?: ConfigOverrides;
  readonly files?: Readonly<Record<string, string>>;
  readonly isInContainer?: boolean;
  readonly arguments?: Partial<{
    fresh: boolean;
    withDefaultRootCredentials: boolean;
    replicaId: number;
    configFile: string;
  }>;
}

/** Reads the settings of a start with root credentials that passes unless the test breaks something. */
export function read(start: Start = {}): Settings {
  const files = { ...(start.toml === undefined ? {} : { "/srv/config.toml": start.toml }), ...start.files };
  return readSettings(
    {
      arguments: { fresh: false, withDefaultRootCredentials: false, ...start.arguments },
      environment: { IGGY_ROOT_USERNAME: "root", IGGY_ROOT_PASSWORD: "secret", ...start.environment },
      ...(start.overrides === undefined ? {} : { overrides: start.overrides }),
    },
    machine(files, start.isInContainer),
  );
}

/** The problems of a refused start, one line each; empty when it was not refused. */
export function problemsOf(start: Start): string[] {
  try {
    read(start);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split("\n").slice(1);
  }
}
