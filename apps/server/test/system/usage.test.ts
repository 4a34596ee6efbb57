import { open } from "node:fs/promises";
import type { CpuInfo } from "node:os";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { SystemProbe, thisMachine, openFilesLimit } from "../../src/system/index.js";
import { CpuMeter, cpuCounters } from "../../src/system/cpu.js";
import { KernelFiles } from "../../src/system/proc.js";

const nowMicros = (): number => Date.now() * 1000;

describe("figures of this process", () => {
  it("are plausible", async () => {
    const probe = new SystemProbe({ dataDirectory: tmpdir(), nowMicros });
    const usage = await probe.read();
    expect(usage.processId).toBe(process.pid);
    expect(usage.memoryUsage).toBeGreaterThan(10 * 2 ** 20);
    expect(usage.totalMemory).toBeGreaterThan(usage.availableMemory);
    expect(usage.threadsCount).toBeGreaterThan(1);
    expect(usage.openFilesCount).toBeGreaterThan(2);
    expect(usage.openFilesLimit).toBe(openFilesLimit());
    expect(usage.totalDiskSpace).toBeGreaterThan(usage.freeDiskSpace);
    expect(usage.freeDiskSpace).toBeGreaterThan(0);
    expect(usage.runTimeMicros).toBeGreaterThan(0);
    expect(Math.abs(usage.startTimeMicros + process.uptime() * 1e6 - nowMicros())).toBeLessThan(2e6);
    expect(usage.host.kernelVersion).not.toBe("");
    for (const value of Object.values(usage)) if (typeof value === "number") expect(Number.isFinite(value)).toBe(true);
  });

  it("show CPU use between two readings, 0 on the first", async () => {
    const probe = new SystemProbe({ dataDirectory: tmpdir(), nowMicros });
    expect((await probe.read()).cpuUsage).toBe(0);
    const end = Date.now() + 300;
    let spins = 0;
    while (Date.now() < end) spins++;
    const { cpuUsage, totalCpuUsage } = await probe.read();
    expect(spins).toBeGreaterThan(0);
    expect(cpuUsage).toBeGreaterThan(10);
    expect(totalCpuUsage).toBeGreaterThan(0);
    expect(totalCpuUsage).toBeLessThanOrEqual(100);
  });

  it("are 0 where the system tells nothing", async () => {
    const nowhere = "/nonexistent-root";
    const probe = new SystemProbe({ dataDirectory: nowhere, nowMicros, files: new KernelFiles(nowhere) });
    expect(await probe.read()).toMatchObject({
      readBytes: 0,
      writtenBytes: 0,
      threadsCount: 0,
      freeDiskSpace: 0,
      totalDiskSpace: 0,
      openFilesCount: 0,
      openFilesLimit: 0,
    });
  });

  it("count open files at most every ten seconds", async () => {
    let clock = nowMicros();
    const probe = new SystemProbe({ dataDirectory: tmpdir(), nowMicros: () => clock });
    const first = (await probe.read()).openFilesCount;
    const files = await Promise.all(Array.from({ length: 20 }, () => open("/dev/null")));
    clock += 5_000_000;
    expect((await probe.read()).openFilesCount).toBe(first);
    clock += 6_000_000;
    expect((await probe.read()).openFilesCount).toBeGreaterThanOrEqual(first + 15);
    await Promise.all(files.map((file) => file.close()));
  });
});

describe("CPU counters", () => {
  const core = (busy: number, idle: number): CpuInfo => ({
    model: "",
    speed: 0,
    times: { user: busy, nice: 0, sys: 0, idle, irq: 0 },
  });
  const at = (seconds: number, processSeconds: number, cores: readonly CpuInfo[], allowed: readonly number[] = []) =>
    cpuCounters(seconds * 1e6, { user: processSeconds * 1e6, system: 0 }, cores, allowed);

  it("give percent of one core for the process and of the allowed cores for the host", () => {
    const meter = new CpuMeter();
    meter.usageAt(at(0, 0, [core(0, 0), core(0, 0)]));
    expect(meter.usageAt(at(2, 3, [core(2000, 0), core(500, 1500)]))).toEqual({ process: 150, total: 62.5 });
  });

  it("leave out cores the process may not use", () => {
    const meter = new CpuMeter();
    meter.usageAt(at(0, 0, [core(0, 0), core(0, 0)], [1]));
    expect(meter.usageAt(at(1, 0, [core(1000, 0), core(250, 750)], [1])).total).toBe(25);
  });

  it("keep the last value when two readings are too close to tell anything", () => {
    const meter = new CpuMeter();
    meter.usageAt(at(0, 0, [core(0, 0)]));
    const usage = meter.usageAt(at(1, 0.5, [core(500, 500)]));
    expect(meter.usageAt(at(1.05, 0.55, [core(550, 500)]))).toEqual(usage);
    expect(meter.usageAt(at(2, 0.5, [core(500, 1500)]))).toEqual({ process: 0, total: 0 });
  });

  it("survive a clock and counters that stand still", () => {
    const meter = new CpuMeter();
    meter.usageAt(at(0, 0, []));
    expect(meter.usageAt(at(1, 0, []))).toEqual({ process: 0, total: 0 });
  });
});

it("this machine has cores, a directory and files", () => {
  const machine = thisMachine({});
  expect(machine.allowedCores.length).toBeGreaterThan(0);
  expect(machine.workingDirectory).toBe(process.cwd());
  expect(machine.readText(import.meta.filename)).toContain("this machine has cores");
  expect(machine.readText("/nonexistent")).toBeUndefined();
  expect(machine.fileExists("/nonexistent")).toBe(false);
});
