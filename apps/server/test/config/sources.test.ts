import { describe, expect, it } from "vitest";
import { machine, problemsOf, read } from "./read.js";
import { readSettings } from "../../src/config/index.js";

describe("defaults", () => {
  it("need no file and no variable", () => {
    const { config, dataDirectory, setKeys } = read();
    expect(config.tcp.address).toEqual({ host: "127.0.0.1", port: 8090 });
    expect(config.heartbeat.intervalMillis).toBe(30_000);
    expect(config.messageBus.maxMessageSizeBytes).toBe(64 * 2 ** 20);
    expect(config.partition.walBytesMax).toBe(256 * 2 ** 20);
    expect(config.node.advertisedAddress).toBeUndefined();
    expect(config.cluster.nodes).toEqual([]);
    expect(dataDirectory).toBe("/srv/local_data");
    expect(setKeys.size).toBe(0);
  });
});

describe("precedence", () => {
  const toml = `
    path = "from-file"
    [tcp]
    address = "127.0.0.1:1"
    [http.cors]
    allowed_origins = ["https://file.example", "https://second.example"]
  `;

  it("the file changes single keys and leaves the others of its tables alone", () => {
    const { config } = read({ toml });
    expect(config.path).toBe("from-file");
    expect(config.tcp.address.port).toBe(1);
    expect(config.tcp.enabled).toBe(true);
  });

  it("the environment wins over the file, RUST_LOG over both, options over everything", () => {
    const start = {
      toml: `${toml}\n[logging]\nlevel = "warn"`,
      environment: { IGGY_PATH: "/var/env", IGGY_LOGGING_LEVEL: "error", RUST_LOG: "debug" },
    };
    expect(read(start).config.path).toBe("/var/env");
    expect(read(start).dataDirectory).toBe("/var/env");
    expect(read(start).config.logging.level.level).toBe("debug");
    const forced = read({
      ...start,
      overrides: { path: "/tmp/forced", "logging.level": "trace", "tcp.enabled": false },
    });
    expect(forced.config.path).toBe("/tmp/forced");
    expect(forced.config.logging.level.level).toBe("trace");
    expect(forced.config.tcp.enabled).toBe(false);
  });

  it("an empty variable counts as not set", () => {
    expect(read({ toml, environment: { IGGY_PATH: "", RUST_LOG: "" } }).config.path).toBe("from-file");
  });

  it("a list is replaced as a whole", () => {
    const environment = { IGGY_HTTP_CORS_ALLOWED_ORIGINS: '["https://env.example"]' };
    expect(read({ toml, environment }).config.http.cors.allowedOrigins).toEqual(["https://env.example"]);
  });

  it("an array of tables is replaced as a whole", () => {
    const file = `
      [[http.jwt.trusted_issuers]]
      issuer = "first"
      audience = "a"
      jwks_url = "https://first.example"
      username = "alice"
      [[http.jwt.trusted_issuers]]
      issuer = "second"
      audience = "a"
      jwks_url = "https://second.example"
      username = "bob"
    `;
    expect(read({ toml: file }).config.http.jwt.trustedIssuers).toHaveLength(2);
    const environment = {
      IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_ISSUER: "third",
      IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_AUDIENCE: "b",
      IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_JWKS_URL: "https://third.example",
      IGGY_HTTP_JWT_TRUSTED_ISSUERS_0_USERNAME: "carol",
    };
    expect(read({ toml: file, environment }).config.http.jwt.trustedIssuers).toEqual([
      { issuer: "third", audience: "b", jwksUrl: "https://third.example", username: "carol" },
    ]);
  });

  it("keys with underscores are found by name, not by splitting", () => {
    const { config } = read({
      environment: {
        IGGY_HTTP_JWT_USE_BASE64_SECRET: "true",
        IGGY_CONSUMER_GROUP_REBALANCING_TIMEOUT: "1 m",
        IGGY_DATA_MAINTENANCE_MESSAGES_CLEANER_ENABLED: "FALSE",
      },
    });
    expect(config.http.jwt.useBase64Secret).toBe(true);
    expect(config.consumerGroup.rebalancingTimeoutMillis).toBe(60_000);
    expect(config.dataMaintenance.messages.cleanerEnabled).toBe(false);
  });

  it("a text key takes any scalar's text", () => {
    const { config } = read({ environment: { IGGY_CLUSTER_NAME: "42", IGGY_HTTP_JWT_ENCODING_SECRET: "true" } });
    expect(config.cluster.name).toBe("42");
    expect(config.http.jwt.encodingSecret.reveal()).toBe("true");
  });
});

