/** What the multi-tenant producer and consumer read from the environment. */
export const settings = {
  tenants: count("TENANTS_COUNT", 3),
  /** Producers of each topic of a tenant. */
  producers: count("PRODUCERS_COUNT", 3),
  partitions: count("PARTITIONS_COUNT", 3),
  /** Members of the consumer group of each topic of a tenant. */
  consumers: count("CONSUMERS_COUNT", 1),
  /** Check that no tenant reaches the stream of another one. */
  ensureAccess: (process.env["ENSURE_ACCESS"] ?? "true") === "true",
};

export const TOPICS = ["events", "logs", "notifications"];
export const PASSWORD = "secret";

export interface Tenant {
  readonly number: number;
  readonly stream: string;
}

export const tenants: Tenant[] = Array.from({ length: settings.tenants }, (_, index) => ({
  number: index + 1,
  stream: `tenant-${index + 1}-stream`,
}));

function count(variable: string, fallback: number): number {
  const text = process.env[variable];
  if (text === undefined) return fallback;
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`${variable} takes a number from 1 to 9999, not ${text}`);
  return Number(text);
}
