import { isLoopback } from "./kinds/address.js";
import type { ServerConfig } from "./keys.js";

/** Something the operator should read in the log; it does not stop the start. */
export interface Notice {
  readonly level: "info" | "warn";
  readonly message: string;
}

const GIB = 2 ** 30;
const SERVED_TRANSFER_MIN = GIB + 64 * 2 ** 20;

/** What is legal but probably not meant. */
export function configNotices(config: ServerConfig, isInContainer: boolean): Notice[] {
  return [...listenerNotices(config, isInContainer), ...otherNotices(config)].map((message) => ({
    level: "warn",
    message,
  }));
}

function listenerNotices(config: ServerConfig, isInContainer: boolean): string[] {
  const { tcp, websocket, quic, http } = config;
  const enabled = Object.entries({ tcp, websocket, quic, http }).filter(([, { enabled }]) => enabled);
  if (enabled.length === 0) return ["no listener is started: every transport is off, so nobody can connect"];
  const unreachable = enabled.filter(([, { address }]) => isInContainer && isLoopback(address.host));
  if (unreachable.length === 0) return [];
  const variables = unreachable.map(
    ([name, { address }]) => `IGGY_${name.toUpperCase()}_ADDRESS=0.0.0.0:${address.port}`,
  );
  if (config.node.advertisedAddress === undefined) variables.push("IGGY_NODE_ADVERTISED_ADDRESS=<host clients dial>");
  return [
    `inside a container, ${unreachable.map(([name]) => `${name}.address`).join(", ")} on loopback can only be reached ` +
      `by the container itself; set ${variables.join(" ")}`,
  ];
}

function otherNotices(config: ServerConfig): string[] {
  const { cluster, externalAuth, partition, quic, sharding } = config;
  const notices: string[] = [];
  const served = Math.max(partition.transferArtifactBytesMax, SERVED_TRANSFER_MIN);
  if (partition.transferServedCacheBytesMax < 2 * served) {
    notices.push("partition.transfer_served_cache_bytes_max leaves room for a single state transfer at a time");
  }
  const { mode } = sharding.cpuAllocation;
  if (cluster.enabled && (mode === "all" || mode === "numa")) {
    notices.push("sharding.cpu_allocation depends on the machine: nodes of a cluster should run equally many shards");
  }
  if (externalAuth.enabled && externalAuth.url.reveal().startsWith("http://")) {
    notices.push("external_auth.url is plain HTTP: passwords travel in clear text");
  }
  if (quic.enabled && quic.maxConcurrentBidiStreams < 2) {
    notices.push("quic.max_concurrent_bidi_streams below 2 leaves no stream to cancel a waiting poll with");
  }
  if (quic.enabled && quic.certificate.selfSigned && quic.certificate.certFile !== "") {
    notices.push("quic.certificate.self_signed ignores cert_file and key_file");
  }
  return notices;
}
