/** Variables the server reads itself, beside the overrides of configuration keys. */
export const PROCESS_VARIABLES = [
  "IGGY_CONFIG_PATH",
  "IGGY_ENV_PATH",
  "IGGY_DISPLAY_CONFIG",
  "IGGY_ROOT_USERNAME",
  "IGGY_ROOT_PASSWORD",
  "IGGY_SHARD_RUNTIME_CAPACITY",
  "IGGY_SHARD_EVENT_INTERVAL",
] as const;

/** Variables of clients and test runs, which may stand in the same environment. */
const FOREIGN_VARIABLES: ReadonlySet<string> = new Set([
  "IGGY_TEST_VERBOSE",
  "IGGY_TEST_CLUSTER_NODES",
  "IGGY_TEST_CLEANUP_DISABLED",
  "IGGY_CI_BUILD",
  "IGGY_HOME",
  "IGGY_USERNAME",
  "IGGY_PASSWORD",
]);

/** Other programs of the family own these and check them themselves. */
const FOREIGN_PREFIXES = ["IGGY_CONNECTORS_", "IGGY_KAFKA_", "IGGY_MCP_"];

export function isForeignVariable(name: string): boolean {
  return FOREIGN_VARIABLES.has(name) || FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** An environment: names to values. An empty value counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function variable(environment: Environment, name: string): string | undefined {
  const value = environment[name];
  return value === "" ? undefined : value;
}
