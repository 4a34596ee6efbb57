import { join } from "node:path";
import type { MetadataConfig, MetadataEffect, PartitionKey } from "@iggy/engine";
import { ClientTransport, ErrorCode } from "@iggy/protocol";
import { type DataDirectory, type Io, LibuvIo, openDataDirectory, openMetadataStore } from "@iggy/storage";
import { clusterIdOf } from "./cluster-id.js";
import { formatAddress, type ServerConfig, type Settings } from "./config/index.js";
import { CommandTable } from "./dispatch/command-table.js";
import { FrameGate } from "./dispatch/frame-gate.js";
import { PartitionCommands } from "./dispatch/partition-commands.js";
import { Housekeeping } from "./housekeeping.js";
import type { Logger, Logging } from "./logging/index.js";
import { MetadataPlane } from "./metadata/metadata-plane.js";
import { MachineCatalog } from "./metadata/partition-catalog.js";
import { passwordSecrets } from "./metadata/password-secrets.js";
import { Connection, type ConnectionLimits } from "./net/connection.js";
import { TcpListener } from "./net/tcp-listener.js";
import { loadTlsMaterial } from "./net/tls-material.js";
import { NodeService } from "./node/node-service.js";
import { openPartitionPlane, type PartitionPlane } from "./partitions/index.js";
import type { Clock } from "./request.js";
import { ConnectionTable } from "./sessions/connection-table.js";
import { SessionLeases } from "./sessions/lease.js";
import { SessionService } from "./sessions/session-service.js";
import { SnapshotCollector } from "./snapshot/index.js";
import {
  advertisedAddressFor,
  currentConfigPath,
  openFilesLimit,
  recreateRuntimeDirectory,
  standaloneAddresses,
  SystemProbe,
  writeCurrentConfig,
} from "./system/index.js";
import { SERVER_VERSION } from "./version.js";

const STANDALONE_CLUSTER = "single-node";
const STANDALONE_NODE = "iggy-node";
const STANDALONE_REPLICA = 0;
/** Reply bytes that may wait for one slow client before its requests are read no further. */
const QUEUED_BYTES_HIGH = 8 * 1024 * 1024;
/** Reply bytes above which a client that does not read loses its connection: a few replies of the largest size. */
const QUEUED_BYTES_MAX = 256 * 1024 * 1024;
/** Recent batches that each partition keeps in memory for readers. */
const RESIDENT_BYTES_MAX = 8 * 1024 * 1024;
/** Open connections when neither the configuration nor the system names a limit. */
const CONNECTIONS_DEFAULT = 4096;

const systemClock: Clock = {
  nowMicros: () => Date.now() * 1000,
  monotonicMillis: () => performance.now(),
};

export interface ServerDeps {
  readonly settings: Settings;
  readonly logging: Logging;
  /** The node can't go on: what it promised to keep can't be kept. */
  readonly onFatal: (error: Error) => void;
}

/** One running node: data directory, planes, listeners and background work, from start to stop. */
export class Server {
  readonly host: string;
  readonly port: number;
  private readonly parts: ServerParts;
  private stopping: Promise<void> | undefined;

  private constructor(parts: ServerParts) {
    this.parts = parts;
    this.host = parts.config.tcp.address.host;
    this.port = parts.listener?.port ?? 0;
  }

  /**
   * Opens the data directory, recovers what it holds and accepts connections. Rejects, with nothing left running, when
   * any of it fails.
   */
  static async start(deps: ServerDeps): Promise<Server> {
    const { settings, logging } = deps;
    const io = new LibuvIo();
    const directory = await openDataDirectory(io, settings.dataDirectory, { fresh: settings.fresh });
    try {
      const { config } = settings;
      await logging.open(config.logging, settings.dataDirectory, () => Date.now());
      announce(settings, logging);
      await recreateRuntimeDirectory(settings.dataDirectory, config);
      const parts = await openParts(deps, io, directory);
      return new Server(parts);
    } catch (error) {
      await directory.release();
      throw error;
    }
  }

  get address(): string {
    return formatAddress(this.host, this.port);
  }

