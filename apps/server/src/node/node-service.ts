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
import type { Connection } from "../net/connection.js";
import type { RequestFrame } from "../net/request-frame.js";
import type { ConnectionTable } from "../sessions/connection-table.js";
import type { SnapshotCollector } from "../snapshot/index.js";
import type { SystemProbe } from "../system/index.js";

export interface NodeServiceDeps {
  readonly machine: MetadataMachine;
  readonly connections: ConnectionTable;
  readonly partitionStats: PartitionStats;
  readonly probe: SystemProbe;
  readonly snapshots: SnapshotCollector;
  readonly serverVersion: string;
  readonly clusterName: string;
  /** This node as a client at that address should see it. */
  readonly describeNode: (peerAddress: string) => Omit<ClusterNode, "role" | "status">;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

type Serve = (request: RequestFrame) => void | Promise<void>;

/** Commands about this node: its figures, its connections, its place in the cluster, and the diagnostic archive. */
export class NodeService implements NodeCommands {
  private readonly deps: NodeServiceDeps;
  private readonly commands: ReadonlyMap<number, Serve>;

  constructor(deps: NodeServiceDeps) {
    this.deps = deps;
    this.commands = new Map<number, Serve>([
      [getStats.code, (request) => this.stats(request)],
      [getSnapshot.code, (request) => this.snapshot(request)],
      [getClusterMetadata.code, (request) => this.cluster(request)],
      [getMe.code, (request) => this.me(request)],
      [getClient.code, (request) => this.client(request)],
      [getClients.code, (request) => this.clients(request)],
    ]);
  }

  read(request: RequestFrame, code: number): boolean {
    const serve = this.commands.get(code);
    if (serve === undefined) return false;
    const pending = serve(request);
    pending?.catch((error: unknown) => {
      const refusal = error instanceof IggyError ? error.code : undefined;
      if (refusal === undefined)
        this.deps.log.error({ err: error, code }, "a request about the node failed unexpectedly");
      if (!request.isAnswered) request.deny(refusal ?? ErrorCode.Error);
    });
    return true;
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

  private async stats(request: RequestFrame): Promise<void> {
    if (!this.allows(request, "readServers")) return;
    request.ok([encodeResponse(getStats, await this.figures())]);
  }

  private async snapshot(request: RequestFrame): Promise<void> {
    const command = decodeRequest(getSnapshot, request.body);
    if (!this.allows(request, "manageServers")) return;
    const data = await this.deps.snapshots.collect(command);
    request.ok([encodeResponse(getSnapshot, { data })]);
  }

  private cluster(request: RequestFrame): void {
    const node = this.deps.describeNode(request.connection.channel.peerAddress);
    const nodes = [{ ...node, role: NodeRole.leader, status: NodeStatus.healthy }];
    request.ok([encodeResponse(getClusterMetadata, { name: this.deps.clusterName, nodes })]);
  }

  private me(request: RequestFrame): void {
    request.ok([encodeResponse(getMe, this.details(request.connection))]);
  }

  private client(request: RequestFrame): void {
    const { clientId } = decodeRequest(getClient, request.body);
    if (!this.allows(request, "readServers")) return;
    const connection = this.deps.connections.get(clientId);
    request.ok([encodeResponse(getClient, connection === undefined ? null : this.details(connection))]);
  }

  private clients(request: RequestFrame): void {
    if (!this.allows(request, "readServers")) return;
    const clients = [...this.deps.connections.all()].map((connection) => this.details(connection).client);
    request.ok([encodeResponse(getClients, { clients })]);
  }

  private details(connection: Connection): {
    client: Client;
    consumerGroups: ReturnType<MetadataMachine["memberships"]>;
  } {
    const { binding } = connection;
    const consumerGroups = binding === undefined ? [] : this.deps.machine.memberships(binding.client);
    return {
      client: {
        clientId: connection.id,
        userId: binding?.userId ?? NO_USER_ID,
        transport: connection.transport,
        address: connection.channel.peerAddress,
        consumerGroupsCount: consumerGroups.length,
      },
      consumerGroups,
    };
  }

  private async figures(): Promise<Stats> {
    const { machine, connections, probe, partitionStats, serverVersion } = this.deps;
    const usage = await probe.read();
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
      clientsCount: connections.size,
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

  private allows(request: RequestFrame, right: Right): boolean {
    const allowed = this.deps.machine.mayDo(request.userId, right);
    if (!allowed) request.deny(ErrorCode.Unauthorized);
    return allowed;
  }
}
