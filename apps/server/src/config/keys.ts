import { cluster } from "./keys/cluster.js";
import { messageBus, metadata, partition, sharding } from "./keys/data-plane.js";
import {
  compatibility,
  consumerGroup,
  dataMaintenance,
  encryption,
  externalAuth,
  heartbeat,
  io,
  logging,
  memoryPool,
  node,
  path,
  personalAccessToken,
  runtime,
  telemetry,
} from "./keys/operation.js";
import { http, quic, tcp, websocket } from "./keys/transports.js";
import { leavesOf, section, type ConfigOf, type PathsOf } from "./schema.js";

/** Every configuration key of the server, in the order of the reference file. */
export const CONFIG_SCHEMA = section({
  path,
  runtime,
  io,
  node,
  tcp,
  quic,
  websocket,
  http,
  consumer_group: consumerGroup,
  data_maintenance: dataMaintenance,
  personal_access_token: personalAccessToken,
  heartbeat,
  logging,
  telemetry,
  sharding,
  metadata,
  partition,
  message_bus: messageBus,
  memory_pool: memoryPool,
  cluster,
  encryption,
  external_auth: externalAuth,
  compatibility,
});

export type ServerConfig = ConfigOf<typeof CONFIG_SCHEMA>;
/** The dotted path of a single-value key, such as `tcp.address`. */
export type ConfigPath = PathsOf<typeof CONFIG_SCHEMA>;

export const CONFIG_LEAVES = leavesOf(CONFIG_SCHEMA.children);
