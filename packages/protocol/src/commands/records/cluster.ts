import { type Codec, list, oneOf, str32, struct, u16, u32, u8, type ValueOf, WireError } from "../../codec/index.js";
import { NodeRole, NodeStatus } from "../../enums/index.js";
import { ErrorCode } from "../../errors/index.js";

/**
 * A node as this client can reach it. Port 0 means that the node does not offer the transport. Roles and statuses
 * beyond the known ones are refused on both sides.
 *
 *   replica_id u8 · name [u32][UTF-8] · ip [u32][UTF-8] · tcp u16 · quic u16 · http u16 · websocket u16 ·
 *   role u8 (0 leader, 1 follower) · status u8 (0 healthy … 4 maintenance)
 */
export const clusterNode = struct("cluster node", {
  replicaId: u8,
  name: str32,
  ip: str32,
  tcpPort: u16,
  quicPort: u16,
  httpPort: u16,
  websocketPort: u16,
  role: oneOf("node role", u8, Object.values(NodeRole)),
  status: oneOf("node status", u8, Object.values(NodeStatus)),
});
export type ClusterNode = ValueOf<typeof clusterNode>;

const roster = struct("cluster metadata", { name: str32, nodes: list(u32, clusterNode) });

/**
 * `[name [u32][UTF-8]][nodes_count u32][node × count]`. A node's place in the list means nothing; a roster that names a
 * replica twice is refused with `InvalidFormat` (4).
 */
export const clusterMetadata: Codec<ValueOf<typeof roster>> = {
  ...roster,
  read: (r) => {
    const at = r.offset;
    const value = roster.read(r);
    if (new Set(value.nodes.map((node) => node.replicaId)).size !== value.nodes.length) {
      throw new WireError("Validation", "the roster names a replica twice", at, ErrorCode.InvalidFormat);
    }
    return value;
  },
  sample: (s) => {
    const value = roster.sample(s);
    return { ...value, nodes: value.nodes.map((node, replicaId) => ({ ...node, replicaId })) };
  },
};