  /** Ends gracefully: no acknowledged write is lost. Repeated calls share one stop. */
  stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    return this.stopping;
  }

  private async stopOnce(): Promise<void> {
    const { config, connections, directory, gate, housekeeping, listener, log, metadata, partitions } = this.parts;
    log.info({}, "stopping");
    housekeeping.stop();
    listener?.stopAccepting();
    gate.drain();
    partitions.drain();
    await this.finishRequests(config.sharding.shutdownDrainTimeoutMillis);
    for (const connection of connections.all()) connection.end();
    await partitions.close();
    await metadata.close();
    await this.closeConnections(config.messageBus.closeGraceMillis);
    await directory.release();
    log.info({}, "stopped");
  }

  /** Waits until no request is under way, but no longer than the drain may take. */
  private async finishRequests(limitMillis: number): Promise<void> {
    const deadline = performance.now() + limitMillis;
    const busy = (): boolean => [...this.parts.connections.all()].some(({ requestsInFlight }) => requestsInFlight > 0);
    while (busy() && performance.now() < deadline) await sleep(5);
  }

  private async closeConnections(limitMillis: number): Promise<void> {
    const deadline = performance.now() + limitMillis;
    while (this.parts.connections.size > 0 && performance.now() < deadline) await sleep(5);
    for (const connection of [...this.parts.connections.all()]) connection.destroy();
    this.parts.listener?.destroyConnections();
  }
}

function announce({ notices, setKeys, showsConfig, dataDirectory }: Settings, logging: Logging): void {
  const log = logging.part("server");
  log.info({ version: SERVER_VERSION, pid: process.pid, dataDirectory }, "starting");
  for (const { level, message } of notices) log[level]({}, message);
  if (showsConfig) log.info(Object.fromEntries(setKeys), "configuration differs from the defaults in these keys");
}

const sleep = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis));

interface ServerParts {
  readonly config: ServerConfig;
  readonly directory: DataDirectory;
  readonly metadata: MetadataPlane;
  readonly partitions: PartitionPlane;
  readonly connections: ConnectionTable;
  readonly gate: FrameGate;
  readonly housekeeping: Housekeeping;
  readonly listener: TcpListener | undefined;
  readonly log: Logger;
}

