import { parseCidr } from "../kinds/cidr.js";
import type { ServerConfig } from "../keys.js";
import { rule, type Rule } from "./rule.js";

type ClusterConfig = ServerConfig["cluster"];
const whenEnabled =
  (breaks: (cluster: ClusterConfig, config: ServerConfig) => boolean): Rule["breaks"] =>
  (config) =>
    config.cluster.enabled && breaks(config.cluster, config);

const SECRET_BYTES_MIN = 32;
const isShort = (secret: { reveal(): string }): boolean => Buffer.byteLength(secret.reveal()) < SECRET_BYTES_MIN;
const hasRepeats = (values: readonly unknown[]): boolean => new Set(values).size !== values.length;

/** Rules of the roster and of consensus. */
export const clusterRules: readonly Rule[] = [
  rule(
    "cluster.heartbeat_timeout",
    ({ cluster }) => cluster.heartbeatTimeoutMillis < 4 * cluster.commitBroadcastIntervalMillis,
    "must be at least 4 times `cluster.commit_broadcast_interval`",
  ),
  rule(
    "cluster.view_change_status_timeout",
    ({ cluster }) => cluster.viewChangeStatusTimeoutMillis < 4 * cluster.viewChangeRetransmitIntervalMillis,
    "must be at least 4 times `cluster.view_change_retransmit_interval`",
  ),
  rule(
    "cluster.auth.shared_secret",
    whenEnabled(({ auth }) => auth.enabled && isShort(auth.sharedSecret)),
    `must be at least ${SECRET_BYTES_MIN} bytes while \`cluster.auth.enabled\` is on`,
  ),
  rule(
    "cluster.auth.previous_shared_secret",
    ({ cluster: { auth } }) =>
      !auth.previousSharedSecret.isEmpty &&
      (isShort(auth.previousSharedSecret) || auth.previousSharedSecret.equals(auth.sharedSecret)),
    `must be empty, or at least ${SECRET_BYTES_MIN} bytes and different from \`cluster.auth.shared_secret\``,
  ),
  rule(
    "cluster.tls.enabled",
    whenEnabled(({ tls, auth }) => tls.enabled && !auth.enabled),
    "needs `cluster.auth.enabled`",
  ),
  rule(
    "cluster.tls.cert_file",
    whenEnabled(({ tls }) => tls.enabled && !tls.selfSigned && [tls.certFile, tls.keyFile, tls.caFile].includes("")),
    "`cert_file`, `key_file` and `ca_file` are all needed without `self_signed`",
  ),
  rule(
    "cluster.nodes",
    whenEnabled(({ nodes }) => nodes.length === 0),
    "must list at least one node",
  ),
  rule(
    "cluster.nodes",
    ({ cluster: { nodes } }) => hasRepeats(nodes.map((node) => node.name)),
    "must not use one name twice",
  ),
  rule(
    "cluster.nodes",
    ({ cluster: { nodes } }) =>
      hasRepeats(nodes.map((node) => node.replicaId)) || nodes.some((node) => node.replicaId >= nodes.length),
    "must number the nodes with `replica_id` from 0 to the node count less 1, each once",
  ),
  rule(
    "cluster.nodes",
    ({ cluster: { nodes } }) => {
      const withRack = nodes.filter((node) => node.rack !== undefined).length;
      return withRack !== 0 && withRack !== nodes.length;
    },
    "must give `rack` on all nodes or on none",
  ),
  rule(
    "cluster.nodes",
    ({ cluster: { nodes } }) => {
      const places = nodes.flatMap(({ ip, ports: { tcp, http, websocket, tcpReplica, quic } }) => [
        ...[tcp, http, websocket, tcpReplica].filter((port) => port !== undefined).map((port) => `tcp ${ip} ${port}`),
        ...(quic === undefined ? [] : [`udp ${ip} ${quic}`]),
      ]);
      return hasRepeats(places);
    },
    "must not use one address and port twice",
  ),
  rule(
    "cluster.nodes",
    ({ cluster: { nodes } }) =>
      nodes.some((node) =>
        hasRepeats(
          node.advertisedAddresses.map((selector) => {
            const { family, network, prefix } = parseCidr(selector.clientCidr);
            return `${family} ${network} ${prefix}`;
          }),
        ),
      ),
    "must not select one network twice on a node",
  ),
  rule(
    "cluster.nodes",
    whenEnabled(({ nodes }, config) =>
      nodes.some(
        ({ ports }) =>
          ports.tcp === undefined ||
          ports.tcpReplica === undefined ||
          (config.quic.enabled && ports.quic === undefined) ||
          (config.http.enabled && ports.http === undefined) ||
          (config.websocket.enabled && ports.websocket === undefined),
      ),
    ),
    "must give each node the ports `tcp`, `tcp_replica` and that of every enabled transport",
  ),
  rule(
    "cluster.default_replication_factor",
    whenEnabled(
      ({ defaultReplicationFactor, nodes }) =>
        defaultReplicationFactor !== "all" && defaultReplicationFactor > nodes.length,
    ),
    "must be at most the number of nodes",
  ),
];
