import { join } from "node:path";
import type { GroupProgress, MetadataEffect, PartitionKey } from "@iggy/engine";
import { type DataDirectory, type Io, openMetadataStore } from "@iggy/storage";
import type { Block } from "@iggy/uring";
import type { Backend, RingParts } from "./backend/index.js";
import { clusterIdOf } from "./cluster-id.js";
import type { ServerConfig, Settings } from "./config/index.js";
import { CommandTable } from "./dispatch/command-table.js";
import { FrameGate } from "./dispatch/frame-gate.js";
import { PartitionCommands } from "./dispatch/partition-commands.js";
import { Encryption, portableCipher } from "./encryption/index.js";
import { Housekeeping } from "./housekeeping.js";
import { inTurn } from "./in-turn.js";
import type { Logger, Logging } from "./logging/index.js";
import { ReceiveMemory } from "./memory/receive-memory.js";
import { LocalMetadata } from "./metadata/local-metadata.js";
import { MetadataPlane } from "./metadata/metadata-plane.js";
import { MachineCatalog } from "./metadata/partition-catalog.js";
import { passwordSecrets } from "./metadata/password-secrets.js";
import { openListener } from "./net/open-listener.js";
import type { Listener } from "./net/listener.js";
import { NodeService } from "./node/node-service.js";
import { openPartitionPlane, type PartitionPlane, type TopicChange } from "./partitions/index.js";
import { metadataConfig, partitionLimits } from "./plane-settings.js";
import type { Clock } from "./request.js";
import { ConnectionTable } from "./sessions/connection-table.js";
import { SessionLeases } from "./sessions/lease.js";
import { SessionService } from "./sessions/session-service.js";
import { SnapshotCollector } from "./snapshot/index.js";
import {
  advertisedAddressFor,
  currentConfigPath,
  standaloneAddresses,
  SystemProbe,
  writeCurrentConfig,
} from "./system/index.js";
import { SERVER_VERSION } from "./version.js";

const STANDALONE_CLUSTER = "single-node";
const STANDALONE_NODE = "iggy-node";
const STANDALONE_REPLICA = 0;
const systemClock: Clock = {
  nowMicros: () => Date.now() * 1000,
  monotonicMillis: () => performance.now(),
};

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
  readonly connections: ConnectionTable;
  readonly gate: FrameGate;
  readonly housekeeping: Housekeeping;
  readonly listener: Listener | undefined;
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
  const late: { housekeeping?: Housekeeping } = {};
  const bound = { tcpPort: 0 };

  const encryption = await Encryption.open(config.encryption, {
    makeCipher: portableCipher,
    catalog: () => metadata.machine,
    log: logging.part("encryption"),
  });
  const catalog = new MachineCatalog(() => metadata.machine, nodes);
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
    secrets: { ...(await passwordSecrets()), ...encryption.streamKeys },
    neighbours,
    onCommitted: () => undefined,
    isBehind: () => false,
    onEffects: (effects) => {
      late.housekeeping?.sessionsEnded(effects);
      for (const topic of touchedTopics(effects)) partitions.reconcile(topic);
    },
    onFatal,
    log: logging.part("metadata"),
  });
  started.push(
    () => metadata.close(),
    () => partitions.close(),
  );
  if (metadata.appliedOp === 0) await createRoot(metadata, settings);
  await encryption.check();
  await partitions.start({ removeUnknown: !metadataStore.recovered.fresh });

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
  const localMetadata = new LocalMetadata(metadata);
  const sessions = new SessionService({
    authority: localMetadata,
    connections,
    serverVersion: SERVER_VERSION,
    log: logging.part("sessions"),
  });
  const commands = new CommandTable({
    sessions,
    metadata: localMetadata,
    partitions: new PartitionCommands(metadata.view, partitions),
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
  const housekeeping = new Housekeeping({
    metadata,
    partitions,
    connections,
    leases,
    clock,
    progressOf: () => progressIn(partitions),
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

  const listener = config.tcp.enabled
    ? await openListener({
        config,
        connections,
        handler: gate,
        clock,
        ring: backend.ring && { parts: backend.ring, memory: receiveMemory(backend.ring, partitions) },
        log: logging.part("tcp"),
      })
    : undefined;
  started.push(() => listener?.close());
  bound.tcpPort = listener?.port ?? 0;
  await writeCurrentConfig(dataDirectory, withTcpPort(config, bound.tcpPort));
  housekeeping.start();
  return { config, directory, metadata, partitions, connections, gate, housekeeping, listener, log };
}

/** Recent batches leave memory before a connection has to wait for some. */
const receiveMemory = (ring: RingParts, partitions: PartitionPlane): ReceiveMemory<Block> =>
  new ReceiveMemory({
    pool: ring.blocks,
    evict: (bytes) => partitions.evictResident(bytes),
    after: afterTimeout,
  });

function afterTimeout(delayMillis: number, run: () => void): () => void {
  const timer = setTimeout(run, delayMillis);
  return () => clearTimeout(timer);
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

const progressIn = (partitions: PartitionPlane): GroupProgress => ({
  isInFlight: (partition, groupId) => partitions.isGroupInFlight(partition, groupId),
});

/** The partition plane as metadata sees it. */
function neighboursOf(
  partitions: PartitionPlane,
  nodes: readonly number[],
): ConstructorParameters<typeof MetadataPlane>[0]["neighbours"] {
  return {
    progressOf: () => progressIn(partitions),
    countersOf: (partition) => {
      const stats = partitions.stats(partition);
      return stats && { ...stats, inSync: nodes };
    },
    deletableThrough: (partition: PartitionKey, segmentsCount) => {
      const resolution = partitions.resolveSegments(partition, partition.incarnation, segmentsCount);
      return resolution.kind === "truncate" ? resolution.throughOffset : "unavailable";
    },
  };
}

/** What an operation changed about topics: all that there is to it, or the owners of some groups only. */
function touchedTopics(effects: readonly MetadataEffect[]): Iterable<TopicChange> {
  const topics = new Map<string, { streamId: number; topicId: number; groupIds?: Set<number> }>();
  for (const effect of effects) {
    if (!("topicId" in effect)) continue;
    const { streamId, topicId } = effect;
    const key = `${streamId}/${topicId}`;
    const known = topics.get(key);
    if (effect.kind !== "owner-decided") topics.set(key, { streamId, topicId });
    else if (known === undefined) topics.set(key, { streamId, topicId, groupIds: new Set([effect.groupId]) });
    else known.groupIds?.add(effect.groupId);
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
