import {
  type Client,
  type ClientDetails,
  ClientTransport,
  type ClusterNode,
  describeOptions,
  ErrorCode,
  getClient,
  getClients,
  getClusterMetadata,
  getSnapshot,
  getStats,
  HeaderKind,
  IggyError,
  nameOf,
  NO_USER_ID,
  NodeRole,
  NodeStatus,
  type OptionDescriptor,
  OptionFlag,
  OptionScope,
  type OptionScopeName,
  SnapshotCompression,
  SnapshotType,
  type Stats,
} from "@iggy/protocol";
import type { Commands } from "../commands/index.js";
import {
  byteSizeText,
  flag,
  list,
  mapped,
  nullable,
  object,
  oneOf,
  type Shape,
  type ShapeValue,
  text,
  u16,
  u32,
  u64,
  u8,
} from "../json/index.js";
import { anyCredential, json, needs, notFound, raw, route, type Route, u32Text } from "../route/index.js";
import type { Clock } from "../../request.js";
import { byteSize } from "./byte-size.js";
import { decimal } from "./decimal.js";
import { mapOf } from "./map-of.js";
import { kindShape } from "./options-json.js";

const tag = "Node";

const statsShape = object({
  process_id: u32,
  cpu_usage: decimal,
  total_cpu_usage: decimal,
  memory_usage: byteSize,
  total_memory: byteSize,
  available_memory: byteSize,
  run_time: u64,
  start_time: u64,
  read_bytes: byteSize,
  written_bytes: byteSize,
  messages_size_bytes: byteSize,
  streams_count: u32,
  topics_count: u32,
  partitions_count: u32,
  segments_count: u32,
  messages_count: u64,
  clients_count: u32,
  consumer_groups_count: u32,
  hostname: text(),
  os_name: text(),
  os_version: text(),
  kernel_version: text(),
  iggy_server_version: text(),
  iggy_server_semver: nullable(u32),
  cache_metrics: mapOf(object({ hits: u64, misses: u64, hit_ratio: decimal }), "By `<stream>-<topic>-<partition>`."),
  threads_count: u32,
  free_disk_space: byteSize,
  total_disk_space: byteSize,
  open_files_count: u64,
  open_files_limit: u64,
});

const statsJson = (stats: Stats): ShapeValue<typeof statsShape> => ({
  process_id: stats.processId,
  cpu_usage: stats.cpuUsage,
  total_cpu_usage: stats.totalCpuUsage,
  memory_usage: byteSizeText(stats.memoryUsage),
  total_memory: byteSizeText(stats.totalMemory),
  available_memory: byteSizeText(stats.availableMemory),
  run_time: stats.runTime,
  start_time: stats.startTime,
  read_bytes: byteSizeText(stats.readBytes),
  written_bytes: byteSizeText(stats.writtenBytes),
  messages_size_bytes: byteSizeText(stats.messagesSizeBytes),
  streams_count: stats.streamsCount,
  topics_count: stats.topicsCount,
  partitions_count: stats.partitionsCount,
  segments_count: stats.segmentsCount,
  messages_count: stats.messagesCount,
  clients_count: stats.clientsCount,
  consumer_groups_count: stats.consumerGroupsCount,
  hostname: stats.hostname,
  os_name: stats.osName,
  os_version: stats.osVersion,
  kernel_version: stats.kernelVersion,
  iggy_server_version: stats.iggyServerVersion,
  iggy_server_semver: stats.iggyServerSemver,
  cache_metrics: Object.fromEntries(
    stats.cacheMetrics.map(({ streamId, topicId, partitionId, hits, misses, hitRatio }) => [
      `${streamId}-${topicId}-${partitionId}`,
      { hits, misses, hit_ratio: hitRatio },
    ]),
  ),
  threads_count: stats.threadsCount,
  free_disk_space: byteSizeText(stats.freeDiskSpace),
  total_disk_space: byteSizeText(stats.totalDiskSpace),
  open_files_count: stats.openFilesCount,
  open_files_limit: stats.openFilesLimit,
});

