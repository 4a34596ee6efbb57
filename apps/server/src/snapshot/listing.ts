import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Entries listed of one directory. */
const ENTRIES_MAX = 4096;

/** A long listing of a directory: mode, owner, size, time of change, name. A directory that is missing says so. */
export async function listDirectory(directory: string): Promise<string> {
  const names = await readdir(directory).catch(() => undefined);
  if (names === undefined) return `${directory}: cannot be listed\n`;
  const lines = await Promise.all(
    names
      .sort()
      .slice(0, ENTRIES_MAX)
      .map((name) => listEntry(directory, name)),
  );
  const rest = names.length > ENTRIES_MAX ? [`... and ${names.length - ENTRIES_MAX} more`] : [];
  return `${directory}:\n${[...lines.filter((line) => line !== ""), ...rest].join("\n")}\n`;
}

async function listEntry(directory: string, name: string): Promise<string> {
  // An entry may vanish between the listing and the look at it.
  const entry = await lstat(join(directory, name)).catch(() => undefined);
  if (entry === undefined) return "";
  const kind = entry.isDirectory() ? "d" : entry.isSymbolicLink() ? "l" : entry.isSocket() ? "s" : "-";
  const owner = `${entry.uid}:${entry.gid}`.padEnd(11);
  return `${kind}${modeText(entry.mode)} ${owner} ${String(entry.size).padStart(12)} ${entry.mtime.toISOString()} ${name}`;
}

function modeText(mode: number): string {
  const permissions = [6, 3, 0].map((shift) => {
    const bits = mode >> shift;
    return `${bits & 4 ? "r" : "-"}${bits & 2 ? "w" : "-"}${bits & 1 ? "x" : "-"}`;
  });
  return permissions.join("");
}
