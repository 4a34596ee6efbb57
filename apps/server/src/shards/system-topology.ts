import { readdirSync, readFileSync } from "node:fs";
import type { Topology } from "./cores.js";

const CPUS = "/sys/devices/system/cpu";

/** The topology that Linux shows under /sys; without it every core is one of its own, on one node. */
export function systemTopology(allowed: readonly number[]): Topology {
  return {
    allowed,
    nodeOf: (core) => {
      const link = entriesOf(`${CPUS}/cpu${core}`).find((name) => /^node\d+$/.test(name));
      return link === undefined ? 0 : Number(link.slice("node".length));
    },
    siblingsOf: (core) => parseCores(textOf(`${CPUS}/cpu${core}/topology/thread_siblings_list`)) ?? [core],
  };
}

/** A list of cores as the kernel writes it, such as `0-3,8`; undefined when it is none. */
export function parseCores(text: string | undefined): readonly number[] | undefined {
  if (text === undefined || !/^\d+(-\d+)?(,\d+(-\d+)?)*$/.test(text.trim())) return undefined;
  return text
    .trim()
    .split(",")
    .flatMap((range) => {
      const [first = 0, last = first] = range.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, at) => first + at);
    });
}

function entriesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