const transportNames = { tcp: "TCP", quic: "QUIC", http: "HTTP", websocket: "WebSocket" } as const;

const clientFields = {
  client_id: u32,
  user_id: nullable(u32),
  address: text(),
  transport: oneOf("TCP", "QUIC", "HTTP", "WebSocket", "Unknown"),
  consumer_groups_count: u32,
} as const;
const clientShape = object(clientFields);
const clientDetailsShape = object({
  ...clientFields,
  consumer_groups: list(object({ stream_id: u32, topic_id: u32, group_id: u32 })),
});

function clientJson(client: Client): ShapeValue<typeof clientShape> {
  const transport = nameOf(ClientTransport, client.transport);
  return {
    client_id: client.clientId,
    user_id: client.userId === NO_USER_ID ? null : client.userId,
    address: client.address,
    transport: transport === undefined ? "Unknown" : transportNames[transport],
    consumer_groups_count: client.consumerGroupsCount,
  };
}

const clientDetailsJson = ({ client, consumerGroups }: ClientDetails): ShapeValue<typeof clientDetailsShape> => ({
  ...clientJson(client),
  consumer_groups: consumerGroups.map(({ streamId, topicId, groupId }) => ({
    stream_id: streamId,
    topic_id: topicId,
    group_id: groupId,
  })),
});

const clusterShape = object({
  name: text(),
  nodes: list(
    object({
      replica_id: u8,
      name: text(),
      ip: text(),
      endpoints: object({ tcp: u16, quic: u16, http: u16, websocket: u16 }),
      role: oneOf("leader", "follower"),
      status: oneOf("healthy", "starting", "stopping", "unreachable", "maintenance", "unknown"),
    }),
  ),
});

const nodeJson = (node: ClusterNode): ShapeValue<typeof clusterShape>["nodes"][number] => ({
  replica_id: node.replicaId,
  name: node.name,
  ip: node.ip,
  endpoints: { tcp: node.tcpPort, quic: node.quicPort, http: node.httpPort, websocket: node.websocketPort },
  role: nameOf(NodeRole, node.role) ?? "follower",
  status: nameOf(NodeStatus, node.status) ?? "unknown",
});

const descriptorShape = object({
  key: text(),
  kind: kindShape,
  updatable: flag,
  resettable: flag,
  secret: flag,
  read_only: flag,
  critical: flag,
  default_value: list(u8),
  description: text(),
});

const descriptorJson = (option: OptionDescriptor): ShapeValue<typeof descriptorShape> => ({
  key: option.key,
  kind: nameOf(HeaderKind, option.kind) ?? "raw",
  updatable: (option.flags & OptionFlag.updatable) !== 0,
  resettable: (option.flags & OptionFlag.resettable) !== 0,
  secret: (option.flags & OptionFlag.secret) !== 0,
  read_only: (option.flags & OptionFlag.readOnly) !== 0,
  critical: (option.flags & OptionFlag.critical) !== 0,
  default_value: Array.from(option.defaultValue),
  description: option.description,
});

const scopeText: Shape<OptionScopeName> = {
  schema: { type: "string", enum: ["topic", "stream", "user"] },
  read: (json) => {
    if (json === "topic" || json === "stream" || json === "user") return json;
    throw new IggyError(ErrorCode.InvalidCommand, "options belong to a topic, stream or user");
  },
};

const compressions = {
  Stored: SnapshotCompression.stored,
  Deflated: SnapshotCompression.deflated,
  Bzip2: SnapshotCompression.bzip2,
  Zstd: SnapshotCompression.zstd,
  Lzma: SnapshotCompression.lzma,
  Xz: SnapshotCompression.xz,
} as const;

const sections = {
  FilesystemOverview: SnapshotType.filesystem_overview,
  ProcessList: SnapshotType.process_list,
  ResourceUsage: SnapshotType.resource_usage,
  Test: SnapshotType.test,
  ServerLogs: SnapshotType.server_logs,
  ServerConfig: SnapshotType.server_config,
  All: SnapshotType.all,
} as const;