describe("roster in variables", () => {
  const node = (index: number): Record<string, string> => ({
    [`IGGY_CLUSTER_NODES_${index}_NAME`]: `node-${index}`,
    [`IGGY_CLUSTER_NODES_${index}_IP`]: `10.0.0.${index}`,
    [`IGGY_CLUSTER_NODES_${index}_REPLICA_ID`]: String(index),
    [`IGGY_CLUSTER_NODES_${index}_PORTS_TCP`]: "8090",
    [`IGGY_CLUSTER_NODES_${index}_ADVERTISED_ADDRESSES_0_CLIENT_CIDR`]: "192.168.0.0/16",
    [`IGGY_CLUSTER_NODES_${index}_ADVERTISED_ADDRESSES_0_ADDRESS`]: "Broker.example",
  });

  it("builds the nodes", () => {
    const { nodes } = read({ environment: { ...node(0), ...node(1) } }).config.cluster;
    expect(nodes.map(({ name, ip, replicaId }) => [name, ip, replicaId])).toEqual([
      ["node-0", "10.0.0.0", 0],
      ["node-1", "10.0.0.1", 1],
    ]);
    expect(nodes[1]?.ports.tcp).toBe(8090);
    expect(nodes[1]?.advertisedAddresses).toEqual([{ clientCidr: "192.168.0.0/16", address: "broker.example" }]);
  });

  it("a gap is an element that lacks its fields", () => {
    expect(problemsOf({ environment: { ...node(0), ...node(2) } })).toContain("  - cluster.nodes[1].name: is missing");
  });

  it.each(["IGGY_CLUSTER_NODES_256_NAME", "IGGY_CLUSTER_NODES_0_ADVERTISED_ADDRESSES_16_ADDRESS"])(
    "%s has an index that does not exist",
    (name) => {
      expect(problemsOf({ environment: { [name]: "x" } }).join()).toContain(`${name}: unknown variable`);
    },
  );
});

describe("configuration file", () => {
  it("is config.toml of the working directory, the one of IGGY_CONFIG_PATH, or the one of --config", () => {
    const files = {
      "/srv/config.toml": 'path = "default"',
      "/srv/other.toml": 'path = "variable"',
      "/etc/iggy.toml": 'path = "argument"',
    };
    expect(read({ files }).config.path).toBe("default");
    const environment = { IGGY_CONFIG_PATH: "other.toml" };
    expect(read({ files, environment }).config.path).toBe("variable");
    expect(read({ files, environment, arguments: { configFile: "/etc/iggy.toml" } }).config.path).toBe("argument");
  });

  it("may be missing, unless it was named on the command line", () => {
    expect(read().notices).toContainEqual({ level: "info", message: "there is no config.toml: the defaults apply" });
    const environment = { IGGY_CONFIG_PATH: "gone.toml" };
    expect(read({ environment }).notices).toContainEqual({
      level: "warn",
      message: "there is no gone.toml: the defaults apply",
    });
    expect(problemsOf({ arguments: { configFile: "gone.toml" } })).toEqual([
      "  - --config = gone.toml: does not exist",
    ]);
  });

  it("that cannot be read refuses the start", () => {
    const host = {
      ...machine(),
      readText: () => {
        throw new Error("EACCES: permission denied");
      },
    };
    const input = {
      arguments: { fresh: false, withDefaultRootCredentials: true },
      environment: {},
    };
    expect(() => readSettings(input, host)).toThrow("config.toml: cannot be read: EACCES: permission denied");
  });
});

describe("what the log shows", () => {
  it("names each override, with secrets masked", () => {
    const { notices } = read({
      environment: { IGGY_TCP_ADDRESS: "127.0.0.1:9", IGGY_HTTP_JWT_ENCODING_SECRET: "hunter2" },
    });
    const messages = notices.map((notice) => notice.message);
    expect(messages).toContain('IGGY_TCP_ADDRESS sets tcp.address = "127.0.0.1:9"');
    expect(messages).toContain("IGGY_HTTP_JWT_ENCODING_SECRET sets http.jwt.encoding_secret = ******");
    expect(JSON.stringify(notices)).not.toContain("hunter2");
  });

  it("lists the set keys with their values, with secrets masked", () => {
    const { setKeys } = read({
      toml: '[external_auth]\nurl = "https://u:hunter2@auth.example"\n[heartbeat]\ninterval = "90 s"',
    });
    expect([...setKeys]).toEqual([
      ["external_auth.url", "******"],
      ["heartbeat.interval", '"1m 30s"'],
    ]);
  });

  it.each([
    [undefined, true],
    ["1", true],
    ["TRUE", true],
    ["false", false],
    ["yes", false],
  ])("IGGY_DISPLAY_CONFIG=%s", (text, shows) => {
    expect(read(text === undefined ? {} : { environment: { IGGY_DISPLAY_CONFIG: text } }).showsConfig).toBe(shows);
  });
});
