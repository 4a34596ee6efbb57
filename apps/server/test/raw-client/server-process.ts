import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
/** From the sources, on a loaded machine. */
const READY_WITHIN_MILLIS = 30_000;

export interface ProcessOptions {
  readonly dataDirectory: string;
  readonly arguments?: readonly string[];
  /** In place of the development credentials and the free port. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The user to run as, in place of the one of the tests. */
  readonly userId?: number;
  /** A built `main.js` to run in place of the sources: it starts in a fraction of the time. */
  readonly program?: string | undefined;
}

/** `iggy-server` as a process of its own, from the sources. */
export class ServerProcess {
  readonly child: ChildProcess;
  /** Everything it printed so far. */
  stdout = "";
  stderr = "";
  port = 0;
  private readonly ended: Promise<number | NodeJS.Signals>;

  private constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.on("data", (text: Buffer) => (this.stdout += text.toString()));
    child.stderr?.on("data", (text: Buffer) => (this.stderr += text.toString()));
    this.ended = new Promise((resolve) => {
      child.once("close", (code, signal) => resolve(code ?? signal ?? -1));
    });
  }

  /** Starts it without waiting for anything. */
  static spawn({ dataDirectory, arguments: more = [], environment, userId, program }: ProcessOptions): ServerProcess {
    const main = program === undefined ? ["--conditions=@iggy/source", "--import", "tsx", MAIN] : [program];
    const child = spawn(process.execPath, [...main, ...more], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      ...(userId === undefined ? {} : { uid: userId, gid: userId }),
      env: {
        PATH: process.env["PATH"] ?? "",
        IGGY_PATH: dataDirectory,
        ...shards,
        ...(environment ?? developmentEnvironment),
      },
    });
    return new ServerProcess(child);
  }

  /** Starts it and waits until it accepts connections. */
  static async start(options: ProcessOptions): Promise<ServerProcess> {
    const server = ServerProcess.spawn(options);
    await server.ready();
    return server;
  }

  async ready(): Promise<void> {
    const deadline = Date.now() + READY_WITHIN_MILLIS;
    for (;;) {
      const found = /ready: clients connect to [^ ]*:(\d+) /.exec(this.stdout);
      if (found !== null) {
        this.port = Number(found[1]);
        return;
      }
      if (this.child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`the server did not start:\n${this.stdout}\n${this.stderr}`);
      }
      await sleep(10);
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Resident memory in bytes. */
  get residentBytes(): number {
    return this.statusKiB("VmRSS") * 1024;
  }

  /** Highest resident memory so far, in bytes. */
  get peakResidentBytes(): number {
    return this.statusKiB("VmHWM") * 1024;
  }

  /** CPU time in user and system mode so far, in seconds. */
  get cpuSeconds(): number {
    // The name of the program, in parentheses, may hold spaces: fields are counted behind it. A tick is 10 ms.
    const fields = readFileSync(`/proc/${this.pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Exit status, or the signal that ended it. */
  exit(): Promise<number | NodeJS.Signals> {
    return this.ended;
  }

  async stop(): Promise<number | NodeJS.Signals> {
    this.signal("SIGTERM");
    return this.exit();
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exit();
  }

  private statusKiB(field: string): number {
    const found = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${this.pid}/status`, "utf8"));
    if (found === null) throw new Error(`no ${field} of process ${this.pid}`);
    return Number(found[1]);
  }
}

/** Shards of the servers, as far as this machine has the cores: `IGGY_TEST_SHARDS`. */
const shards: Readonly<Record<string, string>> =
  process.env["IGGY_TEST_SHARDS"] === undefined
    ? {}
    : {
        IGGY_SHARDING_CPU_ALLOCATION: String(Math.min(Number(process.env["IGGY_TEST_SHARDS"]), availableParallelism())),
      };

/** Credentials of `root`, a free port, and no log file. */
export const developmentEnvironment: Readonly<Record<string, string>> = {
  IGGY_ROOT_USERNAME: "iggy",
  IGGY_ROOT_PASSWORD: "iggy",
  IGGY_TCP_ADDRESS: "127.0.0.1:0",
  IGGY_WEBSOCKET_ADDRESS: "127.0.0.1:0",
  IGGY_QUIC_ADDRESS: "127.0.0.1:0",
  IGGY_HTTP_ADDRESS: "127.0.0.1:0",
  IGGY_LOGGING_FILE_ENABLED: "false",
};

export const sleep = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis));

/** Waits until something holds; throws when it does not in time. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMillis = 10_000,
): Promise<void> {
  const deadline = Date.now() + withinMillis;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMillis} ms: ${what}`);
    await sleep(10);
  }
}
