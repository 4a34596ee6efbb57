import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = new URL("../../../..", import.meta.url).pathname;
const startWaitMs = 90_000;

/** The server of this repository in a process of its own, on free ports. */
export class LiveServer implements AsyncDisposable {
  /** `host:port` of each listener: `tcp`, `websocket`, `http`. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly #stop: () => Promise<void>;

  private constructor(addresses: Readonly<Record<string, string>>, stop: () => Promise<void>) {
    this.addresses = addresses;
    this.#stop = stop;
  }

  static async start(): Promise<LiveServer> {
    const directory = await mkdtemp(join(tmpdir(), "iggy-live-"));
    const free = "127.0.0.1:0";
    const foreign = Object.entries(process.env).filter(([name]) => !name.startsWith("IGGY_"));
    const child = spawn(
      process.execPath,
      [
        "--conditions=@iggy/source",
        "--import",
        "tsx",
        join(root, "apps/server/src/main.ts"),
        "--with-default-root-credentials",
      ],
      {
        cwd: root,
        stdio: ["ignore", "ignore", "pipe"],
        env: {
          ...Object.fromEntries(foreign),
          IGGY_PATH: directory,
          IGGY_TCP_ADDRESS: free,
          IGGY_WEBSOCKET_ADDRESS: free,
          IGGY_QUIC_ADDRESS: free,
          IGGY_HTTP_ADDRESS: free,
          IGGY_LOGGING_FILE_ENABLED: "false",
        },
      },
    );
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const stop = async (): Promise<void> => {
      child.kill("SIGTERM");
      await ended;
      await rm(directory, { recursive: true });
    };
    const written = join(directory, "runtime/current_config.toml");
    const startedAt = Date.now();
    while (!existsSync(written)) {
      if (child.exitCode !== null || Date.now() - startedAt > startWaitMs) {
        await stop();
        throw new Error(`the server does not come up: ${errors}`);
      }
      await sleep(50);
    }
    const shown = readFileSync(written, "utf8");
    const addressOf = (section: string): string =>
      new RegExp(`\\[${section}\\][^[]*?\\naddress = "([^"]+)"`).exec(shown)?.[1] ?? "";
    const addresses = { tcp: addressOf("tcp"), websocket: addressOf("websocket"), http: addressOf("http") };
    return new LiveServer(addresses, stop);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop();
  }
}
