import { readdir, readFile } from "node:fs/promises";

/** Processes listed. */
const PROCESSES_MAX = 4096;
const PAGE_BYTES = 4096;

/** CPU time of the threads of this process, by thread id. */
export type ThreadSample = ReadonlyMap<string, ThreadUsage>;

export interface ThreadUsage {
  readonly name: string;
  readonly state: string;
  readonly cpuTicks: number;
}

/**
 * The processes of the machine. Only the names of the programs appear: arguments and environments of other processes
 * may hold passwords.
 */
export async function processTable(): Promise<string> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).slice(0, PROCESSES_MAX);
  const rows = await Promise.all(ids.map((id) => readStat(`/proc/${id}/stat`)));
  const lines = rows.flatMap((row) => {
    if (row === undefined) return [];
    const memory = Math.round((row.residentPages * PAGE_BYTES) / 1024);
    return [
      [
        row.id.padStart(8),
        row.parentId.padStart(8),
        row.state,
        String(row.threads).padStart(7),
        `${memory}`.padStart(10),
      ]
        .concat(row.name)
        .join(" "),
    ];
  });
  return `     PID     PPID S THREADS    RSS KiB NAME\n${lines.join("\n")}\n`;
}

export async function threadTable(): Promise<ThreadSample> {
  const ids = await readdir("/proc/self/task");
  const rows = await Promise.all(ids.map((id) => readStat(`/proc/self/task/${id}/stat`)));
  return new Map(
    rows.flatMap((row) =>
      row === undefined ? [] : [[row.id, { name: row.name, state: row.state, cpuTicks: row.cpuTicks }]],
    ),
  );
}

interface Stat {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly parentId: string;
  readonly threads: number;
  readonly cpuTicks: number;
  readonly residentPages: number;
}

/** A line of the kernel's process table; undefined when the process is gone. */
async function readStat(path: string): Promise<Stat | undefined> {
  const line = await readFile(path, "utf8").catch(() => undefined);
  // The name stands in parentheses and may contain any character, so the last one closes it.
  const match = /^(\d+) \((.*)\) (.*)$/s.exec(line?.trim() ?? "");
  if (match === null) return undefined;
  const [, id = "", name = "", rest = ""] = match;
  const fields = rest.split(" ");
  // Counted from the state, which is the third field of the line.
  return {
    id,
    name,
    state: fields[0] ?? "?",
    parentId: fields[1] ?? "0",
    cpuTicks: Number(fields[11]) + Number(fields[12]),
    threads: Number(fields[17]),
    residentPages: Number(fields[21]),
  };
}
