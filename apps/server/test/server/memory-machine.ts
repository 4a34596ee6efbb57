import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryIo } from "@iggy/storage";
import { type ConfigOverrides, readSettings } from "../../src/config/index.js";
import { Logging, silentConsole } from "../../src/logging/index.js";
import { Server } from "../../src/server.js";
import { thisMachine } from "../../src/system/index.js";

/** A whole server whose data lies on a memory disk that fails as the test wants. */
export class MemoryMachine implements AsyncDisposable {
  disk = new MemoryIo();
  /** What a server could not go on after. */
  readonly fatal: Error[] = [];
  private readonly directory: string;
  private readonly servers: Server[] = [];

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async create(): Promise<MemoryMachine> {
    return new MemoryMachine(await mkdtemp(join(tmpdir(), "iggy-memory-")));
  }

  /** Starts a server on the disk as it is. */
  async start(config: ConfigOverrides = {}): Promise<Server> {
    const settings = readSettings(
      {
        arguments: { fresh: false, withDefaultRootCredentials: false },
        environment: { IGGY_ROOT_USERNAME: "iggy", IGGY_ROOT_PASSWORD: "iggy", IGGY_DISPLAY_CONFIG: "false" },
        overrides: {
          path: this.directory,
          "tcp.address": "127.0.0.1:0",
          "websocket.enabled": false,
          "quic.enabled": false,
          "http.enabled": false,
          "logging.file_enabled": false,
          ...config,
        },
      },
      { ...thisMachine({}), readText: () => undefined },
    );
    const server = await Server.start({
      settings,
      logging: new Logging(silentConsole),
      io: this.disk,
      onFatal: (error) => this.fatal.push(error),
    });
    this.servers.push(server);
    return server;
  }

  /** Stops what the test did not stop. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.servers.map((server) => server.stop()));
    await rm(this.directory, { recursive: true, force: true });
  }
}
