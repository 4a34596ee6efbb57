import { parse, type TomlTable } from "smol-toml";
import { describe, expect, it } from "vitest";
import {
  CONFIG_LEAVES,
  CONFIG_SCHEMA,
  configVariables,
  currentConfigToml,
  referenceToml,
  withEnvFile,
  type ConfigPath,
  type ServerConfig,
} from "../../src/config/index.js";
import { propertyName } from "../../src/config/schema.js";
import { problemsOf, read } from "./read.js";

const SECRETS = [
  "encryption.key",
  "encryption.previous_keys",
  "http.jwt.encoding_secret",
  "http.jwt.decoding_secret",
  "cluster.auth.shared_secret",
  "cluster.auth.previous_shared_secret",
  "external_auth.url",
];

describe("table of keys", () => {
  it("gives every key one path, one variable and a description", () => {
    expect(new Set(CONFIG_LEAVES.map((leaf) => leaf.path)).size).toBe(CONFIG_LEAVES.length);
    expect(new Set(CONFIG_LEAVES.map((leaf) => leaf.variable)).size).toBe(CONFIG_LEAVES.length);
    for (const leaf of CONFIG_LEAVES) expect(leaf.key.description).toMatch(/^.+[.]$/);
  });

  it("knows the secrets", () => {
    expect(CONFIG_LEAVES.filter((leaf) => leaf.key.isSecret).map((leaf) => leaf.path)).toEqual(
      expect.arrayContaining(SECRETS),
    );
    expect(CONFIG_LEAVES.filter((leaf) => leaf.key.isSecret)).toHaveLength(SECRETS.length);
  });

  it("types the configuration by the names of the keys", () => {
    const path: ConfigPath = "consumer_group.rebalancing_timeout";
    const config: ServerConfig = read().config;
    const millis: number = config.consumerGroup.rebalancingTimeoutMillis;
    const bytes: number = config.sharding.deferredPollMaxReadBytes;
    const unset: number | undefined = config.messageBus.connectionsMax;
    expect([path, millis, bytes, unset]).toEqual([
      "consumer_group.rebalancing_timeout",
      30_000,
      16 * 2 ** 20,
      undefined,
    ]);
    expect(propertyName("repair_chunk_max", CONFIG_SCHEMA.children.cluster.children.repair_chunk_max)).toBe(
      "repairChunkMax",
    );
  });
});

describe("--list-config-env-vars", () => {
  const names = configVariables();

  it("is sorted and without repeats", () => {
    expect(names).toEqual([...new Set(names)].sort());
  });

  it.each([
    "IGGY_PATH",
    "IGGY_TCP_ADDRESS",
    "IGGY_HTTP_JWT_USE_BASE64_SECRET",
    "IGGY_CLUSTER_NODES_<N>_IP",
    "IGGY_CLUSTER_NODES_<N>_PORTS_TCP_REPLICA",
    "IGGY_CLUSTER_NODES_<N>_ADVERTISED_ADDRESSES_<N>_ADDRESS",
    "IGGY_HTTP_JWT_TRUSTED_ISSUERS_<N>_USERNAME",
    "IGGY_CONFIG_PATH",
    "IGGY_ENV_PATH",
    "IGGY_DISPLAY_CONFIG",
    "IGGY_ROOT_USERNAME",
    "IGGY_ROOT_PASSWORD",
    "IGGY_SHARD_RUNTIME_CAPACITY",
    "IGGY_SHARD_EVENT_INTERVAL",
  ])("holds %s", (name) => {
    expect(names).toContain(name);
  });

  it("holds nothing of the other programs", () => {
    expect(
      names.filter((name) => /^IGGY_(CI_BUILD|HOME|USERNAME|PASSWORD|TEST_|CONNECTORS_|KAFKA_|MCP_)/.test(name)),
    ).toEqual([]);
  });
});

