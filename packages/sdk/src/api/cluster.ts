import { getClusterMetadata, NodeRole, nameOf, NodeStatus, type NodeStatusName } from "@iggy/protocol";
import { FeatureUnavailableError } from "../errors/index.js";
import type { PartitionRoutes } from "../routing/partition-routes.js";
import type { Route } from "../routing/route-cache.js";
import { u32 } from "../values/check.js";
import { type Id, toIdentifier } from "../values/id.js";
import type { CallOptions, Calls } from "./caller.js";
import { findRoute } from "./find-route.js";

export interface ClusterNode {
  readonly replicaId: number;
  readonly name: string;
  readonly ip: string;
  /** Ports; 0 where the node does not serve the transport. */
  readonly endpoints: {
    readonly tcp: number;
    readonly quic: number;
    readonly http: number;
    readonly websocket: number;
  };
  readonly role: "leader" | "follower";
  readonly status: NodeStatusName | "unknown";
}

export interface ClusterMetadata {
  readonly name: string;
  readonly nodes: readonly ClusterNode[];
}

/** Spellings of earlier clients. */
export const Role = { Leader: "leader", Follower: "follower" } as const;
export const Status = {
  Healthy: "healthy",
  Starting: "starting",
  Stopping: "stopping",
  Unreachable: "unreachable",
  Maintenance: "maintenance",
  Unknown: "unknown",
} as const;

/** Where a partition is led, as the client believes. */
export interface PartitionRouteInfo {
  readonly incarnation: bigint;
  readonly metadataOp: bigint;
  readonly view: number;
  readonly partitionsCount: number;
  readonly primaryReplica: number;
}

export class ClusterApi {
  readonly #caller: Calls;
  readonly #routes: PartitionRoutes | undefined;

  /** Without routes there is no `getRoute`: over HTTP the server finds the primary. */
  constructor(caller: Calls, routes?: PartitionRoutes) {
    this.#caller = caller;
    this.#routes = routes;
  }

  /** The nodes of the cluster, as this client can reach them. */
  async getClusterMetadata(options?: CallOptions): Promise<ClusterMetadata> {
    const { name, nodes } = await this.#caller.read(getClusterMetadata, {}, {}, options);
    return {
      name,
      nodes: nodes.map((node) => ({
        replicaId: node.replicaId,
        name: node.name,
        ip: node.ip,
        endpoints: { tcp: node.tcpPort, quic: node.quicPort, http: node.httpPort, websocket: node.websocketPort },
        role: node.role === NodeRole.leader ? "leader" : "follower",
        status: nameOf(NodeStatus, node.status) ?? "unknown",
      })),
    };
  }

  /** The cached route of a partition, asked for when there is none or `refresh` is set. */
  async getRoute(
    call: { readonly streamId: Id; readonly topicId: Id; readonly partitionId: number; readonly refresh?: boolean },
    options: CallOptions = {},
  ): Promise<PartitionRouteInfo> {
    const partition = {
      streamId: toIdentifier("streamId", call.streamId),
      topicId: toIdentifier("topicId", call.topicId),
      partitionId: u32("partitionId", call.partitionId),
    };
    const routes = this.#routes;
    if (routes === undefined) throw new FeatureUnavailableError("cluster.getRoute needs a binary transport");
    const known = routes.usable(partition);
    if (known !== undefined && call.refresh === true) routes.cache.unavailable(known);
    return routeInfo(await findRoute(routes, partition, options));
  }
}

const routeInfo = (route: Route): PartitionRouteInfo => ({
  incarnation: route.incarnation,
  metadataOp: route.metadataOp,
  view: route.view,
  partitionsCount: route.partitionsCount,
  primaryReplica: route.primaryReplica,
});
