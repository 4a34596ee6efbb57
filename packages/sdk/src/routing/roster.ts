import { type ClusterMetadata, type ClusterNode, NodeRole } from "@iggy/protocol";
import { type Endpoint, endpointText, type TransportProtocol } from "../transport/index.js";

/** A replica that has a link of its own. */
export interface RosterReplica {
  readonly replicaId: number;
  readonly endpoint: Endpoint;
}

/** The nodes of the cluster as one of them told, for one transport. */
export class Roster {
  readonly metadata: ClusterMetadata;
  /** Replicas to keep a link to: none in a roster with one node to dial, whose address is the configured one. */
  readonly replicas: readonly RosterReplica[];
  readonly #protocol: TransportProtocol;
  readonly #serving: readonly RosterReplica[];

  constructor(metadata: ClusterMetadata, protocol: TransportProtocol) {
    this.metadata = metadata;
    this.#protocol = protocol;
    this.#serving = metadata.nodes
      .filter((node) => this.#port(node) !== 0)
      .map((node) => ({ replicaId: node.replicaId, endpoint: { host: node.ip, port: this.#port(node) } }));
    this.replicas = this.#serving.length > 1 ? this.#serving : [];
  }

  get isSingleNode(): boolean {
    return this.metadata.nodes.length === 1;
  }

  /** The only replica that there is to talk to. */
  get soleReplicaId(): number | undefined {
    return this.#serving.length === 1 ? this.#serving[0]?.replicaId : undefined;
  }

  /** Replica that leads the metadata; there is none in the middle of an election. */
  get leaderId(): number | undefined {
    return this.metadata.nodes.find((node) => node.role === NodeRole.leader)?.replicaId;
  }

  /** Whether a replica is listed and serves this transport. */
  serves(replicaId: number): boolean {
    return this.#serving.some((replica) => replica.replicaId === replicaId);
  }

  /** Addresses to try when the configured ones fail. */
  endpoints(): readonly Endpoint[] {
    return this.replicas.map(({ endpoint }) => endpoint);
  }

  /** The replica behind a link: the one that advertises the address that was dialed, or that it led to. */
  replicaBehind(link: { readonly endpoint: Endpoint; readonly remoteHost: string | undefined }): number | undefined {
    const { endpoint, remoteHost } = link;
    return (
      this.#replicaAt(endpoint) ??
      (remoteHost === undefined ? undefined : this.#replicaAt({ host: remoteHost, port: endpoint.port }))
    );
  }

  #replicaAt(endpoint: Endpoint): number | undefined {
    const address = endpointText(endpoint);
    return this.#serving.find((replica) => endpointText(replica.endpoint) === address)?.replicaId;
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
