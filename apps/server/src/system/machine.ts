import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { Environment, SettingsHost } from "../config/index.js";
import { isInContainer } from "./container.js";
import { parseCoreList } from "./proc.js";

/** The machine this process runs on, as the reading of its settings sees it. */
export function thisMachine(environment: Environment): SettingsHost {
  return {
    readText,
    fileExists: existsSync,
    listDirectory: (path) => (existsSync(path) ? readdirSync(path) : undefined),
    allowedCores: allowedCores(),
    isInContainer: isInContainer(environment),
    workingDirectory: process.cwd(),
  };
}

/** The text of a file, undefined when there is none. */
function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function allowedCores(): readonly number[] {
  const status = readText("/proc/self/status") ?? "";
  const cores = parseCoreList(/^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1] ?? "");
  return cores.length > 0 ? cores : Array.from({ length: availableParallelism() }, (_, core) => core);
}

/** Soft limit on open files of this process, undefined when it is unknown or unlimited. */
export function openFilesLimit(): number | undefined {
  const limit = /^Max open files\s+(\d+)/m.exec(readText("/proc/self/limits") ?? "")?.[1];
  return limit === undefined ? undefined : Number(limit);
}
