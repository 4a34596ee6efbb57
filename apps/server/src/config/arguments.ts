/** What the command line asks for. */
export type Command =
  | ({ readonly command: "run" } & RunArguments)
  | { readonly command: "list-config-env-vars" }
  | { readonly command: "help" }
  | { readonly command: "version" }
  /** Nothing may be printed to stdout; the message goes to stderr and the exit status is 2. */
  | { readonly command: "refuse"; readonly message: string };

export interface RunArguments {
  readonly fresh: boolean;
  readonly withDefaultRootCredentials: boolean;
  readonly replicaId?: number;
  readonly configFile?: string;
}

const OPTIONS = [
  { names: ["-f", "--fresh"], value: undefined, help: "Delete the data directory, then start on empty state" },
  {
    names: ["--with-default-root-credentials"],
    value: undefined,
    help: "Create the root user as iggy / iggy unless the environment names it. Insecure",
  },
  { names: ["--replica-id"], value: "N", help: "This node's entry in cluster.nodes, 0 to 255" },
  { names: ["--config"], value: "FILE", help: "Configuration file, instead of IGGY_CONFIG_PATH or config.toml" },
  { names: ["--list-config-env-vars"], value: undefined, help: "Print every environment variable and exit" },
  { names: ["-h", "--help"], value: undefined, help: "Print this text and exit" },
  { names: ["-V", "--version"], value: undefined, help: "Print the version and exit" },
] as const;

const REPLICA_ID_MAX = 255;

/** Reads the arguments after the program's name. Never throws; what it does not know comes back as `refuse`. */
export function parseArguments(argv: readonly string[]): Command {
  const given = new Map<string, string>();
  for (let at = 0; at < argv.length; at++) {
    const argument = argv[at] ?? "";
    const [name, inline] = splitInline(argument);
    const option = OPTIONS.find((candidate) => candidate.names.some((known) => known === name));
    if (option === undefined) return refusal(`unexpected argument '${argument}'`);
    const canonical = option.names.at(-1) ?? name;
    if (given.has(canonical)) return refusal(`the argument '${canonical}' cannot be used twice`);
    if (option.value === undefined) {
      if (inline !== undefined) return refusal(`the argument '${canonical}' takes no value, in '${argument}'`);
      given.set(canonical, "");
      continue;
    }
    const value = inline ?? argv[++at];
    if (value === undefined || value === "") return refusal(`the argument '${canonical}' needs a value`);
    given.set(canonical, value);
  }
  return commandOf(given);
}

function commandOf(given: ReadonlyMap<string, string>): Command {
  if (given.has("--help")) return { command: "help" };
  if (given.has("--version")) return { command: "version" };
  const replicaText = given.get("--replica-id");
  const replicaId = replicaText === undefined ? undefined : parseReplicaId(replicaText);
  if (replicaText !== undefined && replicaId === undefined) {
    return refusal(`invalid value '${replicaText}' for '--replica-id': must be a number from 0 to ${REPLICA_ID_MAX}`);
  }
  if (given.has("--list-config-env-vars")) return { command: "list-config-env-vars" };
  const configFile = given.get("--config");
  return {
    command: "run",
    fresh: given.has("--fresh"),
    withDefaultRootCredentials: given.has("--with-default-root-credentials"),
    ...(replicaId === undefined ? {} : { replicaId }),
    ...(configFile === undefined ? {} : { configFile }),
  };
}

function parseReplicaId(text: string): number | undefined {
  const id = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  return id <= REPLICA_ID_MAX ? id : undefined;
}

/** `--name=value` as name and value; anything else is a name alone. */
function splitInline(argument: string): [string, string | undefined] {
  const separator = argument.startsWith("--") ? argument.indexOf("=") : -1;
  return separator === -1 ? [argument, undefined] : [argument.slice(0, separator), argument.slice(separator + 1)];
}

function refusal(message: string): Command {
  return { command: "refuse", message: `error: ${message}\n\n${usageText()}` };
}

export function usageText(): string {
  const rows = OPTIONS.map(({ names, value, help }) => ({
    left: `${names.length > 1 ? "" : "    "}${names.join(", ")}${value === undefined ? "" : ` <${value}>`}`,
    help,
  }));
  const width = Math.max(...rows.map(({ left }) => left.length));
  const lines = rows.map(({ left, help }) => `  ${left.padEnd(width)}  ${help}`);
  return `Usage: iggy-server [OPTIONS]\n\nOptions:\n${lines.join("\n")}\n`;
}