describe("current_config.toml", () => {
  const secret = Buffer.alloc(32, 9).toString("base64");
  const toml = `
    path = 'with "quotes" and \\ backslash'
    [node]
    advertised_address = "Broker.Example"
    [tcp]
    address = "[::1]:0"
    [message_bus]
    connections_max = 10
    [heartbeat]
    interval = "1500 us"
    [partition]
    wal_bytes_max = ${128 * 2 ** 20 + 8192}
    [sharding]
    cpu_allocation = "numa:nodes=0;cores=2;no_ht=false"
    [logging]
    level = "warn,tcp=trace"
    [http.jwt]
    access_token_expiry = "never_expire"
    encoding_secret = "${secret}"
    [cluster.auth]
    shared_secret = "${secret}"
    [encryption]
    key = "${secret}"
    [external_auth]
    url = "https://user:${secret}@auth.example"
    [[cluster.nodes]]
    name = "n0"
    ip = "10.0.0.1"
    replica_id = 0
    advertised_addresses = [{ client_cidr = "10.0.0.0/8", address = "inside" }, { client_cidr = "fd00::/8", address = "six" }]
    ports = { tcp = 8090 }
  `;

  it("reads back to the same configuration, less its secrets", () => {
    const { config } = read({ toml });
    const written = currentConfigToml(config);
    const again = read({ toml: written }).config;
    expect(currentConfigToml(again)).toBe(written);
    expect(again.cluster.nodes).toEqual(config.cluster.nodes);
    expect(again.sharding).toEqual(config.sharding);
    expect(again.heartbeat.intervalMillis).toBe(1.5);
  });

  it("of the defaults reads back too", () => {
    const { config } = read();
    expect(read({ toml: currentConfigToml(config) }).config).toEqual(config);
  });

  it("names no secret key and no secret", () => {
    const written = currentConfigToml(read({ toml }).config);
    expect(written).not.toContain(secret);
    expect(written).not.toMatch(
      /^(key|url|shared_secret|previous_shared_secret|encoding_secret|decoding_secret|previous_keys) =/m,
    );
  });

  it("shows the address that was really bound", () => {
    const { config } = read({ toml });
    const bound = { ...config, tcp: { ...config.tcp, address: { host: "::1", port: 41_234 } } };
    expect(parse(currentConfigToml(bound))["tcp"]).toMatchObject({ address: "[::1]:41234" });
  });
});

describe("reference file", () => {
  it("changes nothing as it is", () => {
    expect(read({ toml: referenceToml() }).config).toEqual(read().config);
  });

  it("lists every key with its default", () => {
    const uncommented = referenceToml()
      .split("\n")
      .filter((line) => !/^# /.test(line) && !/# (required|unset)$/.test(line) && !line.includes("[["))
      .map((line) => line.replace(/^#/, ""));
    const withoutRoster = uncommented.join("\n").replaceAll(/\[cluster\.nodes\.ports\]\n/g, "");
    const table: TomlTable = parse(withoutRoster, { integersAsBigInt: true });
    expect(table["heartbeat"]).toEqual({ enabled: true, interval: "30s" });
    expect(problemsOf({ toml: withoutRoster }).filter((problem) => problem.includes("unknown key"))).toEqual([]);
    for (const leaf of CONFIG_LEAVES) expect(referenceToml()).toContain(`#${leaf.path.split(".").at(-1) ?? ""} = `);
  });

  it("is the file that ships beside the server", async () => {
    await expect(referenceToml()).toMatchFileSnapshot("../../config.reference.toml");
  });
});

describe("dotenv file", () => {
  const files: Readonly<Record<string, string>> = {
    "/srv/.env": 'IGGY_PATH=from-file\nIGGY_ROOT_PASSWORD="with space" # note\nexport IGGY_CLUSTER_NAME=x\nnonsense\n',
    "/etc/iggy.env": "IGGY_PATH=other",
  };
  const readText = (path: string): string | undefined => files[path];

  it("adds variables, and the environment wins", () => {
    const environment = withEnvFile({ IGGY_PATH: "from-environment" }, "/srv", readText);
    expect(environment).toMatchObject({
      IGGY_PATH: "from-environment",
      IGGY_ROOT_PASSWORD: "with space",
      IGGY_CLUSTER_NAME: "x",
    });
  });

  it("may be named by IGGY_ENV_PATH", () => {
    expect(withEnvFile({ IGGY_ENV_PATH: "/etc/iggy.env" }, "/srv", readText)["IGGY_PATH"]).toBe("other");
  });

  it("adds nothing when it is missing or unreadable", () => {
    expect(withEnvFile({}, "/elsewhere", readText)).toEqual({});
    const denied = (): string => {
      throw new Error("EACCES");
    };
    expect(withEnvFile({ A: "b" }, "/srv", denied)).toEqual({ A: "b" });
  });
});
