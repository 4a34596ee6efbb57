import { deriveKeyEncryptionKey, parseEncryptionKey } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { serverKeyFingerprint } from "../../src/config/encryption-key.js";
import { CONFIG_LEAVES, Secret } from "../../src/config/index.js";
import { problemsOf, read } from "./read.js";

const SERVER_KEY = Buffer.alloc(32, 7).toString("base64");
const OTHER_KEY = Buffer.alloc(32, 8).toString("base64");
const fingerprintOf = (key: string): string => serverKeyFingerprint(new Secret(key));

describe("unknown keys", () => {
  it.each([
    ['pth = "x"', "pth (config.toml): unknown key; did you mean `path`"],
    ["[tcp]\nadress = 1", "tcp.adress (config.toml): unknown key; did you mean `tcp.address`"],
    ["[tcq]\nenabled = true", "tcq (config.toml): unknown key; did you mean `tcp`"],
    ["[tcp.tls]\nciphers = []", "tcp.tls.ciphers (config.toml): unknown key"],
    ["[[cluster.nodes]]\nzone = 1", "cluster.nodes[0].zone (config.toml): unknown key"],
    ["tcp = 1", "tcp (config.toml): must be a table"],
    ["[cluster.nodes]\nname = 1", "cluster.nodes (config.toml): must be an array of tables"],
    ["[tcp.enabled]\nx = 1", 'tcp.enabled = {"x":"1"} (config.toml): must be true or false'],
    ["[toString]\nx = 1", "toString (config.toml): unknown key"],
  ])("%j", (toml, problem) => {
    expect(problemsOf({ toml })[0]).toContain(`  - ${problem}`);
  });

  it("a text that is no TOML names line and column, and never repeats the file", () => {
    const [problem = "", ...rest] = problemsOf({ toml: '[encryption]\nkey = "hunter2' });
    expect(problem).toMatch(/config\.toml: line 2, column \d+: /);
    expect(rest).toEqual([]);
    expect(problem).not.toContain("hunter2");
  });

  it("an unsafe key is refused like any other", () => {
    expect(problemsOf({ toml: "[__proto__]\nx = 1" })).toHaveLength(1);
  });
});

describe("removed keys", () => {
  it.each([
    ['[system]\npath = "x"', "system.path (config.toml): removed; it moved to `path`"],
    ['[system.logging]\nlevel = "info"', "system.logging (config.toml): removed; it moved to `logging`"],
    ["[system.segment]\nsize = 1", "system.segment (config.toml): removed; it is an option of each topic now"],
    ["[system]\nbackup = 1", "system.backup (config.toml): removed; nothing takes its place"],
    ["[system]", "system (config.toml): removed"],
    ["[topic]\nmax_size = 1", "topic (config.toml): removed; it is an option of each topic now"],
    ["[stream]", "stream (config.toml): removed; streams carry options of their own now"],
    ['[partition]\npath = "x"', "partition.path (config.toml): removed"],
    [
      "[partition]\nconsumer_offset_enforce_fsync = true",
      "partition.consumer_offset_enforce_fsync (config.toml): removed; use the topic option `consumer_offset_durability`",
    ],
    ["[partition]\nenforce_fsync = true", "partition.enforce_fsync (config.toml): removed; use the topic option"],
    ["extra = 1", "extra (config.toml): removed"],
    [
      '[consumer_group]\nsession_timeout = "1 s"',
      "consumer_group.session_timeout (config.toml): removed; a membership",
    ],
    ["messages_required_to_save = 1", "messages_required_to_save (config.toml): removed"],
    ["archive_expired = true", "archive_expired (config.toml): removed"],
  ])("%j", (toml, problem) => {
    expect(problemsOf({ toml })[0]).toContain(`  - ${problem}`);
  });

  it("are reported together", () => {
    const toml = '[system]\npath = "x"\nmemory_pool = 1\n[topic]\n[stream]\n[partition]\npath = "y"';
    expect(problemsOf({ toml })).toHaveLength(5);
  });

  it.each([
    ["IGGY_SYSTEM_PATH", "removed; it moved to `path`"],
    ["IGGY_SYSTEM_LOGGING_LEVEL", "removed; it moved to `logging`"],
    ["IGGY_SYSTEM_WHATEVER", "removed"],
    ["IGGY_TOPIC_MAX_SIZE", "removed; it is an option of each topic now"],
    ["IGGY_CONSUMER_GROUP_SESSION_TIMEOUT", "removed; a membership"],
  ])("%s", (name, rule) => {
    expect(problemsOf({ environment: { [name]: "1" } })[0]).toContain(`  - ${name}: ${rule}`);
  });
});

