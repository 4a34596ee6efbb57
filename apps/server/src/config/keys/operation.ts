import { dialableHost } from "../kinds/address.js";
import { listKind } from "../kinds/list.js";
import { logDirectivesKind } from "../kinds/log-level.js";
import { secretKind, textKind } from "../kinds/plain.js";
import { subdirectory } from "../kinds/subdirectory.js";
import { dormant, key, optional, secret, section } from "../schema.js";
import { bool, choice, duration, float, int, secretText, size, text } from "./declare.js";

export const path = text("local_data", "Data directory, relative to the working directory unless absolute.");

export const runtime = section({
  path: key(
    textKind(subdirectory),
    "runtime",
    "Scratch directory under `path`, emptied at every start. Holds `current_config.toml`.",
  ),
});

export const io = section({
  backend: choice(
    "auto",
    ["auto", "uring", "libuv"],
    "How files and sockets are driven. `auto` takes the best that works here; `uring` refuses the start without it.",
  ),
});

export const node = section({
  advertised_address: optional(
    textKind(dialableHost),
    "IP or host name that clients dial, without a port. Needed when the listener binds a wildcard address.",
  ),
});

export const consumerGroup = section({
  rebalancing_timeout: duration(
    "30s",
    { above: "0" },
    "Longest time a partition waits for its former owner before it goes to the new one.",
  ),
  heartbeat_interval: dormant(
    duration("5s", { above: "0" }, "How often a node reports the sessions it serves to the metadata primary."),
  ),
});

export const dataMaintenance = section({
  messages: section({
    cleaner_enabled: bool(true, "Remove sealed segments past a topic's `message_expiry` or `max_topic_size`."),
    interval: duration("1 m", {}, "Period of the segment cleaner."),
  }),
});

export const personalAccessToken = section({
  max_tokens_per_user: int(100, { min: 1 }, "Tokens a user may hold."),
  cleaner: section({
    enabled: bool(true, "Delete expired tokens periodically."),
    interval: duration("1 m", {}, "Period of the token cleaner."),
  }),
});

export const heartbeat = section({
  enabled: bool(true, "Session leases. Off: sessions end by logout, deactivation or deletion of the user only."),
  interval: duration("30 s", {}, "A session without activity on any of its connections for 1.2 times this ends."),
});

export const telemetry = dormant(
  section({
    enabled: bool(false, "Export logs and traces with OpenTelemetry."),
    service_name: text("iggy", "Service name of the export."),
    logs: section({
      transport: choice("grpc", ["grpc", "http"], "Transport of exported logs."),
      endpoint: text("http://localhost:7281/v1/logs", "Where logs go."),
    }),
    traces: section({
      transport: choice("grpc", ["grpc", "http"], "Transport of exported traces."),
      endpoint: text("http://localhost:7281/v1/traces", "Where traces go."),
      sample_ratio: float(1, { min: 0, max: 1 }, "Share of sampled traces."),
    }),
  }),
);

export const logging = section({
  path: key(textKind(subdirectory), "logs", "Directory of the log files, under `path`."),
  level: key(
    logDirectivesKind,
    "info",
    "trace, debug, info, warn, error, off or none, or a list such as `info,tcp=debug`. RUST_LOG wins when set.",
  ),
  format: choice(
    "auto",
    ["auto", "text", "json"],
    "Form of a line. `auto` is text on a terminal, JSON in the file and when stdout goes elsewhere.",
  ),
  file_enabled: bool(true, "Write `iggy-server.log`. Off: stdout only."),
  max_file_size: size("500 MB", { words: true }, "Rotate the file at this size; 0 never rotates."),
  max_total_size: size("4 GB", { words: true }, "Delete the oldest rotated files above this total; 0 is no limit."),
  rotation_check_interval: duration("1 h", { min: "1 s" }, "How often the limits on rotated files are enforced."),
  retention: duration("7 days", { min: "1 s", orZero: true }, "Keep a rotated file this long; 0 for ever."),
  sysinfo_print_interval: duration("10 s", { min: "1 s", orZero: true }, "Period of the usage line; 0 is off."),
});

export const encryption = section({
  enabled: bool(false, "Generate a key for every stream that is created without one of its own."),
  key: secretText(
    "Server key that wraps the keys of streams: standard base64 of 32 bytes. Without one, streams are plain.",
  ),
  previous_keys: secret(
    key(listKind(secretKind, 2), "[]", "Earlier server keys that a rotation still reads with, at most two."),
  ),
  retired_kek_fingerprints: key(
    listKind(textKind(), 256),
    "[]",
    "Fingerprints (16 hex digits) of server keys that are to be forgotten, once every stream shows the current one.",
  ),
});

export const externalAuth = dormant(
  section({
    enabled: bool(false, "Ask an HTTP service about password logins of unknown users."),
    url: secretText("Where the question is posted."),
    timeout: duration("5 s", { above: "0" }, "Limit of one question."),
    max_concurrent_callouts: int(64, { min: 1 }, "Questions in flight."),
  }),
);

export const memoryPool = section({
  enabled: dormant(bool(true, "Reuse I/O buffers.")),
  size: size("4 GiB", {}, "Most memory that a shard receives, reads and sends in with io_uring; 1 GiB at most."),
  bucket_capacity: dormant(int(8192, {}, "Buffers kept per size class.")),
});

export const compatibility = dormant(
  section({
    legacy_clients: bool(false, "Also admit clients of protocol 0.11.0."),
    legacy_roster: choice("full", ["full", "self"], "Roster such clients see: all nodes, or this one."),
  }),
);
