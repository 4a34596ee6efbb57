import { f32, list, mapped, str32, struct, tail, u32, u64, type ValueOf } from "../../codec/index.js";

/** `[stream_id u32][topic_id u32][partition_id u32][hits u64][misses u64][hit_ratio f32]` */
export const cacheMetrics = struct("cache metrics", {
  streamId: u32,
  topicId: u32,
  partitionId: u32,
  hits: u64,
  misses: u64,
  hitRatio: f32,
});
export type CacheMetrics = ValueOf<typeof cacheMetrics>;

/** `major × 1 000 000 + minor × 1000 + patch`, 0 when absent. */
const optionalSemver = mapped<number, number | null>(
  u32,
  (semver) => (semver === 0 ? null : semver),
  (semver) => semver ?? 0,
);

/**
 * Figures of a node. Sizes are bytes, `runTime` is µs, `startTime` µs since the epoch, CPU usages are percent.
 *
 *    0  process_id            u32      68  messages_size_bytes    u64
 *    4  cpu_usage             f32      76  streams_count          u32
 *    8  total_cpu_usage       f32      80  topics_count           u32
 *   12  memory_usage          u64      84  partitions_count       u32
 *   20  total_memory          u64      88  segments_count         u32
 *   28  available_memory      u64      92  messages_count         u64
 *   36  run_time              u64     100  clients_count          u32
 *   44  start_time            u64     104  consumer_groups_count  u32
 *   52  read_bytes            u64     108  hostname               [u32][UTF-8]
 *   60  written_bytes         u64       …  os_name, os_version, kernel_version, iggy_server_version, likewise
 *
 *    …  iggy_server_semver u32 · cache_metrics [u32 count][32 bytes × count] · threads_count u32 ·
 *       free_disk_space u64 · total_disk_space u64 · open_files_count u64 · open_files_limit u64
 *
 * The last two may be missing at the end of the reply and read as 0 then; earlier protocols end before them.
 */
export const figures = {
  processId: u32,
  cpuUsage: f32,
  totalCpuUsage: f32,
  memoryUsage: u64,
  totalMemory: u64,
  availableMemory: u64,
  runTime: u64,
  startTime: u64,
  readBytes: u64,
  writtenBytes: u64,
  messagesSizeBytes: u64,
  streamsCount: u32,
  topicsCount: u32,
  partitionsCount: u32,
  segmentsCount: u32,
  messagesCount: u64,
  clientsCount: u32,
  consumerGroupsCount: u32,
  hostname: str32,
  osName: str32,
  osVersion: str32,
  kernelVersion: str32,
  iggyServerVersion: str32,
  iggyServerSemver: optionalSemver,
  cacheMetrics: list(u32, cacheMetrics),
  threadsCount: u32,
  freeDiskSpace: u64,
  totalDiskSpace: u64,
} as const;

const layout = struct("stats", {
  ...figures,
  openFiles: tail(struct("open files", { count: u64, limit: u64 }), { count: 0n, limit: 0n }),
});

/** Figures of a node; the two figures of open files are one optional tail on the wire. */
export const stats = mapped(
  layout,
  ({ openFiles, ...rest }) => ({ ...rest, openFilesCount: openFiles.count, openFilesLimit: openFiles.limit }),
  ({ openFilesCount, openFilesLimit, ...rest }) => ({
    ...rest,
    openFiles: { count: openFilesCount, limit: openFilesLimit },
  }),
);
