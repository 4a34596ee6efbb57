import { statfs } from "node:fs/promises";
import { cpus } from "node:os";
import { CpuMeter, cpuCounters } from "./cpu.js";
import { readHostIdentity, type HostIdentity } from "./host.js";
import { readMemory } from "./memory.js";
import { KernelFiles, parseCoreList } from "./proc.js";

/** How the process and its machine are doing. Sizes are bytes; a figure the system does not tell is 0. */
export interface SystemUsage {
  readonly processId: number;
  /** Percent of one core since the previous reading; 0 on the first. */
  readonly cpuUsage: number;
  /** Percent, averaged over the cores the process may use. */
  readonly totalCpuUsage: number;
  readonly memoryUsage: number;
  readonly totalMemory: number;
  readonly availableMemory: number;
  readonly runTimeMicros: number;
  /** Since the epoch. */
  readonly startTimeMicros: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly threadsCount: number;
  readonly freeDiskSpace: number;
  readonly totalDiskSpace: number;
  readonly openFilesCount: number;
  readonly openFilesLimit: number;
  readonly host: HostIdentity;
}

export interface SystemProbeOptions {
  readonly dataDirectory: string;
  readonly nowMicros: () => number;
  readonly files?: KernelFiles;
}

/** Counting descriptors walks a directory, so the figure may be this old. */
const OPEN_FILES_AGE_MICROS_MAX = 10_000_000;

/** Reads the figures of `SystemUsage`. One per server: CPU use is measured from one reading to the next. */
export class SystemProbe {
  readonly #options: SystemProbeOptions;
  readonly #files: KernelFiles;
  readonly #startTimeMicros: number;
  readonly #cpu = new CpuMeter();
  readonly #identity: Promise<HostIdentity>;
  readonly #allowedCores: Promise<readonly number[]>;
  readonly #openFilesLimit: Promise<number>;
  #openFiles: { readonly count: number; readonly atMicros: number } | undefined;

  constructor(options: SystemProbeOptions) {
    this.#options = options;
    this.#files = options.files ?? new KernelFiles();
    this.#startTimeMicros = options.nowMicros() - Math.round(process.uptime() * 1e6);
    this.#identity = readHostIdentity(this.#files);
    this.#allowedCores = readAllowedCores(this.#files);
    this.#openFilesLimit = readOpenFilesLimit(this.#files);
  }

  async read(): Promise<SystemUsage> {
    const nowMicros = this.#options.nowMicros();
    const [memory, io, status, disk, openFilesCount, allowedCores] = await Promise.all([
      readMemory(this.#files),
      this.#files.fields("proc/self/io"),
      this.#files.fields("proc/self/status"),
      readDisk(this.#options.dataDirectory),
      this.#countOpenFiles(nowMicros),
      this.#allowedCores,
    ]);
    const cpu = this.#cpu.usageAt(cpuCounters(nowMicros, process.cpuUsage(), cpus(), allowedCores));
    return {
      processId: process.pid,
      cpuUsage: cpu.process,
      totalCpuUsage: cpu.total,
      memoryUsage: process.memoryUsage.rss(),
      totalMemory: memory.totalBytes,
      availableMemory: memory.availableBytes,
      runTimeMicros: nowMicros - this.#startTimeMicros,
      startTimeMicros: this.#startTimeMicros,
      readBytes: Number(io.get("read_bytes") ?? 0),
      writtenBytes: Number(io.get("write_bytes") ?? 0),
      threadsCount: Number(status.get("Threads") ?? 0),
      ...disk,
      openFilesCount,
      openFilesLimit: await this.#openFilesLimit,
      host: await this.#identity,
    };
  }

  async #countOpenFiles(nowMicros: number): Promise<number> {
    if (this.#openFiles === undefined || nowMicros - this.#openFiles.atMicros > OPEN_FILES_AGE_MICROS_MAX) {
      const entries = await this.#files.entries("proc/self/fd");
      this.#openFiles = { count: entries?.length ?? 0, atMicros: nowMicros };
    }
    return this.#openFiles.count;
  }
}

async function readAllowedCores(files: KernelFiles): Promise<readonly number[]> {
  const status = await files.fields("proc/self/status");
  return parseCoreList(status.get("Cpus_allowed_list") ?? "");
}

/** The soft limit; 0 when unknown or unlimited. */
async function readOpenFilesLimit(files: KernelFiles): Promise<number> {
  const limits = (await files.text("proc/self/limits")) ?? "";
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 0);
}

async function readDisk(directory: string): Promise<{ freeDiskSpace: number; totalDiskSpace: number }> {
  try {
    const { bavail, blocks, bsize } = await statfs(directory);
    return { freeDiskSpace: bavail * bsize, totalDiskSpace: blocks * bsize };
  } catch {
    return { freeDiskSpace: 0, totalDiskSpace: 0 };
  }
}