/** Builds the node inside out: log and state first, then what serves them, then the door. */
async function openParts(
  { settings, logging, onFatal }: ServerDeps,
  io: Io,
  directory: DataDirectory,
): Promise<ServerParts> {
  const { config, dataDirectory } = settings;
  const log = logging.part("server");
  const clock = systemClock;
  const clusterName = STANDALONE_CLUSTER;
  const cluster = clusterIdOf(clusterName);
  const nodes = [STANDALONE_REPLICA];
  const identity = { clusterId: cluster, replicaId: STANDALONE_REPLICA, replicaCount: nodes.length };

  const metadataStore = await openMetadataStore(io, dataDirectory, {
    ...identity,
    journalSlots: config.metadata.journalSlots,
    prepareQueueDepth: config.metadata.prepareQueueDepth,
  });
  const connections = new ConnectionTable();
  const leases = new SessionLeases();
  // Metadata and partitions report to the background work, which in turn needs both.
  const late: { housekeeping?: Housekeeping } = {};
  const bound = { tcpPort: 0 };

  const catalog = new MachineCatalog(() => metadata.machine, nodes);
  const partitions: PartitionPlane = openPartitionPlane({
    io,
    dataDirectory,
    identity,
    environment: {
      cluster,
      replica: STANDALONE_REPLICA,
      clock,
      timers: {
        after: (delayMillis, run) => {
          const timer = setTimeout(run, delayMillis);
          return () => clearTimeout(timer);
        },
      },
      catalog,
      events: {
        groupDrained: () => late.housekeeping?.groupDrained(),
        historyEnded: () => undefined,
      },
      log: logging.part("partitions"),
      limits: partitionLimits(config),
    },
  });
  const neighbours = neighboursOf(partitions, nodes);
  const metadata = new MetadataPlane({
    ...metadataStore,
    config: metadataConfig(config, nodes),
    cluster,
    replica: STANDALONE_REPLICA,
    prepareQueueDepth: config.metadata.prepareQueueDepth,
    clock,
    secrets: await passwordSecrets(),
    neighbours,
    onEffects: (effects) => {
      late.housekeeping?.sessionsEnded(effects);
      for (const topic of touchedTopics(effects)) partitions.reconcile(topic);
    },
    onFatal,
    log: logging.part("metadata"),
  });
  if (metadata.appliedOp === 0) await createRoot(metadata, settings);
  partitions.reconcile();
  await partitions.settled();

  const node = new NodeService({
    machine: metadata.machine,
    connections,
    partitionStats: neighbours,
    probe: new SystemProbe({ dataDirectory, nowMicros: () => clock.nowMicros() }),
    snapshots: new SnapshotCollector(snapshotSources(settings), logging.part("snapshot")),
    serverVersion: SERVER_VERSION,
    clusterName,
    describeNode: (peerAddress) => ({
      replicaId: STANDALONE_REPLICA,
      name: STANDALONE_NODE,
      ip: advertisedIp(config, peerAddress),
      tcpPort: bound.tcpPort,
      quicPort: 0,
      httpPort: 0,
      websocketPort: 0,
    }),
    log,
  });
  const sessions = new SessionService({
    authority: metadata,
    connections,
    serverVersion: SERVER_VERSION,
    log: logging.part("sessions"),
  });
  const commands = new CommandTable({
    sessions,
    metadata,
    partitions: new PartitionCommands(metadata, partitions),
    node,
    log,
  });
  const gate = new FrameGate({
    connections,
    leases,
    commands,
    clock,
    isSessionLive: (client, session) => metadata.machine.isLiveSession(client, session),
    log: logging.part("tcp"),
  });
  const housekeeping = new Housekeeping({
    metadata,
    partitions,
    connections,
    leases,
    clock,
    groupProgress: neighbours,
    reportUsage: () => node.reportUsage(),
    periods: {
      heartbeatMillis: config.heartbeat.enabled ? config.heartbeat.intervalMillis : undefined,
      tokenCleanerMillis: config.personalAccessToken.cleaner.enabled
        ? config.personalAccessToken.cleaner.intervalMillis
        : undefined,
      segmentCleanerMillis: config.dataMaintenance.messages.cleanerEnabled
        ? config.dataMaintenance.messages.intervalMillis
        : undefined,
      usageMillis: config.logging.sysinfoPrintIntervalMillis || undefined,
      rebalancingTimeoutMillis: config.consumerGroup.rebalancingTimeoutMillis,
    },
    log,
  });
  late.housekeeping = housekeeping;

  const listener = config.tcp.enabled ? await listen(config, connections, gate, clock) : undefined;
  bound.tcpPort = listener?.port ?? 0;
  housekeeping.start();
  await writeCurrentConfig(dataDirectory, withTcpPort(config, bound.tcpPort));
  return { config, directory, metadata, partitions, connections, gate, housekeeping, listener, log };
}

async function createRoot(metadata: MetadataPlane, settings: Settings): Promise<void> {
  const credentials = settings.rootCredentials;
  if (credentials === undefined) throw new Error("the first start of a data directory needs root credentials");
  await metadata.createRoot(credentials.username, credentials.password.reveal());
}

async function listen(
  config: ServerConfig,
  connections: ConnectionTable,
  gate: FrameGate,
  clock: Clock,
): Promise<TcpListener> {
  let nextId = 1;
  const limits: ConnectionLimits = {
    maxFrameBytes: config.messageBus.maxMessageSizeBytes,
    inFlightMax: config.messageBus.clientQueueCapacity,
    queuedBytesHigh: QUEUED_BYTES_HIGH,
    queuedBytesMax: QUEUED_BYTES_MAX,
  };
  const { address, tls } = config.tcp;
  const listener = new TcpListener({
    ...address,
    ...(tls.enabled ? { tls: await loadTlsMaterial(tls) } : {}),
    handshakeTimeoutMillis: config.messageBus.handshakeGraceMillis,
    closeGraceMillis: config.messageBus.closeGraceMillis,
    connectionsMax: connectionsMax(config),
    onChannel: (channel) => {
      const connection = new Connection(nextId, ClientTransport.tcp, channel, gate, limits, clock.monotonicMillis());
      // The id is a u32 on the wire; its last value means "none".
      nextId = nextId >= 0xffff_fffe ? 1 : nextId + 1;
      connections.add(connection);
      channel.attach(connection);
    },
  });
  await listener.listen();
  return listener;
}

