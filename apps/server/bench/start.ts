import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "@iggy/sdk";

/**
 * Time from the start of the process to the first accepted login, and resident memory when idle: on an empty directory,
 * and with many topics. Needs the build.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/start.ts [topics]
 */
const topics = Number(process.argv[2] ?? 1000);
const program = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "iggy-start-"));
const IDLE_MILLIS = 3000;

const empty = await start("empty directory");
const client = await connect(empty.url);
const stream = await client.stream.create({ name: "start" });
const created = performance.now();
for (let id = 0; id < topics; id++) {
  await client.topic.create({ streamId: stream.id, name: `topic-${id}`, partitionCount: 1 });
}
console.log(`${topics} topics created in ${seconds(created)} s`);
await client.close();
await stop(empty.process);
const full = await start(`${topics} topics`);
await stop(full.process);
rmSync(directory, { recursive: true });

async function start(what: string): Promise<{ url: string; process: ChildProcess }> {
  const written = join(directory, "runtime", "current_config.toml");
  rmSync(written, { force: true });
  const started = performance.now();
  const server = spawn(process.execPath, [program, "--with-default-root-credentials"], {
    env: {
      ...process.env,
      IGGY_PATH: directory,
      IGGY_TCP_ADDRESS: "127.0.0.1:0",
      IGGY_WEBSOCKET_ADDRESS: "127.0.0.1:0",
      IGGY_QUIC_ADDRESS: "127.0.0.1:0",
      IGGY_HTTP_ADDRESS: "127.0.0.1:0",
    },
    stdio: "ignore",
  });
  while (!existsSync(written)) await sleep(2);
  const address = /\[tcp\][^[]*?\naddress = "([^"]+)"/.exec(readFileSync(written, "utf8"))?.[1] ?? "";
  const url = `iggy://iggy:iggy@${address}`;
  const login = await connect(url);
  console.log(`${what}: first login after ${seconds(started)} s`);
  await login.close();
  await sleep(IDLE_MILLIS);
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid ?? 0}/status`, "utf8"))?.[1];
  console.log(`${what}: ${Math.round(Number(kib) / 1024)} MiB resident when idle`);
  return { url, process: server };
}

async function stop(server: ChildProcess): Promise<void> {
  const stopped = performance.now();
  server.kill("SIGTERM");
  await once(server, "exit");
  console.log(`stopped in ${seconds(stopped)} s`);
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(2);
}
