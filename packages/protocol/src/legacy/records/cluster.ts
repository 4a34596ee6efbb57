import { list, oneOf, str32, struct, u16, u32, u8, type ValueOf } from "../../codec/index.js";
import { NodeRole, NodeStatus } from "../../enums/index.js";
import { sessionIdentity } from "../../primitives/index.js";

/**
 * A node of 0.11: no replica id. Port 0 means that the node does not offer the transport.
 *
 *   name [u32][UTF-8] · ip [u32][UTF-8] · tcp u16 · quic u16 · http u16 · websocket u16 · role u8 · status u8
 */
export const legacyClusterNode = struct("cluster node of 0.11", {
  name: str32,
  ip: str32,
  tcpPort: u16,
  quicPort: u16,
  httpPort: u16,
  websocketPort: u16,
  role: oneOf("node role", u8, Object.values(NodeRole)),
  status: oneOf("node status", u8, Object.values(NodeStatus)),
});
export type LegacyClusterNode = ValueOf<typeof legacyClusterNode>;

export const legacyClusterMetadata = struct("cluster metadata of 0.11", {
  name: str32,
  nodes: list(u32, legacyClusterNode),
});
export type LegacyClusterMetadata = ValueOf<typeof legacyClusterMetadata>;

/**
 * Where a 0.11 client sends a poll or an offset, and the session that it attaches there.
 *
 *    0  consumer_session [client_id u128][session u64][metadata_watermark u64]
 *   32  primary          node
 */
export const pollRouting = struct("poll routing", { consumerSession: sessionIdentity, primary: legacyClusterNode });
export type PollRouting = ValueOf<typeof pollRouting>;
