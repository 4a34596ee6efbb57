import { join } from "node:path";
import { type DataDirectory, type Io, openMetadataStore } from "@iggy/storage";
import { afterTimeout } from "./after-timeout.js";
import type { Backend } from "./backend/index.js";
import { clusterIdOf } from "./cluster-id.js";
import type { ServerConfig, Settings } from "./config/index.js";
import { CommandTable } from "./dispatch/command-table.js";
import { FrameGate } from "./dispatch/frame-gate.js";
import { PartitionCommands } from "./dispatch/partition-commands.js";
import { Encryption } from "./encryption/index.js";
import { Housekeeping } from "./housekeeping.js";
import { HttpService } from "./http/http-service.js";
import { inTurn } from "./in-turn.js";
import type { Logger, Logging } from "./logging/index.js";
import { LocalMetadata } from "./metadata/local-metadata.js";
import { MetadataPlane } from "./metadata/metadata-plane.js";
import { MachineCatalog } from "./metadata/partition-catalog.js";
import { passwordSecrets } from "./metadata/password-secrets.js";
import { touchedTopics } from "./metadata/touched-topics.js";
import { Listeners, type BoundPorts, withBoundPorts } from "./net/listeners.js";
import { openQuicListener } from "./net/quic/index.js";
import { openTcpListener } from "./net/open-tcp-listener.js";
import { Reception } from "./net/reception.js";
import { RingSockets } from "./net/ring-sockets.js";
import { socketSlots } from "./net/socket-slots.js";
import { openWebSocketListener } from "./net/websocket/index.js";
import { type ConnectionFacts, factsOf } from "./node/connection-facts.js";
import { NodeService } from "./node/node-service.js";
import { openPartitionPlane, type PartitionPlane } from "./partitions/index.js";
import { metadataConfig, partitionLimits } from "./plane-settings.js";
import { ConnectionTable } from "./sessions/connection-table.js";
import { SessionLeases } from "./sessions/lease.js";
import { SessionService } from "./sessions/session-service.js";
import { unbindEnded } from "./sessions/unbind-ended.js";
import { openShards, type Shards } from "./shards/index.js";
import { SnapshotCollector } from "./snapshot/index.js";
import {
  advertisedAddressFor,
  currentConfigPath,
  standaloneAddresses,
  SystemProbe,
  writeCurrentConfig,
} from "./system/index.js";
import { systemClock } from "./system-clock.js";
import { SERVER_VERSION } from "./version.js";

const STANDALONE_CLUSTER = "single-node";
const STANDALONE_NODE = "iggy-node";
const STANDALONE_REPLICA = 0;

export interface ServerDeps {
  readonly settings: Settings;
  readonly logging: Logging;
  /** The disk that holds the data; that of the machine without one. */
  readonly io?: Io;
  /** The node can't go on: what it promised to keep can't be kept. */
  readonly onFatal: (error: Error) => void;
}

/** The parts of a running node that its stop takes down. */
export interface ServerParts {
  readonly config: ServerConfig;
  readonly directory: DataDirectory;
  readonly metadata: MetadataPlane;
  readonly partitions: PartitionPlane;
  readonly shards: Shards;
  readonly connections: ConnectionTable;
  readonly gate: FrameGate;
  readonly housekeeping: Housekeeping;
  /** Undefined where HTTP is switched off. */
  readonly http: HttpService | undefined;
  readonly listeners: Listeners;
  readonly log: Logger;
}

/** Builds the node. Rejects, with nothing left running, when a part of it does not start. */
export async function openParts(deps: ServerDeps, backend: Backend, directory: DataDirectory): Promise<ServerParts> {
  const started: Stop[] = [];
  try {
    return await build(deps, backend, directory, started);
  } catch (error) {
    await inTurn(started.reverse()).catch((failure: unknown) =>
      deps.logging.part("server").error({ err: failure }, "what was started could not be closed cleanly"),
    );
    throw error;
  }
}

/** Ends a part that was started. */
type Stop = () => void | Promise<void>;

