import { SnapshotType } from "@iggy/protocol";
import { open, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { logFiles, LOG_FILE_NAME } from "../logging/index.js";
import { listDirectory } from "./listing.js";
import { processTable, threadTable, type ThreadSample } from "./processes.js";

/** Where the sections come from. */
export interface SectionSources {
  readonly dataDirectory: string;
  readonly logDirectory: string;
  /** `runtime/current_config.toml`, which is written without secrets. */
  readonly currentConfigPath: string;
}

export interface Section {
  readonly name: string;
  readonly collect: (sources: SectionSources) => Promise<readonly Uint8Array[]>;
}

/** Newest bytes of the logs that go into an archive; with the other sections it stays below the largest frame. */
export const LOG_BYTES_MAX = 32 * 2 ** 20;
/** Time between the two readings of the threads' CPU time. */
const SAMPLE_MILLIS = 250;

const text = (value: string): readonly Uint8Array[] => [Buffer.from(value)];

export const sections: ReadonlyMap<number, Section> = new Map<number, Section>([
  [
    SnapshotType.filesystem_overview,
    {
      name: "filesystem_overview",
      collect: async ({ dataDirectory }) => {
        const listings = [dataDirectory, "/tmp", "/proc"].map(listDirectory);
        return text((await Promise.all(listings)).join("\n"));
      },
    },
  ],
  [SnapshotType.process_list, { name: "process_list", collect: async () => text(await processTable()) }],
  [SnapshotType.resource_usage, { name: "resource_usage", collect: async () => text(await threadUsage()) }],
  [SnapshotType.test, { name: "test", collect: () => Promise.resolve(text("test")) }],
  [SnapshotType.server_logs, { name: "server_logs", collect: ({ logDirectory }) => newestLogs(logDirectory) }],
  [
    SnapshotType.server_config,
    { name: "server_config", collect: async ({ currentConfigPath }) => [await readFile(currentConfigPath)] },
  ],
]);

async function threadUsage(): Promise<string> {
  const before: ThreadSample = await threadTable();
  await sleep(SAMPLE_MILLIS);
  const after: ThreadSample = await threadTable();
  const lines = [...after].map(([id, thread]) => {
    const ticks = thread.cpuTicks - (before.get(id)?.cpuTicks ?? thread.cpuTicks);
    // A clock tick of the kernel's accounting is 10 ms.
    const percent = ((ticks * 10) / SAMPLE_MILLIS) * 100;
    return `${id.padStart(8)} ${percent.toFixed(1).padStart(6)} ${thread.state} ${thread.name}`;
  });
  return `${"THREAD".padStart(8)} ${"CPU%".padStart(6)} S NAME\n${lines.join("\n")}\n`;
}

/** The end of all log files together, oldest first. */
async function newestLogs(directory: string): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  let room = LOG_BYTES_MAX;
  for (const path of (await logFiles(directory, LOG_FILE_NAME)).reverse()) {
    if (room === 0) break;
    const piece = await readEnd(path, room);
    pieces.unshift(piece);
    room -= piece.length;
  }
  return pieces;
}

async function readEnd(path: string, bytesMax: number): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, bytesMax));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
