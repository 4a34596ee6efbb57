import { stat } from "node:fs/promises";
import type { ReplicaIdentity } from "@iggy/storage";
import type { Backend } from "../backend/index.js";
import type { Settings } from "../config/index.js";
import type { SocketSlots } from "../net/socket-slots.js";
import { metadataConfig, partitionLimits } from "../plane-settings.js";
import type { ShardBoot, ShardPlan } from "./boot.js";
import { coresOf } from "./cores.js";
import { portsOf } from "./lanes/seat.js";
import { type GroupHost, ShardGroup } from "./shard-group.js";
import type { ShardLog } from "./shard-program.js";
import type { Shards } from "./shards.js";
import { createSessionParking } from "./session-parking.js";
import { pinShard } from "./pinning.js";
import { type PinSelf, SoleShard } from "./sole-shard.js";
import { systemTopology } from "./system-topology.js";
import { entryOf, startThread } from "./thread.js";
import { logBudget } from "./thread-log.js";
import { type ShardThread, superviseThread } from "./threads.js";

export interface OpenShardsDeps extends ReplicaIdentity {
  readonly settings: Settings;
  readonly backend: Backend;
  /** Of the sockets of the node. */
  readonly slots: SocketSlots;
  /** The disk is in the memory of this thread, so nobody else reaches it. */
  readonly isAlone: boolean;
  readonly nodes: readonly number[];
  readonly log: ShardLog;
  readonly logOf: (part: string) => ShardLog;
  /** A shard failed: the node can't go on. */
  readonly onFatal: (error: Error) => void;
}

/** Shards when nobody says how many: sockets are served by the first one, which others can only relieve of partitions. */
const SHARDS_DEFAULT = 1;

/** The shards that the configuration asks for, not started yet. `host` is asked once they start. */
export function openShards(deps: OpenShardsDeps, host: () => GroupHost): Shards {
  const { settings, log } = deps;
  const { sharding, tcp, cluster } = settings.config;
  const cores = coresOf(sharding.cpuAllocation, systemTopology(settings.allowedCores));
  const isSet = settings.setKeys.has("sharding.cpu_allocation") && !deps.isAlone;
  const count = isSet ? cores.length : SHARDS_DEFAULT;
  const isPinned = isSet && sharding.pinCores;
  const pinSelf = isPinned ? pinningOf(deps, cores[0]) : undefined;
  if (count === 1) return new SoleShard(() => host().own, pinSelf);
  const seating = {
    isSpread: deps.backend.ring !== undefined && !tcp.tls.enabled,
    skipsShardZero: cluster.coordinator.skipShardZeroForClients,
  };
  log.info({ shards: count, cores: cores.join(",") }, spreadNotice(seating.isSpread));
  if (seating.skipsShardZero && !seating.isSpread) {
    log.warn({}, "cluster.coordinator.skip_shard_zero_for_clients can't be followed: no other shard takes connections");
  }
  return new ShardGroup({
    plan: planOf(deps, count, pinSelf && cores),
    count,
    capacities: {
      main: sharding.inboxCapacity,
      reply: sharding.replyInboxCapacity,
    },
    backend: deps.backend,
    pinSelf,
    seating,
    host,
    startThread: (boot) => startShard(deps, boot),
    log: deps.logOf("server"),
  });
}

function planOf(
  { settings, backend, slots, nodes, clusterId, replicaId, replicaCount }: OpenShardsDeps,
  count: number,
  cores: readonly number[] | undefined,
): ShardPlan {
  const { config, dataDirectory } = settings;
  return {
    dataDirectory,
    identity: { clusterId, replicaId, replicaCount },
    cluster: clusterId,
    replica: replicaId,
    nodes,
    metadata: metadataConfig(config, nodes),
    partitions: partitionLimits(config, count),
    pendingMax: config.sharding.inboxCapacity,
    heartbeatMillis: config.heartbeat.enabled ? config.heartbeat.intervalMillis : undefined,
    segmentCleanerMillis: config.dataMaintenance.messages.cleanerEnabled
      ? config.dataMaintenance.messages.intervalMillis
      : undefined,
    backend: backend.kind,
    memoryBytes: Math.floor(config.memoryPool.sizeBytes / count),
    messageBus: {
      maxMessageSizeBytes: config.messageBus.maxMessageSizeBytes,
      clientQueueCapacity: config.messageBus.clientQueueCapacity,
      closeGraceMillis: config.messageBus.closeGraceMillis,
    },
    slots: slots.shared,
    sessionParking: createSessionParking(),
    cores,
    logLevels: config.logging.level,
    logBudget: logBudget(),
  };
}

const spreadNotice = (isSpread: boolean): string =>
  isSpread
    ? "partitions and plain TCP connections are spread over shards; TLS, WebSocket, QUIC and HTTP stay on the first one"
    : "partitions are spread over shards; connections, which only plain TCP on io_uring could, stay on the first one";

/** Undefined, with a line in the log, where nothing can pin a thread. */
function pinningOf({ backend, log }: OpenShardsDeps, core = 0): PinSelf | undefined {
  const { addon } = backend;
  if (addon === undefined) {
    log.info({}, "shards are not pinned to their cores: that needs the native addon");
    return undefined;
  }
  return async () => {
    // Threads of the pool would inherit the core: they are started by the first work that they get.
    await stat(".");
    return pinShard({ shard: 0, core }, addon, log);
  };
}

function startShard({ logOf, onFatal }: OpenShardsDeps, boot: ShardBoot): ShardThread {
  const { shard } = boot.seat;
  const worker = startThread(entryOf("shards/shard-worker"), {
    name: `iggy-shard-${shard}`,
    workerData: boot,
    transferList: portsOf(boot.seat),
  });
  return superviseThread(shard, worker, boot.plan.logBudget, {
    log: ({ part, level, fields, message }) => {
      logOf(part)[level]({ shard, ...fields }, message);
    },
    failed: onFatal,
  });
}
