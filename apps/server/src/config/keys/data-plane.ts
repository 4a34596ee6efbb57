import { cpuAllocationKind } from "../kinds/cpu-allocation.js";
import { intKind } from "../kinds/plain.js";
import { dormant, key, optional, section } from "../schema.js";
import { bool, duration, int, optionalSize, size } from "./declare.js";

const QUEUE_MAX = 2 ** 20;

export const sharding = section({
  cpu_allocation: key(
    cpuAllocationKind,
    "numa:auto",
    'Shards and their cores: "all", a number, "A..B", "numa:auto" or "numa:nodes=..". Unset: one shard.',
  ),
  pin_cores: bool(true, "Pin each shard to its core, when `cpu_allocation` is set."),
  inbox_capacity: int(65_536, { min: 1, max: QUEUE_MAX }, "Requests from one shard to another that may be under way."),
  reply_inbox_capacity: int(1024, { min: 1, max: QUEUE_MAX }, "Replies between two shards that wait to be taken."),
  poll_completion_capacity: int(
    1024,
    { min: 1, max: QUEUE_MAX },
    "Disk polls running or finished and waiting, per shard.",
  ),
  partition_io_capacity: int(16, { min: 1, max: QUEUE_MAX }, "Partition file jobs running at a time."),
  partition_io_bytes_max: dormant(optionalSize({ above: "0" }, "Memory the file jobs of one shard may hold.")),
  deferred_poll_max_wait: duration(
    "30 s",
    { above: "0", max: "10 min" },
    "Longest hold of a deferred poll; a longer request is shortened.",
  ),
  deferred_poll_max_pending: int(1024, { min: 1, max: QUEUE_MAX }, "Parked polls; one more is refused with error 90."),
  deferred_poll_max_pending_per_session: int(
    64,
    { min: 1, max: QUEUE_MAX },
    "Parked polls of one session; one more is refused with error 90.",
  ),
  deferred_poll_max_read_bytes: size(
    "16 MiB",
    { above: "0" },
    "Memory one parked read reserves, and the largest deferred reply.",
  ),
  deferred_poll_max_inflight_bytes: size("64 MiB", { above: "0" }, "Memory all parked reads reserve together."),
  shutdown_drain_timeout: duration(
    "10 s",
    { above: "0", max: "600 s" },
    "Time a graceful stop gives to connections and requests in flight.",
  ),
  shutdown_poll_interval: dormant(
    duration("50 ms", { above: "0", max: "5 s" }, "How often a shard looks for the stop signal."),
  ),
  shutdown_join_timeout: duration(
    "30 s",
    { above: "0", max: "900 s" },
    "Time until a stuck shard is abandoned at the stop.",
  ),
  reconcile_periodic_interval: dormant(
    duration("1 s", { above: "0", max: "30 s" }, "Fallback period of the partition reconciler."),
  ),
});

export const metadata = section({
  prepare_queue_depth: int(32, { min: 1, max: 127 }, "Uncommitted metadata operations in flight."),
  journal_slots: int(1024, { max: 2 ** 20 }, "Slots of the metadata journal."),
  clients_table_max: int(
    8192,
    { min: 2, max: 65_536 },
    "Sessions. The first committed operation of a data directory fixes the number for good.",
  ),
  partitions_max: int(0, {}, "Partitions of all topics together; 0 is no limit."),
  change_log_resource_capacity: int(65_536, { min: 1 }, "Kept records of resource changes."),
  change_log_activity_capacity: int(16_384, { min: 1 }, "Kept records of activity changes."),
});

export const partition = section({
  wal_bytes_max: size(
    "256 MiB",
    { multipleOf: 4096, min: String(128 * 2 ** 20 + 8192), max: "4 GiB" },
    "Budget of the prepare log of one partition. Checkpoints start at half of it.",
  ),
  wal_group_commit_delay_micros: int(
    0,
    { max: 10_000 },
    "Microseconds to wait for more writes before one sync. Nobody waits on an idle partition.",
  ),
  validate_checksum: bool(true, "Verify every batch a disk read returns."),
  prepare_queue_depth: int(
    32,
    { min: 1, max: 127 },
    "Uncommitted operations of one partition; twice as many requests wait behind them.",
  ),
  dedup_clients_max: int(
    4096,
    { min: 1, max: 65_536 },
    "Writers with retry protection per partition. The first committed operation of a partition fixes the number.",
  ),
  consumer_offsets_max: int(4096, { min: 1, max: 262_144 }, "Stored offsets per partition and kind of consumer."),
  offset_reservation_lease: int(
    65_536,
    { min: 1, max: 16_777_216 },
    "Offsets reserved ahead in the superblock of a partition.",
  ),
  evicted_ring_capacity: dormant(int(65_536, { min: 1, max: 65_536 }, "Committed prepares kept for peers.")),
  evicted_ring_bytes_max: dormant(size("64 MiB", { above: "0", max: "256 MiB" }, "Bytes of those prepares.")),
  repair_memory_bytes_max: dormant(size("1 GiB", { above: "0" }, "Memory of all repairs of the node.")),
  transfer_served_cache_bytes_max: dormant(
    size("2176 MiB", { above: "0", max: "64 GiB" }, "Segment bytes kept resident for state transfers."),
  ),
  transfer_artifact_bytes_max: dormant(size("1088 MiB", { max: "64 GiB" }, "Largest received artifact.")),
});

export const messageBus = section({
  max_batch: dormant(int(256, { min: 1, max: 512 }, "Frames written together.")),
  max_message_size: size(
    "64 MiB",
    { min: "280 B", max: "256 MiB" },
    "Largest frame. A client that announces a larger one is disconnected.",
  ),
  replica_read_buffer_size: dormant(
    size("32 KiB", { min: "4 KiB", max: "16 MiB", orZero: true, words: true }, "Read-ahead of a replica link."),
  ),
  peer_queue_capacity: dormant(int(4096, { min: 1 }, "Queue per replica peer.")),
  client_queue_capacity: int(256, { min: 1 }, "Requests of one connection that may wait."),
  reconnect_period: dormant(duration("1 s", { above: "0" }, "Pause between dials of a replica.")),
  close_peer_timeout: dormant(duration("2 s", { above: "0" }, "Drain of one replica link at the stop.")),
  close_grace: duration("2 s", { above: "0" }, "Time a closing connection gets to take its last bytes."),
  handshake_grace: duration("10 s", { above: "0" }, "Limit of one TLS handshake."),
  connections_max: optional(
    intKind({}),
    "Open client connections; 0 is no limit. Unset: half the limit on open files.",
  ),
});
