import { availableParallelism } from "node:os";
import { type RunningServer, startServer as startHere, type StartServerOptions } from "../src/index.js";
import { startServerOn } from "../src/start-server.js";
import { thisMachine } from "../src/system/index.js";
import { read } from "./config/read.js";
import { inlineShard } from "./shards/inline-shard.js";

export type { RunningServer };

/** Shards of every server of the tests that does not say so itself: `IGGY_TEST_SHARDS`. */
const shards = Number(process.env["IGGY_TEST_SHARDS"] ?? 1);
/** The shard that clients connect to, `IGGY_TEST_CLIENT_SHARD`; the others then run in this thread, too. */
const clientShard = Number(process.env["IGGY_TEST_CLIENT_SHARD"] ?? 0);

/** As many cores as the shards need, whatever there are. */
const allowedCores = Array.from({ length: Math.max(shards, availableParallelism()) }, (_, core) => core);

export async function startServer(options: StartServerOptions = {}): Promise<RunningServer> {
  if (shards === 1) return startHere(options);
  const machine = { ...thisMachine({}), allowedCores };
  const config = { "sharding.cpu_allocation": shards, ...options.config };
  if (clientShard === 0) return startServerOn(machine, { ...options, config });
  const inThread = { ...config, "io.backend": "libuv" } as const;
  const settings = read({ overrides: { "tcp.address": "127.0.0.1:0", ...inThread } }).config;
  let port = 0;
  const server = await startServerOn(machine, { ...options, config: inThread }, (boot) =>
    inlineShard(boot, settings, (listening) => {
      if (boot.seat.shard === clientShard) port = listening;
    }),
  );
  return {
    address: `${server.host}:${port}`,
    host: server.host,
    port,
    addresses: { ...server.addresses, tcp: `${server.host}:${port}` },
    connectionString: server.connectionString.replace(server.address, `${server.host}:${port}`),
    dataDirectory: server.dataDirectory,
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
