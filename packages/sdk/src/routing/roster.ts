import { type ClusterMetadata, type ClusterNode, NodeRole } from "@iggy/protocol";
import type { Endpoint, TransportProtocol } from "../transport/index.js";

/** The nodes of the cluster as one of them told, for one transport. */
export class Roster {
  readonly metadata: ClusterMetadata;
  readonly #protocol: TransportProtocol;

  constructor(metadata: ClusterMetadata, protocol: TransportProtocol) {
    this.metadata = metadata;
    this.#protocol = protocol;
  }

  get isSingleNode(): boolean {
    return this.metadata.nodes.length === 1;
  }

  /** Replica that leads the metadata; there is none in the middle of an election. */
  get leaderId(): number | undefined {
    return this.metadata.nodes.find((node) => node.role === NodeRole.leader)?.replicaId;
  }

  /** Whether a replica is listed and serves this transport. */
  serves(replicaId: number): boolean {
    return this.metadata.nodes.some((node) => node.replicaId === replicaId && this.#port(node) !== 0);
  }

  /** Addresses to try when the configured ones fail. A single node is dialed where it was configured. */
  endpoints(): readonly Endpoint[] {
    if (this.isSingleNode) return [];
    return this.metadata.nodes
      .filter((node) => this.#port(node) !== 0)
      .map((node) => ({ host: node.ip, port: this.#port(node) }));
  }

  /** The replica behind an address: the only one there is, or the one that advertises it. */
  replicaAt(endpoint: Endpoint): number | undefined {
    const { nodes } = this.metadata;
    if (nodes.length === 1) return nodes[0]?.replicaId;
    return nodes.find((node) => node.ip === endpoint.host && this.#port(node) === endpoint.port)?.replicaId;
  }

  #port(node: ClusterNode): number {
    switch (this.#protocol) {
      case "tcp":
        return node.tcpPort;
      case "quic":
        return node.quicPort;
      case "http":
        return node.httpPort;
      case "ws":
        return node.websocketPort;
    }
  }
}