describe("unknown variables", () => {
  it.each([
    ["IGGY_TCP_ADRESS", "IGGY_TCP_ADRESS: unknown variable; did you mean IGGY_TCP_ADDRESS or"],
    ["IGGY_ROOT_PASSWROD", "IGGY_ROOT_PASSWROD: unknown variable; did you mean IGGY_ROOT_PASSWORD"],
    ["IGGY_TEST_OTHER", "IGGY_TEST_OTHER: unknown variable"],
    ["IGGY_", "IGGY_: unknown variable"],
    ["IGGY_SOMETHING_THAT_IS_NOT_LIKE_ANYTHING_ELSE_AT_ALL", "AT_ALL: unknown variable"],
  ])("%s", (name, problem) => {
    const [line = ""] = problemsOf({ environment: { [name]: "x" } });
    expect(line).toContain(problem);
    expect((line.match(/ or /g) ?? []).length).toBeLessThanOrEqual(2);
  });

  it("are refused even when empty", () => {
    expect(problemsOf({ environment: { IGGY_TCP_ADRESS: "" } })).toHaveLength(1);
  });

  it.each([
    "IGGY_HOME",
    "IGGY_USERNAME",
    "IGGY_PASSWORD",
    "IGGY_CI_BUILD",
    "IGGY_TEST_VERBOSE",
    "IGGY_CONNECTORS_ANYTHING",
    "IGGY_KAFKA_X",
    "IGGY_MCP_X",
    "IGGY_SHARD_EVENT_INTERVAL",
    "IGGY_ENV_PATH",
    "iggy_tcp_adress",
    "PATH",
  ])("%s belongs to somebody else", (name) => {
    expect(problemsOf({ environment: { [name]: "x" } })).toEqual([]);
  });
});

