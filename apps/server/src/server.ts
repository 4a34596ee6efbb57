import { LibuvIo, openDataDirectory } from "@iggy/storage";
import { type Backend, openBackend } from "./backend/index.js";
import { openParts, type ServerDeps, type ServerParts } from "./compose.js";
import { formatAddress, type Settings } from "./config/index.js";
import { inTurn } from "./in-turn.js";
import type { Logging } from "./logging/index.js";
import type { Addresses, BoundPorts } from "./net/listeners.js";
import { recreateRuntimeDirectory } from "./system/index.js";
import { SERVER_VERSION } from "./version.js";

/** One running node: data directory, planes, listeners and background work, from start to stop. */
export class Server {
  /** Of the TCP listener. */
  readonly host: string;
  private readonly parts: ServerParts;
  private readonly backend: Backend;
  private stopping: Promise<void> | undefined;

  private constructor(parts: ServerParts, backend: Backend) {
    this.parts = parts;
    this.backend = backend;
    this.host = parts.config.tcp.address.host;
  }

  /**
   * Opens the data directory, recovers what it holds and accepts connections. Rejects, with nothing left running, when
   * any of it fails.
   */
  static async start(deps: ServerDeps): Promise<Server> {
    const { settings, logging } = deps;
    const directory = await openDataDirectory(deps.io ?? new LibuvIo(), settings.dataDirectory, {
      fresh: settings.fresh,
    });
    let backend: Backend | undefined;
    try {
      const { config } = settings;
      await logging.open(config.logging, settings.dataDirectory, () => Date.now());
      announce(settings, logging);
      await recreateRuntimeDirectory(settings.dataDirectory, config);
      backend = openBackend(settings.config.io.backend, settings.config.memoryPool.sizeBytes);
      logging.part("server").info({ backend: backend.kind }, backend.description);
      return new Server(await openParts(deps, backend, directory), backend);
    } catch (error) {
      await backend?.close();
      await directory.release();
      throw error;
    }
  }

  /** Of each listener that runs; 0 of the others. */
  get ports(): BoundPorts {
    return this.parts.listeners.ports;
  }

  /** Of the TCP listener. */
  get port(): number {
    return this.ports.tcp;
  }

  get address(): string {
    return formatAddress(this.host, this.port);
  }

  get addresses(): Addresses {
    return this.parts.listeners.addresses;
  }

  /**
   * Ends gracefully: no acknowledged write is lost. Rejects, with nothing left running, when some of it could not be
   * written where it belongs. Repeated calls share one stop.
   */
  stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    return this.stopping;
  }

  private async stopOnce(): Promise<void> {
    const { config, connections, directory, gate, housekeeping, http, listeners, log, metadata, partitions, shards } =
      this.parts;
    const joinMillis = config.sharding.shutdownJoinTimeoutMillis;
    log.info({}, "stopping");
    housekeeping.stop();
    listeners.stopAccepting();
    gate.drain();
    http?.drain();
    partitions.drain();
    shards.drain();
    await this.finishRequests(config.sharding.shutdownDrainTimeoutMillis);
    http?.close();
    for (const connection of connections.all()) connection.end();
    shards.endConnections();
    await inTurn([
      () => together([partitions.close(), shards.closePartitions(joinMillis)]),
      () => metadata.close(),
      () =>
        together([
          this.closeConnections(config.messageBus.closeGraceMillis),
          shards.closeConnections(config.messageBus.closeGraceMillis),
        ]),
      () => shards.stop(joinMillis),
      () => this.backend.close(),
      () => directory.release(),
    ]);
    log.info({}, "stopped");
  }

  /** Waits until no request is under way, but no longer than the drain may take. */
  private async finishRequests(limitMillis: number): Promise<void> {
    const deadline = performance.now() + limitMillis;
    const { connections, http, shards } = this.parts;
    const isBusy = (): boolean =>
      (http?.requestsInFlight ?? 0) > 0 || [...connections.all()].some(({ requestsInFlight }) => requestsInFlight > 0);
    const isBusyElsewhere = async (): Promise<boolean> => (await shards.requestsInFlight()) > 0;
    while ((isBusy() || (await isBusyElsewhere())) && performance.now() < deadline) await sleep(5);
  }

  private async closeConnections(limitMillis: number): Promise<void> {
    const deadline = performance.now() + limitMillis;
    while (this.parts.connections.size > 0 && performance.now() < deadline) await sleep(5);
    for (const connection of [...this.parts.connections.all()]) connection.destroy();
    this.parts.listeners.destroyConnections();
    await this.parts.listeners.close();
  }
}

function announce({ notices, setKeys, showsConfig, dataDirectory }: Settings, logging: Logging): void {
  const log = logging.part("server");
  log.info({ version: SERVER_VERSION, pid: process.pid, dataDirectory }, "starting");
  for (const { level, message } of notices) log[level]({}, message);
  if (showsConfig) log.info(Object.fromEntries(setKeys), "configuration differs from the defaults in these keys");
}

/** Waits for all of them, also when one fails; then rejects with what failed. */
async function together(parts: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(parts);
  await inTurn(
    outcomes.map((outcome) => () => {
      if (outcome.status === "rejected") throw outcome.reason;
    }),
  );
}

const sleep = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis));