const snapshotBody = object({
  compression: mapped(oneOf("Stored", "Deflated", "Bzip2", "Zstd", "Lzma", "Xz"), (name): number => compressions[name]),
  snapshot_types: list(
    mapped(
      oneOf("FilesystemOverview", "ProcessList", "ResourceUsage", "Test", "ServerLogs", "ServerConfig", "All"),
      (name): number => sections[name],
    ),
    { max: 255 },
  ),
});

const figures = json(200, "Figures of this node.", statsShape);
const clients = json(200, "The connections of this node.", list(clientShape));
const clientFound = json(200, "The connection.", clientDetailsShape);
const archive = raw(200, "A ZIP with one text for each section.", "application/zip", {
  "content-disposition": "Name of the archive.",
});
const described = json(200, "The options, in the order of the catalogue.", list(descriptorShape));
const cluster = json(200, "The nodes as the caller can reach them.", clusterShape);

export const nodeRoutes = (runner: Commands, clock: Clock): readonly Route[] => [
  route({
    method: "GET",
    path: "/stats",
    tag,
    summary: "Read the figures of this node",
    access: needs("readServers"),
    place: "here",
    answers: [figures],
    serve: async ({ caller }) => figures.of(statsJson(await runner.run(caller, getStats, {}))),
  }),
  route({
    method: "GET",
    path: "/clients",
    tag,
    summary: "List the connections of this node",
    description: "HTTP sessions are no connections.",
    access: needs("readServers"),
    place: "here",
    answers: [clients],
    serve: async ({ caller }) => clients.of((await runner.run(caller, getClients, {})).clients.map(clientJson)),
  }),
  route({
    method: "GET",
    path: "/clients/{client_id}",
    tag,
    summary: "Read a connection",
    access: needs("readServers"),
    place: "here",
    params: object({ client_id: u32Text }),
    answers: [clientFound],
    serve: async ({ caller, params }) => {
      const client = await runner.run(caller, getClient, { clientId: params.client_id });
      if (client === null) throw notFound(`there is no client ${params.client_id}`);
      return clientFound.of(clientDetailsJson(client));
    },
  }),
  route({
    method: "POST",
    path: "/snapshot",
    tag,
    summary: "Collect a diagnostic archive",
    description: "`All` stands alone and means every section but `Test`.",
    access: needs("manageServers"),
    place: "here",
    body: snapshotBody,
    answers: [archive],
    serve: async ({ caller, body }) => {
      const { data } = await runner.run(caller, getSnapshot, {
        compression: body.compression,
        snapshotTypes: body.snapshot_types,
      });
      return archive.of(data, {
        "content-disposition": `attachment; filename="${archiveName(clock.nowMicros() / 1000)}"`,
      });
    },
  }),
  route({
    method: "GET",
    path: "/options/{scope}",
    tag,
    summary: "Describe the options of topics, streams or users",
    access: anyCredential,
    place: "here",
    params: object({ scope: scopeText }),
    answers: [described],
    serve: async ({ caller, params }) => {
      const { entries } = await runner.run(caller, describeOptions, { scope: OptionScope[params.scope] });
      return described.of(entries.map(descriptorJson));
    },
  }),
  route({
    method: "GET",
    path: "/cluster/metadata",
    tag,
    summary: "List the nodes of the cluster",
    access: anyCredential,
    place: "here",
    answers: [cluster],
    serve: async ({ caller }) => {
      const { name, nodes } = await runner.run(caller, getClusterMetadata, {});
      return cluster.of({ name, nodes: nodes.map(nodeJson) });
    },
  }),
];

/** `iggy_snapshot_20261130_070809.zip` */
function archiveName(nowMillis: number): string {
  const [date = "", time = ""] = new Date(nowMillis).toISOString().replace(/[-:]/g, "").split(/[T.]/);
  return `iggy_snapshot_${date}_${time}.zip`;
}
