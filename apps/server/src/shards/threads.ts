import type { Worker } from "node:worker_threads";
import { lineArrived, type LogBudget } from "./thread-log.js";

/** What a shard's thread tells its parent. */
export type ThreadMessage =
  | {
      readonly kind: "log";
      readonly level: LogLevelName;
      readonly part: string;
      readonly fields: object;
      readonly message: string;
    }
  | { readonly kind: "ready" };

export type LogLevelName = "debug" | "info" | "warn" | "error";

/** A shard's thread, as its parent sees it. */
export interface ShardThread {
  readonly shard: number;
  /** Resolves when it takes records; rejects when it does not come so far. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, whatever the reason, with what it ended of. */
  readonly ended: Promise<Error>;
  /** Lets it end, and resolves when it has: to false when it had to be cut off. */
  stop(withinMillis: number): Promise<boolean>;
}

export interface ThreadEvents {
  log(message: Extract<ThreadMessage, { readonly kind: "log" }>): void;
  /** It ended although nobody asked it to. */
  failed(error: Error): void;
}

export function superviseThread(shard: number, worker: Worker, budget: LogBudget, events: ThreadEvents): ShardThread {
  let isStopping = false;
  let hasExited = false;
  let isReady = false;
  let settle: { readonly ready: () => void; readonly failed: (error: Error) => void } | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    settle = { ready: resolve, failed: reject };
  });
  const fail = (error: Error): void => {
    if (!isReady) settle?.failed(error);
    else if (!isStopping) events.failed(error);
  };
  let cause: Error | undefined;
  const exited = new Promise<number>((resolve) => {
    worker.once("exit", (code) => {
      hasExited = true;
      fail((cause ??= new Error(`shard ${shard} ended with status ${code}`)));
      resolve(code);
    });
  });
  worker.on("error", (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    cause ??= new Error(`shard ${shard} failed: ${reason}`, { cause: error });
    fail(cause);
  });
  worker.on("message", (message: ThreadMessage) => {
    switch (message.kind) {
      case "log": {
        events.log(message);
        const dropped = lineArrived(budget);
        if (dropped > 0)
          events.log({
            ...message,
            level: "warn",
            fields: { dropped },
            message: "lines were dropped",
          });
        return;
      }
      case "ready":
        isReady = true;
        settle?.ready();
    }
  });
  return {
    shard,
    ready,
    ended: exited.then((code) => cause ?? new Error(`shard ${shard} ended with status ${code}`)),
    stop: async (withinMillis) => {
      // Why it ended before was told already.
      if (hasExited) return true;
      isStopping = true;
      worker.postMessage("stop");
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<"late">((resolve) => {
        timer = setTimeout(() => {
          resolve("late");
        }, withinMillis);
      });
      const outcome = await Promise.race([exited, late]);
      clearTimeout(timer);
      if (outcome !== "late") return outcome === 0;
      await worker.terminate();
      return false;
    },
  };
}
