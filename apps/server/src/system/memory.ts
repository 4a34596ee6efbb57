import { freemem, totalmem } from "node:os";
import { dirname, join } from "node:path";
import type { KernelFiles } from "./proc.js";

export interface Memory {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

/** A cgroup limit above this is the kernel's way to say that there is none. */
const NO_LIMIT = 2 ** 60;

/**
 * Memory this process may use: the tightest cgroup limit on the way to the root when one is below the host's memory,
 * otherwise the host. What the kernel can reclaim (inactive file pages) counts as available.
 */
export async function readMemory(files: KernelFiles): Promise<Memory> {
  const host = await readHostMemory(files);
  const capped = await readCgroupMemory(files);
  return capped !== undefined && capped.totalBytes < host.totalBytes ? capped : host;
}

async function readHostMemory(files: KernelFiles): Promise<Memory> {
  const fields = await files.fields("proc/meminfo");
  const total = kibibytes(fields.get("MemTotal"));
  const available = kibibytes(fields.get("MemAvailable"));
  return { totalBytes: total ?? totalmem(), availableBytes: available ?? freemem() };
}

function kibibytes(text: string | undefined): number | undefined {
  const match = /^(\d+) kB$/.exec(text ?? "");
  return match === null ? undefined : Number(match[1]) * 1024;
}

/** Where the two generations of cgroups keep the same three facts. */
const LAYOUTS = [
  { mount: "sys/fs/cgroup", limit: "memory.max", used: "memory.current", reclaimable: "inactive_file" },
  {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
  },
] as const;

async function readCgroupMemory(files: KernelFiles): Promise<Memory | undefined> {
  const groups = (await files.text("proc/self/cgroup")) ?? "";
  const unified = /^0::(\/.*)$/m.exec(groups)?.[1];
  const legacy = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m.exec(groups)?.[1];
  const candidates: Memory[] = [];
  for (const [layout, group] of [
    [LAYOUTS[0], unified],
    [LAYOUTS[1], legacy],
  ] as const) {
    // A container may see only its own part of the tree, so missing levels are passed over up to the mount itself.
    for (let path = group; path !== undefined; path = path === "/" ? undefined : dirname(path)) {
      const limited = await readGroup(files, join(layout.mount, path), layout);
      if (limited !== undefined) candidates.push(limited);
    }
  }
  return candidates.sort((a, b) => a.totalBytes - b.totalBytes)[0];
}

async function readGroup(
  files: KernelFiles,
  directory: string,
  layout: (typeof LAYOUTS)[number],
): Promise<Memory | undefined> {
  const limit = Number(await files.text(join(directory, layout.limit)));
  if (!(limit > 0 && limit < NO_LIMIT)) return undefined;
  const used = Number((await files.text(join(directory, layout.used))) ?? 0);
  const statistics = (await files.text(join(directory, "memory.stat"))) ?? "";
  const reclaimable = Number(new RegExp(`^${layout.reclaimable} (\\d+)$`, "m").exec(statistics)?.[1] ?? 0);
  const held = Math.max(0, used - reclaimable);
  return { totalBytes: limit, availableBytes: Math.max(0, limit - held) };
}
