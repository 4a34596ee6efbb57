import { availableParallelism } from "node:os";
import { type RunningServer, startServer as startHere, type StartServerOptions } from "../src/index.js";
import { startServerOn } from "../src/start-server.js";
import { thisMachine } from "../src/system/index.js";

export type { RunningServer };

/** Shards of every server of the tests that does not say so itself: `IGGY_TEST_SHARDS`. */
const shards = Number(process.env["IGGY_TEST_SHARDS"] ?? 1);
/** `IGGY_TEST_CLIENT_SHARD=1`: clients are served by shards that do not order metadata. */
const skipsShardZero = process.env["IGGY_TEST_CLIENT_SHARD"] === "1";

/** As many cores as the shards need, whatever there are. */
const allowedCores = Array.from({ length: Math.max(shards, availableParallelism()) }, (_, core) => core);

export function startServer(options: StartServerOptions = {}): Promise<RunningServer> {
  if (shards === 1) return startHere(options);
  const config = {
    "sharding.cpu_allocation": shards,
    "cluster.coordinator.skip_shard_zero_for_clients": skipsShardZero,
    ...options.config,
  };
  return startServerOn({ ...thisMachine({}), allowedCores }, { ...options, config });
}