/** 0 is no limit; without a value half of what the system lets the process open. */
function connectionsMax(config: ServerConfig): number {
  const configured = config.messageBus.connectionsMax;
  if (configured === 0) return Infinity;
  return configured ?? Math.floor((openFilesLimit() ?? 2 * CONNECTIONS_DEFAULT) / 2);
}

function advertisedIp(config: ServerConfig, peerAddress: string): string {
  const addresses = standaloneAddresses(config);
  const peerIp = peerAddress.slice(0, peerAddress.lastIndexOf(":")).replace(/^\[|\]$/g, "");
  return addresses === undefined ? config.tcp.address.host : advertisedAddressFor(addresses, peerIp);
}

const metadataConfig = (config: ServerConfig, nodes: readonly number[]): MetadataConfig => ({
  nodes,
  serverVersion: SERVER_VERSION,
  clientsTableMax: config.metadata.clientsTableMax,
  partitionsMax: config.metadata.partitionsMax,
  tokensPerUserMax: config.personalAccessToken.maxTokensPerUser,
  defaultReplicationFactor: nodes.length,
  changeLogResourceCapacity: config.metadata.changeLogResourceCapacity,
  changeLogActivityCapacity: config.metadata.changeLogActivityCapacity,
  changesPageBytesMax: Math.min(16 * 1024 * 1024, config.messageBus.maxMessageSizeBytes),
});

const partitionLimits = (config: ServerConfig): Parameters<typeof openPartitionPlane>[0]["environment"]["limits"] => ({
  prepareQueueDepth: config.partition.prepareQueueDepth,
  dedupClientsMax: config.partition.dedupClientsMax,
  consumerOffsetsMax: config.partition.consumerOffsetsMax,
  offsetReservationLease: config.partition.offsetReservationLease,
  walBytesMax: config.partition.walBytesMax,
  validateChecksum: config.partition.validateChecksum,
  partitionIoCapacity: config.sharding.partitionIoCapacity,
  pollCompletionCapacity: config.sharding.pollCompletionCapacity,
  deferredPollMaxWaitMicros: config.sharding.deferredPollMaxWaitMillis * 1000,
  deferredPollMaxPending: config.sharding.deferredPollMaxPending,
  deferredPollMaxPendingPerSession: config.sharding.deferredPollMaxPendingPerSession,
  deferredPollMaxReadBytes: config.sharding.deferredPollMaxReadBytes,
  deferredPollMaxInflightBytes: config.sharding.deferredPollMaxInflightBytes,
  maxMessageSizeBytes: config.messageBus.maxMessageSizeBytes,
  residentBytesMax: RESIDENT_BYTES_MAX,
});

/** The partition plane as metadata sees it. */
function neighboursOf(
  partitions: PartitionPlane,
  nodes: readonly number[],
): ConstructorParameters<typeof MetadataPlane>[0]["neighbours"] {
  return {
    isInFlight: (partition, groupId) => partitions.isGroupInFlight(partition, groupId),
    countersOf: (partition) => {
      const stats = partitions.stats(partition);
      return stats && { ...stats, inSync: nodes };
    },
    deletableThrough: (partition: PartitionKey, segmentsCount) => {
      const resolution = partitions.resolveSegments(partition, partition.incarnation, segmentsCount);
      if (resolution.kind === "truncate") return resolution.throughOffset;
      return resolution.code === ErrorCode.TransientNotAccepted ? "unavailable" : undefined;
    },
  };
}

/** Topics whose partitions, owners or settings an operation changed. */
function touchedTopics(effects: readonly MetadataEffect[]): Iterable<{ streamId: number; topicId: number }> {
  const topics = new Map<string, { streamId: number; topicId: number }>();
  for (const effect of effects) {
    if (!("topicId" in effect)) continue;
    const { streamId, topicId } = effect;
    topics.set(`${streamId}/${topicId}`, { streamId, topicId });
  }
  return topics.values();
}

const snapshotSources = ({ config, dataDirectory }: Settings): ConstructorParameters<typeof SnapshotCollector>[0] => ({
  dataDirectory,
  logDirectory: join(dataDirectory, config.logging.path),
  currentConfigPath: currentConfigPath(dataDirectory, config),
});

/** The configuration with the port that was really bound, for tools that look for it. */
const withTcpPort = (config: ServerConfig, port: number): ServerConfig => ({
  ...config,
  tcp: { ...config.tcp, address: { ...config.tcp.address, port } },
});