/** Inside out: log and state first, then what serves them, then the door. */
async function build(
  { settings, logging, onFatal, io }: ServerDeps,
  backend: Backend,
  directory: DataDirectory,
  started: Stop[],
): Promise<ServerParts> {
  const { config, dataDirectory } = settings;
  const disk = io ?? backend.io;
  const log = logging.part("server");
  const clock = systemClock;
  const clusterName = STANDALONE_CLUSTER;
  const cluster = clusterIdOf(clusterName);
  const nodes = [STANDALONE_REPLICA];
  const identity = { clusterId: cluster, replicaId: STANDALONE_REPLICA, replicaCount: nodes.length };

  const metadataStore = await openMetadataStore(disk, dataDirectory, {
    ...identity,
    journalSlots: config.metadata.journalSlots,
    prepareQueueDepth: config.metadata.prepareQueueDepth,
  });
  const connections = new ConnectionTable();
  const leases = new SessionLeases();
  // Metadata and partitions report to the background work, which in turn needs both.
  const late: { housekeeping?: Housekeeping; http?: HttpService } = {};
  let ports: BoundPorts = { tcp: 0, websocket: 0, quic: 0, http: 0 };

  const encryption = await Encryption.open(config.encryption, {
    makeCipher: backend.makeCipher,
    catalog: () => metadata.machine,
    log: logging.part("encryption"),
  });
  const { messageBus } = config;
  const slots = socketSlots(messageBus);
  const shards: Shards = openShards(
    {
      ...identity,
      settings,
      backend,
      slots,
      isAlone: io !== undefined,
      nodes,
      log,
      logOf: (part) => logging.part(part),
      onFatal,
    },
    () => ({
      machine: metadata.machine,
      own: partitions,
      metadata: localMetadata,
      openKey: (streamId) => encryption.openKey(streamId),
      groupDrained: () => late.housekeeping?.groupDrained(),
      answerNodeRead: (code, query) => node.answer(code, query),
    }),
  );
  const catalog = new MachineCatalog(
    () => metadata.machine,
    nodes,
    (partition) => shards.isOwn(partition),
  );
  const partitions: PartitionPlane = openPartitionPlane({
    io: disk,
    dataDirectory,
    identity,
    environment: {
      cluster,
      replica: STANDALONE_REPLICA,
      clock,
      timers: {
        after: afterTimeout,
      },
      catalog,
      cipherOf: (address) => encryption.cipherOf(address),
      machinery: { hashing: backend.hasher, checksums: backend.checksums, readMemory: backend.ring?.blocks },
      events: {
        groupDrained: () => late.housekeeping?.groupDrained(),
        historyEnded: () => undefined,
        counted: (partition) => shards.counted(partition),
      },
      log: logging.part("partitions"),
      limits: partitionLimits(config, shards.count),
      sessionParking: shards.sessionParking,
    },
  });
  const neighbours = neighboursOf(shards, nodes);
  const metadata = new MetadataPlane({
    ...metadataStore,
    config: metadataConfig(config, nodes),
    cluster,
    replica: STANDALONE_REPLICA,
    prepareQueueDepth: config.metadata.prepareQueueDepth,
    clock,
    secrets: { ...(await passwordSecrets()), ...encryption.streamKeys },
    neighbours,
    onCommitted: (prepare, effects) => shards.committed(prepare, effects),
    isBehind: () => shards.isBehind,
    onEffects: (effects) => {
      unbindEnded(effects, connections, leases);
      late.http?.follow(effects);
      for (const topic of touchedTopics(effects)) partitions.reconcile(topic);
    },
    onFatal,
    log: logging.part("metadata"),
  });
  const localMetadata = new LocalMetadata(metadata);
  started.push(
    () => shards.stop(config.sharding.shutdownJoinTimeoutMillis),
    () => metadata.close(),
    () => partitions.close(),
    () => shards.closePartitions(config.sharding.shutdownJoinTimeoutMillis),
  );
  if (metadata.appliedOp === 0) await createRoot(metadata, settings);
  await encryption.check();

  const allConnections = async (): Promise<readonly ConnectionFacts[]> => [
    ...Array.from(connections.all(), factsOf),
    ...(await shards.connections()),
  ];
  const node = new NodeService({
    machine: metadata.machine,
    connections: allConnections,
    partitionStats: neighbours,
    probe: new SystemProbe({ dataDirectory, nowMicros: () => clock.nowMicros() }),
    snapshots: new SnapshotCollector(snapshotSources(settings), logging.part("snapshot")),
    serverVersion: SERVER_VERSION,
    clusterName,
    describeNode: (peerAddress) => ({
      replicaId: STANDALONE_REPLICA,
      name: STANDALONE_NODE,
      ip: advertisedIp(config, peerAddress),
      tcpPort: ports.tcp,
      quicPort: ports.quic,
      httpPort: ports.http,
      websocketPort: ports.websocket,
    }),
    log,
  });
  await shards.start();
  await Promise.all([partitions.start({ removeUnknown: !metadataStore.recovered.fresh }), shards.startPartitions()]);

  const sessions = new SessionService({
    authority: localMetadata,
    connections,
    serverVersion: SERVER_VERSION,
    log: logging.part("sessions"),
  });
  const partitionCommands = new PartitionCommands(metadata.view, shards.requests);
  const commands = new CommandTable({
    sessions,
    metadata: localMetadata,
    partitions: partitionCommands,
    node,
    log,
  });
  const gate = new FrameGate({
    connections,
    leases,
    commands,
    isSessionLive: (client, session) => metadata.view.isSessionLive(client, session),
    log: logging.part("tcp"),
  });
  const http = config.http.enabled
    ? new HttpService({
        config,
        machine: metadata.machine,
        directory: metadata.view,
        choice: partitionCommands.choice,
        metadata,
        desk: localMetadata.desk,
        commands,
        partitionStats: neighbours,
        connections: allConnections,
        leases,
        clock,
        view: () => metadata.viewNumber,
        serverVersion: SERVER_VERSION,
        log: logging.part("http"),
      })
    : undefined;
  if (http !== undefined) late.http = http;
  started.push(() => http?.close());
  const housekeeping = new Housekeeping({
    metadata,
    partitions,
    retireSessions: (sessions) => shards.retireSessions(sessions),
    connections,
    leases,
    hearElsewhere: async () => {
      for (const { client, silentMillis } of await shards.heardSessions()) {
        leases.touch(client, clock.monotonicMillis() - silentMillis);
      }
      http?.hearBusy();
    },
    clock,
    progressOf: (handovers) => shards.progressOf(handovers),
    reportUsage: () => node.reportUsage(),
    dueRewraps: () => encryption.dueRewraps(),
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

  const reception = new Reception({
    messageBus,
    connections,
    handler: gate,
    clock,
    ids: { first: 1, step: shards.count },
  });
  const { ring } = backend;
  const listeners = await Listeners.open(config, {
    tcp: () =>
      openTcpListener({
        config,
        reception,
        slots,
        ring: ring && {
          parts: ring,
          sockets: new RingSockets({
            ring,
            reception,
            slots,
            closeGraceMillis: messageBus.closeGraceMillis,
            evict: (bytes) => partitions.evictResident(bytes),
            log: logging.part("tcp"),
          }),
          seat: shards.seat,
        },
        log: logging.part("tcp"),
      }),
    websocket: () => openWebSocketListener({ config, reception, slots }),
    quic: () =>
      openQuicListener({
        config,
        reception,
        isAskedFor: settings.setKeys.has("quic.enabled"),
        log: logging.part("quic"),
      }),
    http: () => (http === undefined ? Promise.resolve(undefined) : http.listen(slots)),
  });
  started.push(() => listeners.close());
  ({ ports } = listeners);
  await writeCurrentConfig(dataDirectory, withBoundPorts(config, ports));
  housekeeping.start();
  http?.ready();
  await shards.pin();
  return { config, directory, metadata, partitions, shards, connections, gate, housekeeping, http, listeners, log };
}

async function createRoot(metadata: MetadataPlane, settings: Settings): Promise<void> {
  const credentials = settings.rootCredentials;
  if (credentials === undefined) throw new Error("the first start of a data directory needs root credentials");
  await metadata.createRoot(credentials.username, credentials.password.reveal());
}

function advertisedIp(config: ServerConfig, peerAddress: string): string {
  const addresses = standaloneAddresses(config);
  const peerIp = peerAddress.slice(0, peerAddress.lastIndexOf(":")).replace(/^\[|\]$/g, "");
  return addresses === undefined ? config.tcp.address.host : advertisedAddressFor(addresses, peerIp);
}

/** The partitions of all shards as metadata sees them. */
const neighboursOf = (
  shards: Shards,
  nodes: readonly number[],
): ConstructorParameters<typeof MetadataPlane>[0]["neighbours"] => ({
  progressOf: (partitions, groupId) => shards.progressOf(partitions.map((partition) => ({ partition, groupId }))),
  countersOf: (partition) => {
    const stats = shards.statsOf(partition);
    return stats && { ...stats, inSync: nodes };
  },
  deletableThrough: (partition, segmentsCount) => shards.deletableThrough(partition, segmentsCount),
});

const snapshotSources = ({ config, dataDirectory }: Settings): ConstructorParameters<typeof SnapshotCollector>[0] => ({
  dataDirectory,
  logDirectory: join(dataDirectory, config.logging.path),
  currentConfigPath: currentConfigPath(dataDirectory, config),
});