describe("values out of their range", () => {
  it.each([
    ['consumer_group.rebalancing_timeout = "0"', "must be above 0s"],
    ['consumer_group.heartbeat_interval = "0"', "must be above 0s"],
    ['data_maintenance.messages.interval = "0"', "must be above 0 while the cleaner is enabled"],
    ["personal_access_token.max_tokens_per_user = 0", "must be at least 1"],
    ['personal_access_token.cleaner.interval = "0"', "must be above 0 while it is enabled"],
    ['heartbeat.interval = "none"', "must be above 0 while it is enabled"],
    ["telemetry.traces.sample_ratio = 1.5", "must be at most 1"],
    ['telemetry = { enabled = true, service_name = " " }', "must not be blank"],
    ['telemetry = { enabled = true, logs = { endpoint = "" } }', "must not be empty"],
    ['telemetry = { enabled = true, traces = { endpoint = "" } }', "must not be empty"],
    ['telemetry.logs.transport = "udp"', 'must be one of "grpc", "http"'],
    ['logging.level = "verbose"', "has no level"],
    ['logging.rotation_check_interval = "999 ms"', "must be at least 1s"],
    ['logging.retention = "1 ms"', "must be at least 1s, or 0"],
    ['logging.sysinfo_print_interval = "1 ms"', "must be at least 1s, or 0"],
    ['logging.max_total_size = "1 MB"', "must be at most `logging.max_total_size`, unless that is 0"],
    ['logging.format = "xml"', 'must be one of "auto", "text", "json"'],
    ['memory_pool.size = "1 MiB"', "must be at least 512 MiB and a multiple of 4096 bytes"],
    ["memory_pool.bucket_capacity = 129", "must be a power of two"],
    ['sharding.cpu_allocation = "5"', "more cores than this process may use"],
    ['sharding.cpu_allocation = "0..5"', "more cores than this process may use"],
    ['sharding.cpu_allocation = "3..5"', "a core outside the set this process may use"],
    ["sharding.inbox_capacity = 1048577", "must be at most 1048576"],
    ['sharding.deferred_poll_max_wait = "11 min"', "must be at most 10m"],
    ["sharding.deferred_poll_max_pending = 63", "must be at most `sharding.deferred_poll_max_pending`"],
    ['sharding.deferred_poll_max_read_bytes = "65 MiB"', "must be at most `sharding.deferred_poll_max_inflight_bytes`"],
    ['sharding.shutdown_drain_timeout = "31 s"', "must be at least `sharding.shutdown_drain_timeout`"],
    ['sharding.shutdown_drain_timeout = "20 ms"', "must be at most `sharding.shutdown_drain_timeout`"],
    ["metadata.prepare_queue_depth = 128", "must be at most 127"],
    ["metadata.journal_slots = 255", "must be at least 256"],
    ["metadata = { prepare_queue_depth = 100, journal_slots = 399 }", "must be at least 400"],
    ["metadata.clients_table_max = 1", "must be at least 2"],
    ["partition.wal_bytes_max = 134225921", "must be a multiple of 4096 bytes"],
    ['partition.wal_bytes_max = "128 MiB"', "must be at least"],
    ["partition.wal_group_commit_delay_micros = 10001", "must be at most 10000"],
    [
      'partition.transfer_artifact_bytes_max = "1 GiB"',
      "must be at least 1 GiB more than `message_bus.max_message_size`",
    ],
    ["message_bus.max_message_size = 279", "must be at least 280 B"],
    ['message_bus.replica_read_buffer_size = "1 KiB"', "must be at least 4 KiB, or 0"],
    ["message_bus.peer_queue_capacity = 128", "must be below `message_bus.peer_queue_capacity`"],
    ['cluster.name = " "', "must not be blank"],
    ['cluster.default_replication_factor = "most"', 'must be "all" or a number from 1 to 32'],
    ['cluster.heartbeat_timeout = "1 s"', "must be at least 2s"],
    ['cluster.commit_broadcast_interval = "2 s"', "must be at least 4 times `cluster.commit_broadcast_interval`"],
    ['cluster.view_change_retransmit_interval = "2 s"', "must be at least 4 times"],
    ['cluster.superblock_wedged_fatal_timeout = "29 s"', "must be at least 30s, or 0"],
    ['cluster.auth.previous_shared_secret = "short"', "must be empty, or at least 32 bytes"],
    ['tcp.address = "localhost:8090"', "must be a literal IP and a port"],
    ['tcp.address = "0.0.0.0:8090"', "IGGY_NODE_ADVERTISED_ADDRESS"],
    ['tcp.address = "[::]:8090"', "IGGY_NODE_ADVERTISED_ADDRESS"],
    ['node.advertised_address = "0.0.0.0"', "the unspecified address"],
    ["tcp.tls = { enabled = true, self_signed = false }", "does not exist"],
    ['http = { tls = { enabled = true, cert_file = "" } }', "is needed"],
    ['http.jwt.algorithm = "RS256"', "must be HS256, HS384 or HS512"],
    ['http.jwt.access_token_expiry = "server_default"', "this is the server's default"],
    ['http.max_request_size = "257 MiB"', "must be at most 256 MiB"],
    ['http.cors.allowed_origins = ["https://a.example", "*"]', "may hold `*` as the first entry only"],
    ["http.cors.allow_credentials = true", "needs explicit"],
    ['http.cors.allowed_methods = ["GET", "FETCH"]', "may hold methods of HTTP in capital letters only"],
    ['http.jwt = { use_base64_secret = true, encoding_secret = "not base64" }', "must be standard base64"],
    ['http.metrics.endpoint = "metrics"', "must start with `/`"],
    ["quic.initial_mtu = 1199", "must be at least"],
    ['quic.receive_window = "1 MiB"', "must be at most `quic.receive_window`"],
    ["quic.certificate.self_signed = false", "is needed"],
    ["websocket.read_buffer_size = 0", "must be at least 1 B"],
    ['websocket.max_message_size = "65 MiB"', "must be at most `message_bus.max_message_size`"],
    ['websocket.max_frame_size = "65 MiB"', "must be at most `websocket.max_message_size`"],
    ["websocket.max_write_buffer_size = 1024", "must be above `websocket.write_buffer_size`"],
    ["external_auth.max_concurrent_callouts = 0", "must be at least 1"],
    ['encryption.key = "short"', "base64 of exactly 32 bytes"],
    [`encryption.previous_keys = ["${SERVER_KEY}"]`, "needs `encryption.key`"],
    [`encryption = { key = "${SERVER_KEY}", previous_keys = ["${SERVER_KEY}"] }`, "must differ from each other"],
    [`encryption = { key = "${SERVER_KEY}", previous_keys = ["bad"] }`, "must each be the standard base64"],
    ['encryption.retired_kek_fingerprints = ["0123456789abcdef"]', "needs `encryption.key`"],
    [
      `encryption = { key = "${SERVER_KEY}", retired_kek_fingerprints = ["0123456789ABCDEF"] }`,
      "must each be 16 lower-case hex digits",
    ],
    [
      `encryption = { key = "${SERVER_KEY}", retired_kek_fingerprints = ["0123456789abcdef", "0123456789abcdef"] }`,
      "none twice",
    ],
    [
      `encryption = { key = "${SERVER_KEY}", retired_kek_fingerprints = ["${fingerprintOf(SERVER_KEY)}"] }`,
      "must not name `encryption.key`",
    ],
    [
      `encryption = { key = "${SERVER_KEY}", previous_keys = ["${OTHER_KEY}"], retired_kek_fingerprints = ["${fingerprintOf(OTHER_KEY)}"] }`,
      "or one of `encryption.previous_keys`",
    ],
    [
      `encryption = { key = "${SERVER_KEY}", previous_keys = ["${SERVER_KEY}", "${OTHER_KEY}", "${OTHER_KEY}"] }`,
      "at most 2 elements",
    ],
    ["encryption.enabled = true", "is needed while encryption is enabled"],
    ['runtime.path = ""', "must be a directory below `path`"],
    ['runtime.path = "./"', "must be a directory below `path`"],
    ['runtime.path = "a/../.."', "must be a directory below `path`"],
    ['runtime.path = "/tmp"', "must be a directory below `path`"],
    ['runtime.path = "./metadata/x"', "is where the server stores its data"],
    ['logging.path = "streams"', "is where the server stores its data"],
    ['runtime.path = "logs"', "must not hold `logging.path`"],
    ['logging.path = "runtime/logs"', "must not hold `logging.path`"],
    ['io.backend = "epoll"', 'must be one of "auto", "uring", "libuv"'],
  ])("%s", (toml, rule) => {
    const problems = problemsOf({ toml });
    expect(problems.join("\n")).toContain(rule);
    for (const problem of problems) {
      const key = /^ {2}- ([^ :]+)/.exec(problem)?.[1] ?? "";
      expect(CONFIG_LEAVES.map((leaf) => leaf.path)).toContain(key);
      expect(problem).toMatch(/ \((config\.toml|default)\): /);
    }
  });

  it("names key, value, place and rule", () => {
    expect(problemsOf({ toml: "personal_access_token.max_tokens_per_user = 0" })).toEqual([
      "  - personal_access_token.max_tokens_per_user = 0 (config.toml): must be at least 1",
    ]);
    expect(problemsOf({ environment: { IGGY_HEARTBEAT_INTERVAL: "soon" } })[0]).toContain(
      '  - heartbeat.interval = "soon" (IGGY_HEARTBEAT_INTERVAL): must be a duration',
    );
  });

  it("bounds are legal values", () => {
    const toml = `
      partition.wal_bytes_max = ${128 * 2 ** 20 + 8192}
      message_bus.max_message_size = 280
      metadata.clients_table_max = 2
      logging.retention = "0"
      logging.max_total_size = 0
      cluster.superblock_wedged_fatal_timeout = "disabled"
      sharding.cpu_allocation = "0..4"
    `;
    expect(problemsOf({ toml })).toEqual([]);
  });
});

