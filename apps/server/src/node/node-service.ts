import type { MetadataMachine, PartitionStats } from "@iggy/engine";
import {
  type Client,
  type ClusterNode,
  decodeRequest,
  encodeResponse,
  ErrorCode,
  getClient,
  getClients,
  getClusterMetadata,
  getMe,
  getSnapshot,
  getStats,
  IggyError,
  NO_USER_ID,
  NodeRole,
  NodeStatus,
  type Right,
  semanticVersionNumber,
  type Stats,
} from "@iggy/protocol";
import type { NodeCommands } from "../dispatch/command-table.js";
import type { CommandRequest } from "../dispatch/command-request.js";
import type { ClientRequest } from "../request.js";
import type { SnapshotCollector } from "../snapshot/index.js";
import type { SystemProbe } from "../system/index.js";
import type { ConnectionFacts } from "./connection-facts.js";

export interface NodeServiceDeps {
  readonly machine: MetadataMachine;
  /** Those of all shards. */
  readonly connections: () => Promise<readonly ConnectionFacts[]>;
  readonly partitionStats: PartitionStats;
  readonly probe: SystemProbe;
  readonly snapshots: SnapshotCollector;
  readonly serverVersion: string;
  readonly clusterName: string;
  /** This node as a client at that address should see it. */
  readonly describeNode: (peerAddress: string) => Omit<ClusterNode, "role" | "status">;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** A read about the node: who asks what, and from where. */
export interface NodeQuery {
  readonly body: Uint8Array;
  readonly userId: number;
  readonly connection: ConnectionFacts;
}

export type NodeAnswer = { readonly payload: Uint8Array } | { readonly status: number };

type Serve = (query: NodeQuery) => NodeAnswer | Promise<NodeAnswer>;

/** Commands that are about the node. */
const nodeCodes: ReadonlySet<number> = new Set(
  [getStats, getSnapshot, getClusterMetadata, getMe, getClient, getClients].map(({ code }) => code),
);

export const isNodeCode = (code: number): boolean => nodeCodes.has(code);

/** Commands about this node: its figures, its connections, its place in the cluster, and the diagnostic archive. */
export class NodeService implements NodeCommands {
  private readonly deps: NodeServiceDeps;
  private readonly commands: ReadonlyMap<number, Serve>;

  constructor(deps: NodeServiceDeps) {
    this.deps = deps;
    this.commands = new Map<number, Serve>([
      [getStats.code, (query) => this.stats(query)],
      [getSnapshot.code, (query) => this.snapshot(query)],
      [getClusterMetadata.code, (query) => this.cluster(query)],
      [getMe.code, (query) => this.me(query)],
      [getClient.code, (query) => this.client(query)],
      [getClients.code, (query) => this.clients(query)],
    ]);
  }

  read(request: CommandRequest, code: number): boolean {
    if (!isNodeCode(code)) return false;
    const { body, userId, peer } = request;
    const answer = this.answer(code, { body, userId, connection: peer });
    if (answer instanceof Promise) void answer.then((settled) => answerRead(request, settled));
    else answerRead(request, answer);
    return true;
  }

  /** Answers a command about the node. Rejects for nothing; a body that does not decode may throw. */
  answer(code: number, query: NodeQuery): NodeAnswer | Promise<NodeAnswer> {
    const serve = this.commands.get(code);
    if (serve === undefined) return { status: ErrorCode.InvalidCommand };
    const answer = serve(query);
    if (!(answer instanceof Promise)) return answer;
    return answer.catch((error: unknown): NodeAnswer => {
      if (error instanceof IggyError) return { status: error.code };
      this.deps.log.error({ err: error, code }, "a request about the node failed unexpectedly");
      return { status: ErrorCode.Error };
    });
  }

  /** One line for operators about how the node is doing. */
  async reportUsage(): Promise<void> {
    const figures = await this.figures();
    this.deps.log.info(
      {
        cpuPercent: Math.round(figures.cpuUsage),
        memoryMiB: Math.round(Number(figures.memoryUsage) / 2 ** 20),
        freeDiskGiB: Math.round(Number(figures.freeDiskSpace) / 2 ** 30),
        clients: figures.clientsCount,
        partitions: figures.partitionsCount,
        messages: Number(figures.messagesCount),
        openFiles: Number(figures.openFilesCount),
      },
      "usage",
    );
  }

