import type { ReplicaIdentity } from "@iggy/storage";
import type { Backend } from "../backend/index.js";
import type { Settings } from "../config/index.js";
import { metadataConfig, partitionLimits } from "../plane-settings.js";
import type { ShardBoot, ShardPlan } from "./boot.js";
import { coresOf } from "./cores.js";
import { portsOf } from "./lanes/seat.js";
import { type GroupHost, ShardGroup } from "./shard-group.js";
import type { ShardLog } from "./shard-program.js";
import type { Shards } from "./shards.js";
import { sharedPool } from "./shared-pool.js";
import { SoleShard } from "./sole-shard.js";
import { systemTopology } from "./system-topology.js";
import { entryOf, startThread } from "./thread.js";
import { logBudget } from "./thread-log.js";
import { type ShardThread, superviseThread } from "./threads.js";

export interface OpenShardsDeps extends ReplicaIdentity {
  readonly settings: Settings;
  readonly backend: Backend;
  /** The disk is in the memory of this thread, so nobody else reaches it. */
  readonly isAlone: boolean;
  readonly nodes: readonly number[];
  readonly log: ShardLog;
  readonly logOf: (part: string) => ShardLog;
  /** A shard failed: the node can't go on. */
  readonly onFatal: (error: Error) => void;
  /** In place of a thread for each shard. */
  readonly runShard?: ((boot: ShardBoot) => ShardThread) | undefined;
}

/** Shards when nobody says how many: sockets are served by the first one, which others can only relieve of partitions. */
const SHARDS_DEFAULT = 1;

/** The shards that the configuration asks for, not started yet. `host` is asked once they start. */
export function openShards(deps: OpenShardsDeps, host: () => GroupHost): Shards {
  const { settings, log } = deps;
  const { sharding } = settings.config;
  const cores = coresOf(sharding.cpuAllocation, systemTopology(settings.allowedCores));
  const isSet = settings.setKeys.has("sharding.cpu_allocation") && !deps.isAlone;
  const count = isSet ? cores.length : SHARDS_DEFAULT;
  if (count === 1) return new SoleShard(() => host().own);
  log.info(
    { shards: count, cores: cores.join(",") },
    "partitions are spread over shards; the first one has the connections",
  );
  if (sharding.pinCores) log.info({}, "shards are not pinned to their cores: nothing here can do it");
  return new ShardGroup({
    plan: planOf(deps, count),
    count,
    capacities: {
      main: sharding.inboxCapacity,
      reply: sharding.replyInboxCapacity,
    },
    pool: deps.backend.ring && sharedPool(deps.backend.ring),
    host,
    startThread: deps.runShard ?? ((boot) => startShard(deps, boot)),
    log: deps.logOf("server"),
  });
}

function planOf(
  { settings, backend, nodes, clusterId, replicaId, replicaCount }: OpenShardsDeps,
  count: number,
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
    logLevels: config.logging.level,
    logBudget: logBudget(),
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