describe("roster", () => {
  const node = (id: number, more = ""): string =>
    `[[cluster.nodes]]\nname = "n${id}"\nip = "10.0.0.${id}"\nreplica_id = ${id}\n${more}\n`;

  it.each([
    [node(0) + node(0).replace("n0", "n1"), "each once"],
    [node(0) + node(1).replace("n1", "n0"), "one name twice"],
    [node(1), "from 0 to the node count less 1"],
    [node(0, 'rack = "a"') + node(1), "`rack` on all nodes or on none"],
    [node(0, "ports = { tcp = 1, http = 1 }"), "one address and port twice"],
    [node(0, 'advertised_address = "host:1"'), "without a port"],
    [node(0, 'advertised_addresses = [{ client_cidr = "10.0.0.0", address = "h" }]'), "must be a network"],
    [
      node(
        0,
        'advertised_addresses = [{ client_cidr = "10.1.0.0/8", address = "a" }, { client_cidr = "::ffff:10.2.0.0/104", address = "b" }]',
      ),
      "must not select one network twice",
    ],
    [node(0).replace("10.0.0.0", "node.example"), "must be a literal IP"],
    [node(0, "ports = { tcp = 0 }"), "must be at least 1"],
    [node(0).replace("replica_id = 0", ""), "replica_id: is missing"],
  ])("%j", (toml, rule) => {
    expect(problemsOf({ toml }).join("\n")).toContain(rule);
  });
});

