import { dialableHost, literalIp } from "../kinds/address.js";
import { cidrText } from "../kinds/cidr.js";
import { refuse, tomlString, type Kind } from "../kinds/kind.js";
import { intKind, textKind } from "../kinds/plain.js";
import { dormant, key, optional, required, section, tables } from "../schema.js";
import { bool, duration, int, secretText, text } from "./declare.js";

/** Most nodes of a cluster. */
export const CLUSTER_NODES_MAX = 32;
/** Most address selectors of a node. */
export const ADVERTISED_ADDRESSES_MAX = 16;

const notBlank = (value: string): string => (value.trim() === "" ? refuse("must not be blank") : value);
const portKind = intKind({ min: 1, max: 65_535 });

const replicationFactorKind: Kind<"all" | number, "none"> = {
  name: 'integer or "all"',
  unit: "none",
  fromToml: (value) =>
    typeof value === "string" || typeof value === "bigint" ? parseFactor(String(value)) : parseFactor(""),
  fromText: parseFactor,
  toToml: (value) => (value === "all" ? tomlString(value) : String(value)),
};

function parseFactor(value: string): "all" | number {
  if (value === "all") return "all";
  const factor = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  return factor >= 1 && factor <= CLUSTER_NODES_MAX ? factor : refuse('must be "all" or a number from 1 to 32');
}

export const cluster = section({
  enabled: bool(false, "Join the roster below. Off: a node of its own."),
  name: key(
    textKind(notBlank),
    "iggy-cluster",
    "Name, recorded in the data directory: a changed one is refused there.",
  ),
  default_replication_factor: dormant(
    key(replicationFactorKind, "all", 'Copies of a topic that names none: "all" or a number.'),
  ),
  heartbeat_timeout: dormant(duration("5s", { min: "2 s" }, "Silence of a primary before a view change.")),
  commit_broadcast_interval: dormant(duration("500ms", { above: "0" }, "Period of commit messages.")),
  prepare_retransmit_interval: dormant(duration("250ms", { above: "0" }, "Pause before a prepare is sent again.")),
  view_change_retransmit_interval: dormant(duration("500ms", { above: "0" }, "Pause between votes.")),
  view_change_status_timeout: dormant(duration("5s", { above: "0" }, "Limit of one view change.")),
  request_start_view_retransmit_interval: dormant(duration("1s", { above: "0" }, "Pause between view requests.")),
  view_probe_attempts_max: dormant(int(5, { min: 1, max: 100 }, "View requests before a new election.")),
  repair_retry_interval: dormant(duration("1s", { above: "0" }, "Pause between repair requests.")),
  repair_gap_debounce_interval: dormant(duration("1s", { above: "0" }, "How long a gap waits before its repair.")),
  repair_chunk_max: dormant(int(128, { min: 1, max: 1024 }, "Prepares of one repair request.")),
  superblock_wedged_fatal_timeout: dormant(
    duration("2m", { min: "30 s", orZero: true }, "An unwritable superblock ends the process after this; 0 never."),
  ),
  auth: dormant(
    section({
      enabled: bool(false, "Replicas prove a shared secret to each other."),
      shared_secret: secretText("The secret, at least 32 bytes."),
      previous_shared_secret: secretText("The former secret, accepted during a rotation."),
    }),
  ),
  tls: dormant(
    section({
      enabled: bool(false, "TLS between replicas."),
      self_signed: bool(false, "Make a certificate and accept any of a peer."),
      cert_file: text("", "Certificate chain, PEM."),
      key_file: text("", "Private key, PEM."),
      ca_file: text("", "Authority of the peers' certificates, PEM."),
    }),
  ),
  coordinator: section({
    skip_shard_zero_for_replicas: dormant(bool(true, "Keep replica links off shard 0.")),
    skip_shard_zero_for_clients: bool(
      false,
      "Keep plain TCP connections of clients off shard 0 when there are others.",
    ),
    replica_connections_per_peer: dormant(int(1, { min: 1, max: 256 }, "Links per pair of replicas.")),
  }),
  nodes: dormant(
    tables(CLUSTER_NODES_MAX, "The roster, the same on every node.", {
      name: required(textKind(notBlank), "Name of the node."),
      ip: required(textKind(literalIp), "IP that replicas dial."),
      replica_id: required(intKind({ max: CLUSTER_NODES_MAX - 1 }), "Number of the node, below the node count."),
      rack: optional(textKind(notBlank), "Failure domain; on all nodes or on none."),
      advertised_address: optional(textKind(dialableHost), "IP or host name that clients dial."),
      advertised_addresses: tables(ADVERTISED_ADDRESSES_MAX, "Addresses for clients of certain networks.", {
        client_cidr: required(textKind(cidrText), "Network of the clients."),
        address: required(textKind(dialableHost), "What they dial."),
      }),
      ports: section({
        tcp: optional(portKind, "TCP port."),
        quic: optional(portKind, "QUIC port."),
        http: optional(portKind, "HTTP port."),
        websocket: optional(portKind, "WebSocket port."),
        tcp_replica: optional(portKind, "Port of the replica links."),
      }),
    }),
  ),
});
