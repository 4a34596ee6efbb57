import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConfigOverrides, readSettings } from "./config/index.js";
import { inTurn } from "./in-turn.js";
import { Logging, silentConsole, stdoutConsole } from "./logging/index.js";
import { Server } from "./server.js";
import type { Addresses } from "./net/listeners.js";
import { thisMachine } from "./system/index.js";

export interface StartServerOptions {
  /** Kept when the server stops. Without one a temporary directory is made and removed with the server. */
  readonly dataDirectory?: string;
  /** Of the root user, used by the first start of a data directory. Default `iggy` / `iggy`. */
  readonly credentials?: { readonly username: string; readonly password: string };
  /** Single configuration keys in the forms of the configuration file, such as `{ "heartbeat.interval": "1s" }`. */
  readonly config?: ConfigOverrides;
  /** Where the log goes. Default `silent`. */
  readonly log?: "silent" | "console";
}

/** A server inside this process. Dispose it with `await using` or `close()`. */
export interface RunningServer extends AsyncDisposable {
  /** `host:port` of the TCP listener. */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** `host:port` of each listener that runs: `tcp`, `websocket`, `quic`, `http`. */
  readonly addresses: Addresses;
  /** Signs the root user in: `iggy://user:password@host:port`. */
  readonly connectionString: string;
  readonly dataDirectory: string;
  /** Stops gracefully; nothing acknowledged is lost. May be called again. */
  close(): Promise<void>;
}

/**
 * Starts the same server that `iggy-server` runs, on a free port of the loopback interface, for tests and embedding. It
 * reads neither the environment nor a configuration file. Rejects with a `ConfigError` for bad keys and with
 * `StorageRefused` for a data directory that can't be used.
 */
export function startServer(options: StartServerOptions = {}): Promise<RunningServer> {
  return startServerOn(thisMachine({}), options);
}

/** The same on a machine as described. */
export async function startServerOn(
  machine: ReturnType<typeof thisMachine>,
  options: StartServerOptions = {},
): Promise<RunningServer> {
  const credentials = options.credentials ?? { username: "iggy", password: "iggy" };
  const dataDirectory = options.dataDirectory ?? (await mkdtemp(join(tmpdir(), "iggy-")));
  const settings = readSettings(
    {
      arguments: { fresh: false, withDefaultRootCredentials: false },
      environment: {
        IGGY_ROOT_USERNAME: credentials.username,
        IGGY_ROOT_PASSWORD: credentials.password,
        IGGY_DISPLAY_CONFIG: "false",
      },
      overrides: {
        path: dataDirectory,
        "tcp.address": "127.0.0.1:0",
        "websocket.address": "127.0.0.1:0",
        "quic.address": "127.0.0.1:0",
        "http.address": "127.0.0.1:0",
        "logging.file_enabled": false,
        // The first shard is a thread of whoever embeds the server.
        "sharding.pin_cores": false,
        ...options.config,
      },
    },
    { ...machine, readText: () => undefined },
  );
  const logging = new Logging(options.log === "console" ? stdoutConsole(process.stdout, {}) : silentConsole);
  let failure: Error | undefined;
  const server = await Server.start({ settings, logging, onFatal: (error) => (failure ??= error) });
  const close = (): Promise<void> =>
    inTurn([
      () => server.stop(),
      () => logging.close(),
      () => (options.dataDirectory === undefined ? rm(dataDirectory, { recursive: true, force: true }) : undefined),
      () => {
        if (failure !== undefined) throw failure;
      },
    ]);
  let closing: Promise<void> | undefined;
  const closeOnce = (): Promise<void> => (closing ??= close());
  return {
    address: server.address,
    host: server.host,
    port: server.port,
    addresses: server.addresses,
    connectionString: `iggy://${credentials.username}:${credentials.password}@${server.address}`,
    dataDirectory,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}