describe("every problem at once", () => {
  it("of file, variables, rules, arguments and credentials", () => {
    const problems = problemsOf({
      toml: 'pth = "x"\n[system]\npath = "y"\n[tcp]\naddress = "0.0.0.0:8090"\n[heartbeat]\ninterval = "0"',
      environment: { IGGY_TCP_ADRESS: "x", IGGY_ROOT_USERNAME: "", IGGY_ROOT_PASSWORD: "" },
      arguments: { replicaId: 3 },
    });
    const keys = problems.map((problem) => /^ {2}- (.*?)(?: =|:| \()/.exec(problem)?.[1]);
    expect(keys).toEqual([
      "pth",
      "system.path",
      "IGGY_TCP_ADRESS",
      "heartbeat.interval",
      "tcp.address",
      "--replica-id",
      "IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD",
    ]);
  });

  it("holds no secret", () => {
    const problems = problemsOf({
      toml: '[encryption]\nkey = "hunter2"\n[cluster.auth]\nprevious_shared_secret = "hunter2"\n[http.jwt]\nencoding_secret = 1234567',
      environment: { IGGY_ENCRYPTION_PREVIOUS_KEYS: "hunter2", IGGY_ROOT_PASSWORD: "hu" },
    });
    expect(problems.length).toBeGreaterThanOrEqual(5);
    expect(problems.join()).not.toMatch(/hunter2|1234567|"hu"/);
  });
});

describe("the keys of encryption", () => {
  const key = `key = "${SERVER_KEY}"`;
  it.each([
    "enabled = true",
    'key = "short"',
    `key = "${SERVER_KEY.replace("=", "")}"`,
    `key = " ${SERVER_KEY}"`,
    `previous_keys = ["${SERVER_KEY}"]`,
    `${key}\nprevious_keys = ["bad"]`,
    `${key}\nprevious_keys = ["${SERVER_KEY}"]`,
    'retired_kek_fingerprints = ["0123456789abcdef"]',
    `${key}\nretired_kek_fingerprints = ["xyz"]`,
    `${key}\nretired_kek_fingerprints = ["${fingerprintOf(SERVER_KEY)}"]`,
  ])("are refused with error 70 and never shown: %s", (toml) => {
    const problems = problemsOf({ toml: `[encryption]\n${toml}` });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("error 70");
    expect(problems[0]).not.toContain(SERVER_KEY.slice(0, 8));
  });

  it("may be there without encryption of every stream", () => {
    const { config, notices, setKeys } = read({ toml: `[encryption]\n${key}\nprevious_keys = ["${OTHER_KEY}"]` });
    expect(config.encryption.enabled).toBe(false);
    expect(config.encryption.previousKeys.map((previous) => previous.reveal())).toEqual([OTHER_KEY]);
    expect(JSON.stringify([config.encryption, notices, [...setKeys]])).not.toMatch(
      new RegExp(`${SERVER_KEY}|${OTHER_KEY}`),
    );
  });

  it("have the fingerprint under which streams name them", async () => {
    for (const text of [SERVER_KEY, OTHER_KEY, "/rvT1xP4V8u1EAhk4xDdqzqM2UOPXyy9XYkl4uRShgE="]) {
      const { fingerprint } = await deriveKeyEncryptionKey(parseEncryptionKey(text));
      expect(fingerprintOf(text)).toBe(Buffer.from(fingerprint).toString("hex"));
    }
    expect(fingerprintOf("/rvT1xP4V8u1EAhk4xDdqzqM2UOPXyy9XYkl4uRShgE=")).toBe("39e4f0f95c3693c7");
  });
});

describe("features this version lacks", () => {
  it.each([
    ["cluster.enabled = true", "cluster.enabled (config.toml): this version runs single nodes only"],
    [
      'external_auth = { enabled = true, url = "https://auth.example" }',
      "external_auth.enabled (config.toml): this version has no external authentication",
    ],
  ])("%s is refused", (toml, problem) => {
    expect(problemsOf({ toml }).join("\n")).toContain(problem);
  });

  it.each([
    ['issuer = "", audience = "a", jwks_url = "https://a.example", username = "al"', "need an `issuer`"],
    ['issuer = "i", audience = "a", jwks_url = "", username = "al"', "need an http or https `jwks_url`"],
    ['issuer = "i", audience = "a", jwks_url = "https://a.example"', "need a `username`"],
  ])("a trusted issuer with %s is refused", (issuer, rule) => {
    expect(problemsOf({ toml: `http.jwt.trusted_issuers = [{ ${issuer} }]` }).join("\n")).toContain(rule);
  });

  it("every listener can be had: neither the defaults nor the operator switch on what is missing", () => {
    const toml = ["tcp", "quic", "websocket", "http"].map((name) => `${name}.enabled = true`).join("\n");
    for (const { notices } of [read(), read({ toml })]) {
      expect(notices.filter(({ message }) => message.includes("this version"))).toEqual([]);
    }
  });
});

describe("warnings", () => {
  const warnings = (start: Parameters<typeof read>[0]): string =>
    read(start)
      .notices.filter((notice) => notice.level === "warn")
      .map((notice) => notice.message)
      .join("\n");

  it("a loopback listener in a container names the variables to set", () => {
    expect(warnings({ isInContainer: true })).toContain(
      "set IGGY_TCP_ADDRESS=0.0.0.0:8090 IGGY_WEBSOCKET_ADDRESS=0.0.0.0:8092 IGGY_QUIC_ADDRESS=0.0.0.0:8080 " +
        "IGGY_HTTP_ADDRESS=0.0.0.0:3000 IGGY_NODE_ADVERTISED_ADDRESS=",
    );
    const named = { isInContainer: true, environment: { IGGY_NODE_ADVERTISED_ADDRESS: "broker" } };
    expect(warnings(named)).not.toContain("IGGY_NODE_ADVERTISED_ADDRESS=");
    expect(warnings({})).toBe("");
  });

  it.each([
    [
      "tcp.enabled = false\nwebsocket.enabled = false\nquic.enabled = false\nhttp.enabled = false",
      "every transport is off, so nobody can connect",
    ],
    ['partition.transfer_served_cache_bytes_max = "1 GiB"', "a single state transfer at a time"],
    ["quic.max_concurrent_bidi_streams = 1", "no stream to cancel"],
    ['quic.certificate.cert_file = "cert.pem"', "ignores cert_file"],
  ])("%s", (toml, message) => {
    expect(warnings({ toml })).toContain(message);
  });
});

describe("TLS files", () => {
  it("must exist, relative to the working directory, unless a certificate is made for the run", () => {
    const toml =
      '[tcp.tls]\nenabled = true\nself_signed = false\ncert_file = "tls/cert.pem"\nkey_file = "/etc/key.pem"';
    expect(problemsOf({ toml })).toHaveLength(2);
    expect(problemsOf({ toml, files: { "/srv/tls/cert.pem": "", "/etc/key.pem": "" } })).toEqual([]);
    expect(problemsOf({ toml: "[tcp.tls]\nenabled = true" })).toEqual([]);
  });
});

describe("--fresh", () => {
  const fresh = { fresh: true };

  it("deletes a data directory, an empty one, or none", () => {
    expect(problemsOf({ arguments: fresh })).toEqual([]);
    expect(problemsOf({ arguments: fresh, files: { "/srv/local_data/metadata/x": "" } })).toEqual([]);
    expect(problemsOf({ arguments: fresh, files: { "/srv/local_data/logs/x": "" } })).toEqual([]);
  });

  it.each([".", "..", "/", "/srv"])("never deletes the working directory with path = %j", (path) => {
    expect(problemsOf({ arguments: fresh, toml: `path = "${path}"` }).join()).toContain(
      "would delete the working directory",
    );
    expect(problemsOf({ toml: `path = "${path}"` })).toEqual([]);
  });

  it("never deletes what does not look like a data directory", () => {
    const files = { "/home/me/thesis.tex": "" };
    const start = { arguments: fresh, files, toml: 'path = "/home/me"' };
    expect(problemsOf(start)).toEqual([
      "  - --fresh = /home/me: does not look like a data directory, and is not deleted; empty it by hand if it is meant",
    ]);
  });
});
