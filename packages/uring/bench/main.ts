// `npm run bench [seconds] [rounds]`: this package beside node:net and fs, in one sitting. Ratios count, not numbers.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "./load.js";
import { type Shape, SHAPES } from "./shapes.js";

const [seconds = 2, rounds = 3] = process.argv.slice(2).map(Number);
const directory = mkdtempSync(join(tmpdir(), "iggy-uring-bench-"));

interface Figures {
  perSecond: number;
  cpuMicros: number;
}

async function measure(way: string, shape: Shape): Promise<Figures> {
  const server = fork(new URL("serve.ts", import.meta.url), [way, shape.name, join(directory, way)]);
  const [{ port }] = (await once(server, "message")) as [{ port: number }];
  await load(shape, port, 0.5);
  const before = await cpuMicros();
  const { requests, seconds: took } = await load(shape, port, seconds);
  const cpu = (await cpuMicros()) - before;
  server.kill();
  await once(server, "exit");
  return { perSecond: requests / took, cpuMicros: cpu / requests };

  async function cpuMicros(): Promise<number> {
    server.send("cpu");
    const [message] = (await once(server, "message")) as [{ cpuMicros: number }];
    return message.cpuMicros;
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

for (const shape of SHAPES) {
  const results: Record<string, Figures[]> = { net: [], ring: [] };
  for (let round = 0; round < rounds; round++) {
    for (const way of ["net", "ring"]) results[way]?.push(await measure(way, shape));
  }
  const [net, ring] = ["net", "ring"].map((way) => ({
    perSecond: median((results[way] ?? []).map((figures) => figures.perSecond)),
    cpuMicros: median((results[way] ?? []).map((figures) => figures.cpuMicros)),
  }));
  if (net === undefined || ring === undefined) continue;
  console.log(
    `${shape.name.padEnd(8)} node ${net.perSecond.toFixed(0)}/s ${net.cpuMicros.toFixed(1)} us cpu each;` +
      ` ring ${ring.perSecond.toFixed(0)}/s ${ring.cpuMicros.toFixed(1)} us;` +
      ` throughput ${(ring.perSecond / net.perSecond).toFixed(2)}x, cpu ${(net.cpuMicros / ring.cpuMicros).toFixed(2)}x`,
  );
}
rmSync(directory, { recursive: true });
