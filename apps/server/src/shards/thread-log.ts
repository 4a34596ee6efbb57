import type { MessagePort } from "node:worker_threads";
import type { LogDirectives } from "../config/index.js";
import type { ShardLog } from "./shard-program.js";
import type { LogLevelName, ThreadMessage } from "./threads.js";

/** Lines of all shards that may be on their way to the log. */
const LINES_MAX = 1000;
const ON_THE_WAY = 0;
const DROPPED = 1;

/** Counts lines on their way, and lines that were dropped because there were too many; shared by all shards. */
export type LogBudget = SharedArrayBuffer;

export const logBudget = (): LogBudget => new SharedArrayBuffer(8);

/** Called for each line that arrives; gives the lines that were dropped since. */
export function lineArrived(budget: LogBudget): number {
  const words = new Int32Array(budget);
  Atomics.sub(words, ON_THE_WAY, 1);
  return Atomics.load(words, DROPPED) === 0 ? 0 : Atomics.exchange(words, DROPPED, 0);
}

const ORDER: readonly string[] = ["trace", "debug", "info", "warn", "error", "fatal", "off"];

/** The log of a part of a shard, written by the thread that has the log. */
export function threadLog(part: string, port: MessagePort, directives: LogDirectives, budget: LogBudget): ShardLog {
  const wanted = directives.targets.get(part) ?? directives.level;
  const words = new Int32Array(budget);
  const line =
    (level: LogLevelName) =>
    (fields: object, message: string): void => {
      if (ORDER.indexOf(level) < ORDER.indexOf(wanted)) return;
      if (Atomics.add(words, ON_THE_WAY, 1) >= LINES_MAX) {
        Atomics.sub(words, ON_THE_WAY, 1);
        Atomics.add(words, DROPPED, 1);
        return;
      }
      const record: ThreadMessage = {
        kind: "log",
        level,
        part,
        fields,
        message,
      };
      try {
        port.postMessage(record);
      } catch {
        // Some field can't travel.
        port.postMessage({ ...record, fields: {} });
      }
    };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  };
}