  private async stats(query: NodeQuery): Promise<NodeAnswer> {
    if (!this.allows(query, "readServers")) return unauthorized;
    return { payload: encodeResponse(getStats, await this.figures()) };
  }

  private async snapshot(query: NodeQuery): Promise<NodeAnswer> {
    const command = decodeRequest(getSnapshot, query.body);
    if (!this.allows(query, "manageServers")) return unauthorized;
    const data = await this.deps.snapshots.collect(command);
    return { payload: encodeResponse(getSnapshot, { data }) };
  }

  private cluster({ connection }: NodeQuery): NodeAnswer {
    const node = this.deps.describeNode(connection.address);
    const nodes = [{ ...node, role: NodeRole.leader, status: NodeStatus.healthy }];
    return { payload: encodeResponse(getClusterMetadata, { name: this.deps.clusterName, nodes }) };
  }

  private me({ connection }: NodeQuery): NodeAnswer {
    return { payload: encodeResponse(getMe, this.details(connection)) };
  }

  private async client(query: NodeQuery): Promise<NodeAnswer> {
    const { clientId } = decodeRequest(getClient, query.body);
    if (!this.allows(query, "readServers")) return unauthorized;
    const connection = (await this.deps.connections()).find(({ id }) => id === clientId);
    return { payload: encodeResponse(getClient, connection === undefined ? null : this.details(connection)) };
  }

  private async clients(query: NodeQuery): Promise<NodeAnswer> {
    if (!this.allows(query, "readServers")) return unauthorized;
    const clients = (await this.deps.connections()).map((connection) => this.details(connection).client);
    return { payload: encodeResponse(getClients, { clients }) };
  }

  private details({ id, transport, address, binding }: ConnectionFacts): {
    client: Client;
    consumerGroups: ReturnType<MetadataMachine["memberships"]>;
  } {
    const consumerGroups = binding === undefined ? [] : this.deps.machine.memberships(binding.client);
    return {
      client: {
        clientId: id,
        userId: binding?.userId ?? NO_USER_ID,
        transport,
        address,
        consumerGroupsCount: consumerGroups.length,
      },
      consumerGroups,
    };
  }

  private async figures(): Promise<Stats> {
    const { machine, connections, probe, partitionStats, serverVersion } = this.deps;
    const [usage, { length: clientsCount }] = await Promise.all([probe.read(), connections()]);
    const totals = machine.totals(partitionStats);
    return {
      processId: usage.processId,
      cpuUsage: usage.cpuUsage,
      totalCpuUsage: usage.totalCpuUsage,
      memoryUsage: BigInt(usage.memoryUsage),
      totalMemory: BigInt(usage.totalMemory),
      availableMemory: BigInt(usage.availableMemory),
      runTime: BigInt(usage.runTimeMicros),
      startTime: BigInt(usage.startTimeMicros),
      readBytes: BigInt(usage.readBytes),
      writtenBytes: BigInt(usage.writtenBytes),
      messagesSizeBytes: BigInt(totals.sizeBytes),
      streamsCount: totals.streamsCount,
      topicsCount: totals.topicsCount,
      partitionsCount: totals.partitionsCount,
      segmentsCount: totals.segmentsCount,
      messagesCount: BigInt(totals.messagesCount),
      clientsCount,
      consumerGroupsCount: totals.consumerGroupsCount,
      hostname: usage.host.hostname,
      osName: usage.host.osName,
      osVersion: usage.host.osVersion,
      kernelVersion: usage.host.kernelVersion,
      iggyServerVersion: serverVersion,
      iggyServerSemver: semanticVersionNumber(serverVersion),
      cacheMetrics: [],
      threadsCount: usage.threadsCount,
      freeDiskSpace: BigInt(usage.freeDiskSpace),
      totalDiskSpace: BigInt(usage.totalDiskSpace),
      openFilesCount: BigInt(usage.openFilesCount),
      openFilesLimit: BigInt(usage.openFilesLimit),
    };
  }

  private allows({ userId }: NodeQuery, right: Right): boolean {
    return this.deps.machine.mayDo(userId, right);
  }
}

const unauthorized: NodeAnswer = { status: ErrorCode.Unauthorized };

/** Answers a read of a client. */
export function answerRead(request: Pick<ClientRequest, "ok" | "deny">, answer: NodeAnswer): void {
  if ("payload" in answer) request.ok([answer.payload]);
  else request.deny(answer.status);
}
