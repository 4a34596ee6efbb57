import {
  type CacheMetrics,
  type Client,
  ClientTransport,
  type ClusterNode,
  describeOptions,
  getClient,
  getClients,
  getClusterMetadata,
  getSnapshot,
  getStats,
  HeaderKind,
  nameOf,
  NO_USER_ID,
  NodeRole,
  NodeStatus,
  type OptionDescriptor,
  OptionFlag,
  OptionScope,
  SnapshotCompression,
  SnapshotType,
  type Stats,
  WireError,
} from "@iggy/protocol";
import { listOf, Members } from "../members.js";
import type { HttpRoutes } from "./route.js";

/** What the answering node says of itself and its cluster. */
export function addNode(routes: HttpRoutes): void {
  routes
    .add(getStats, {
      request: () => ({ method: "GET", path: "/stats" }),
      reply: ({ json }) => statsOf(new Members(json)),
    })
    .add(getClients, {
      request: () => ({ method: "GET", path: "/clients" }),
      reply: ({ json }) => ({ clients: listOf(json, clientOf) }),
    })
    .add(getClient, {
      request: ({ clientId }) => ({ method: "GET", path: `/clients/${String(clientId)}` }),
      reply: ({ json }) => {
        const details = new Members(json);
        const consumerGroups = details.list("consumer_groups", (group) => ({
          streamId: group.u32("stream_id"),
          topicId: group.u32("topic_id"),
          groupId: group.u32("group_id"),
        }));
        return { client: clientOf(details), consumerGroups };
      },
      absent: null,
    })
    .add(describeOptions, {
      request: ({ scope }) => ({ method: "GET", path: `/options/${nameOf(OptionScope, scope) ?? String(scope)}` }),
      reply: ({ json }) => ({ entries: listOf(json, descriptorOf) }),
    })
    .add(getSnapshot, {
      request: ({ compression, snapshotTypes }) => ({
        method: "POST",
        path: "/snapshot",
        body: {
          compression: pascalCase(nameOf(SnapshotCompression, compression)),
          snapshot_types: snapshotTypes.map((type) => pascalCase(nameOf(SnapshotType, type))),
        },
      }),
      reply: ({ bytes }) => ({ data: bytes }),
    })
    .add(getClusterMetadata, {
      request: () => ({ method: "GET", path: "/cluster/metadata" }),
      reply: ({ json }) => {
        const cluster = new Members(json);
        return { name: cluster.text("name"), nodes: cluster.list("nodes", nodeOf) };
      },
    });
}

const pascalCase = (name = ""): string => name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

function clientOf(client: Members): Client {
  const transport = client.text("transport").toLowerCase();
  return {
    clientId: client.u32("client_id"),
    userId: client.isAbsent("user_id") ? NO_USER_ID : client.u32("user_id"),
    transport: Object.entries(ClientTransport).find(([name]) => name === transport)?.[1] ?? 0,
    address: client.text("address"),
    consumerGroupsCount: client.u32("consumer_groups_count"),
  };
}

const flags = {
  updatable: "updatable",
  resettable: "resettable",
  secret: "secret",
  readOnly: "read_only",
  critical: "critical",
} as const satisfies Record<keyof typeof OptionFlag, string>;

function descriptorOf(option: Members): OptionDescriptor {
  const kind = option.text("kind");
  return {
    key: option.text("key"),
    kind: Object.entries(HeaderKind).find(([name]) => name === kind)?.[1] ?? 0,
    flags: Object.entries(flags).reduce(
      (bits, [flag, name]) => (option.flag(name) ? bits | OptionFlag[flag as keyof typeof flags] : bits),
      0,
    ),
    defaultValue: Uint8Array.from(option.u32s("default_value")),
    description: option.text("description"),
  };
}

/** A code that no status has. */
const unknownStatus = 255;

function nodeOf(node: Members): ClusterNode {
  const endpoints = node.object("endpoints");
  const status = node.text("status");
  return {
    replicaId: node.u32("replica_id"),
    name: node.text("name"),
    ip: node.text("ip"),
    tcpPort: endpoints.u32("tcp"),
    quicPort: endpoints.u32("quic"),
    httpPort: endpoints.u32("http"),
    websocketPort: endpoints.u32("websocket"),
    role: node.word("role", NodeRole),
    status: Object.entries(NodeStatus).find(([name]) => name === status)?.[1] ?? unknownStatus,
  };
}

const statsOf = (stats: Members): Stats => ({
  processId: stats.u32("process_id"),
  cpuUsage: stats.float("cpu_usage"),
  totalCpuUsage: stats.float("total_cpu_usage"),
  memoryUsage: stats.size("memory_usage"),
  totalMemory: stats.size("total_memory"),
  availableMemory: stats.size("available_memory"),
  runTime: stats.u64("run_time"),
  startTime: stats.u64("start_time"),
  readBytes: stats.size("read_bytes"),
  writtenBytes: stats.size("written_bytes"),
  messagesSizeBytes: stats.size("messages_size_bytes"),
  streamsCount: stats.u32("streams_count"),
  topicsCount: stats.u32("topics_count"),
  partitionsCount: stats.u32("partitions_count"),
  segmentsCount: stats.u32("segments_count"),
  messagesCount: stats.u64("messages_count"),
  clientsCount: stats.u32("clients_count"),
  consumerGroupsCount: stats.u32("consumer_groups_count"),
  hostname: stats.text("hostname"),
  osName: stats.text("os_name"),
  osVersion: stats.text("os_version"),
  kernelVersion: stats.text("kernel_version"),
  iggyServerVersion: stats.text("iggy_server_version"),
  iggyServerSemver: stats.isAbsent("iggy_server_semver") ? null : stats.u32("iggy_server_semver"),
  cacheMetrics: cacheMetricsOf(stats.object("cache_metrics")),
  threadsCount: stats.u32("threads_count"),
  freeDiskSpace: stats.size("free_disk_space"),
  totalDiskSpace: stats.size("total_disk_space"),
  openFilesCount: stats.u64("open_files_count"),
  openFilesLimit: stats.u64("open_files_limit"),
});

const cacheMetricsOf = (metrics: Members): readonly CacheMetrics[] =>
  metrics.names.map((key) => {
    const [, streamId, topicId, partitionId] = /^([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,10})$/.exec(key) ?? [];
    if (streamId === undefined) throw new WireError("Validation", `${key} names no partition`);
    const figures = metrics.object(key);
    return {
      streamId: Number(streamId),
      topicId: Number(topicId),
      partitionId: Number(partitionId),
      hits: figures.u64("hits"),
      misses: figures.u64("misses"),
      hitRatio: figures.float("hit_ratio"),
    };
  });
