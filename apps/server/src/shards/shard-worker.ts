import { parentPort, workerData } from "node:worker_threads";
import { openBackend } from "../backend/index.js";
import { systemClock } from "../system-clock.js";
import type { ShardBoot } from "./boot.js";
import { pinShard } from "./pinning.js";
import { type ShardLog, ShardProgram } from "./shard-program.js";
import { threadLog } from "./thread-log.js";
import type { ThreadMessage } from "./threads.js";

/** The thread of a shard: runs its program until its parent says stop. */
function run(boot: ShardBoot): void {
  const port = parentPort;
  if (port === null) throw new Error("a shard runs in a thread of its own");
  const { backend: kind, memoryBytes, cores, logLevels, logBudget } = boot.plan;
  const { shard } = boot.seat;
  const backend = openBackend(kind, memoryBytes);
  const { io, hasher, checksums, makeCipher, ring } = backend;
  const logOf = (part: string): ShardLog => threadLog(part, port, logLevels, logBudget);
  const core = cores?.[shard];
  if (core !== undefined && backend.addon !== undefined) pinShard({ shard, core }, backend.addon, logOf("server"));
  const program = new ShardProgram({
    boot,
    io,
    machinery: { hashing: hasher, checksums, readMemory: ring?.blocks },
    backend,
    clock: systemClock,
    makeCipher,
    logOf,
  });
  program.start();
  port.once("message", () => {
    program.stop();
    void backend.close().finally(() => {
      port.close();
    });
  });
  const ready: ThreadMessage = { kind: "ready" };
  port.postMessage(ready);
}

// Posted by `open-shards.ts`, of the same build.
run(workerData as ShardBoot);
