import { readdirSync, readFileSync } from "node:fs";
import { loadAddon } from "@iggy/uring";
import { describe, expect, it } from "vitest";
import { startServer } from "../../src/index.js";
import { pinShard } from "../../src/shards/pinning.js";
import { thisMachine } from "../../src/system/index.js";

const { addon } = loadAddon();
const { allowedCores } = thisMachine({});

/** How many threads of the process may run on exactly these cores. */
const threadsOn = (cores: string): number =>
  readdirSync("/proc/self/task").filter((task) =>
    readFileSync(`/proc/self/task/${task}/status`, "utf8").includes(`\nCpus_allowed_list:\t${cores}\n`),
  ).length;

describe.skipIf(addon === undefined || allowedCores.length < 2)("the threads of shards", { timeout: 60_000 }, () => {
  if (addon === undefined) return;
  const [first = 0, second = 0] = allowedCores;

  it("run on their cores while the node runs, and nobody else does", async () => {
    const before = addon.threadCores();
    const server = await startServer({ config: { "sharding.cpu_allocation": 2, "sharding.pin_cores": true } });
    try {
      expect(addon.threadCores()).toEqual([first]);
      expect([threadsOn(String(first)), threadsOn(String(second))]).toEqual([1, 1]);
    } finally {
      await server.close();
    }
    expect(addon.threadCores()).toEqual(before);
  });

  it("stay where they are in a program that embeds a server and does not ask for it", async () => {
    const before = addon.threadCores();
    const server = await startServer({ config: { "sharding.cpu_allocation": 2 } });
    expect(addon.threadCores()).toEqual(before);
    expect(threadsOn(String(second))).toBe(0);
    await server.close();
  });

  it("go on unpinned, with one warning, when the system refuses", () => {
    const before = addon.threadCores();
    const warnings: object[] = [];
    const undo = pinShard({ shard: 3, core: 1000 }, addon, { warn: (fields) => warnings.push(fields) });
    undo();
    expect(warnings).toEqual([expect.objectContaining({ shard: 3, core: 1000 })]);
    expect(addon.threadCores()).toEqual(before);
  });
});
