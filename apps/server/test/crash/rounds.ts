import { developmentEnvironment, Seeded, ServerProcess, sleep } from "../raw-client/index.js";
import type { Worker } from "./lane.js";
import { ServerLog } from "./server-log.js";
import { prepare, type Workload } from "./workload.js";

export interface RoundsOptions {
  readonly dataDirectory: string;
  readonly rounds: number;
  readonly seed: number;
  /** A built `main.js`; the sources without one. */
  readonly program: string | undefined;
  readonly report: (line: string) => void;
}

export interface RoundsResult {
  readonly faults: readonly string[];
  readonly answered: number;
  readonly batches: number;
  readonly messages: number;
  readonly ends: Readonly<Record<End, number>>;
  readonly killedStarts: number;
  readonly warnings: ReadonlyMap<string, number>;
  readonly slowestStartMillis: number;
}

/** How a round ends: killed at work, killed in the middle of a graceful stop, or stopped. */
type End = "killed" | "killed while stopping" | "stopped";

const WORK_MILLIS_MAX = 350;
const LONG_WORK_MILLIS_MAX = 1500;
const STOP_MILLIS_MAX = 120;
/** Everything is read from the beginning in each round of this many. */
const THOROUGH_EVERY = 25;
const REPORT_EVERY = 10;

/** Few journal slots, small retention budgets and an eager cleaner: kills fall into checkpoints and clean-ups too. */
const environment = {
  ...developmentEnvironment,
  IGGY_METADATA_JOURNAL_SLOTS: "256",
  IGGY_DATA_MAINTENANCE_MESSAGES_INTERVAL: "150ms",
  IGGY_MESSAGE_BUS_MAX_MESSAGE_SIZE: "4MiB",
  IGGY_DISPLAY_CONFIG: "false",
};

/** Kills a server over and over while it works, and compares what it has with what it owes after each start. */
export class Rounds {
  private readonly options: RoundsOptions;
  private readonly random: Seeded;
  private readonly log = new ServerLog();
  private readonly ends: Record<End, number> = { killed: 0, "killed while stopping": 0, stopped: 0 };
  private server: ServerProcess | undefined;
  private answered = 0;
  private killedStarts = 0;
  private startMillis = 400;
  private slowestStartMillis = 0;

  constructor(options: RoundsOptions) {
    this.options = options;
    this.random = new Seeded(options.seed ^ 0x5eed);
  }

  async run(): Promise<RoundsResult> {
    const { rounds, seed, report } = this.options;
    const first = await this.start();
    const workload = await prepare(first.port, seed);
    let faults: string[] = [];
    for (let round = 1; round <= rounds && faults.length === 0; round++) {
      faults = (await this.round(workload, round)).map((fault) => `round ${round}: ${fault}`);
      if (round % REPORT_EVERY === 0) report(`round ${round} of ${rounds}: ${this.answered} requests answered`);
    }
    if (faults.length === 0) faults = await this.repeatLast(workload);
    if (faults.length === 0) faults = await this.stopForGood(workload);
    return {
      faults,
      answered: this.answered,
      batches: workload.ledgers.reduce((sum, ledger) => sum + ledger.batches, 0),
      messages: workload.ledgers.reduce((sum, ledger) => sum + ledger.end, 0),
      ends: this.ends,
      killedStarts: this.killedStarts,
      warnings: this.log.warnings,
      slowestStartMillis: Math.round(this.slowestStartMillis),
    };
  }

  /** Ends what still runs. */
  async close(): Promise<void> {
    await this.server?.kill();
  }

  private async round(workload: Workload, round: number): Promise<string[]> {
    const working = Promise.all(workload.workers.map((worker) => worker.run()));
    // A fault is reported when the server has ended.
    working.catch(() => undefined);
    await sleep(this.random.integer(this.random.integer(9) === 0 ? LONG_WORK_MILLIS_MAX : WORK_MILLIS_MAX));
    const ended = await this.end();
    for (const count of await working) this.answered += count;
    if (ended.length > 0) return ended;

    while (this.random.integer(5) === 0) await this.killStart();
    await this.start();
    return this.check(workload, round % THOROUGH_EVERY === 0);
  }

  /** After a start: first what is there before anything is repeated, then that everything gets its answer. */
  private async check(workload: Workload, thorough: boolean): Promise<string[]> {
    const { port } = this.running;
    for (const client of workload.clients.steady) await client.rebind(port);
    for (const client of workload.clients.renewed) {
      if (this.random.integer(2) === 0) await client.renew(port);
      else await client.rebind(port);
    }
    const found = await this.faults(workload.exact, thorough);
    if (found.length > 0) return found;
    for (const worker of workload.workers) await worker.settle();
    return [...(await this.faults(workload.workers, thorough)), ...this.log.take(this.running)];
  }

  private async faults(workers: readonly Worker[], thorough: boolean): Promise<string[]> {
    const faults: string[] = [];
    for (const worker of workers) faults.push(...(await worker.faults(thorough)));
    return faults;
  }

  private async end(): Promise<string[]> {
    const { running } = this;
    const choice = this.random.integer(19);
    const end: End = choice === 0 ? "stopped" : choice < 3 ? "killed while stopping" : "killed";
    this.ends[end]++;
    if (end === "stopped") {
      const status = await running.stop();
      return [...this.log.take(running), ...(status === 0 ? [] : [`a graceful stop ended with ${status}`])];
    }
    if (end === "killed while stopping") {
      running.signal("SIGTERM");
      await sleep(this.random.integer(STOP_MILLIS_MAX));
    }
    await running.kill();
    return this.log.take(running);
  }

  /** A server that does not live to serve. */
  private async killStart(): Promise<void> {
    const server = ServerProcess.spawn(this.processOptions);
    this.server = server;
    await sleep(this.random.integer(Math.ceil(this.startMillis * 1.2)));
    await server.kill();
    this.killedStarts++;
  }

  private async start(): Promise<ServerProcess> {
    const startedAt = performance.now();
    this.server = ServerProcess.spawn(this.processOptions);
    await this.server.ready();
    this.startMillis = performance.now() - startedAt;
    this.slowestStartMillis = Math.max(this.slowestStartMillis, this.startMillis);
    return this.server;
  }

  /** The last batch of every idempotent producer once more. */
  private async repeatLast({ producers }: Workload): Promise<string[]> {
    const faults: string[] = [];
    for (const producer of producers) faults.push(...(await producer.repeatLast()));
    return faults;
  }

  /** Stops gracefully, starts once more and reads everything. */
  private async stopForGood(workload: Workload): Promise<string[]> {
    const status = await this.running.stop();
    if (status !== 0) return [`the last stop ended with ${status}`];
    await this.start();
    const faults = await this.check(workload, true);
    await this.running.stop();
    return faults;
  }

  private get running(): ServerProcess {
    if (this.server === undefined) throw new Error("no server was started");
    return this.server;
  }

  private get processOptions() {
    const { dataDirectory, program } = this.options;
    return { dataDirectory, environment, program };
  }
}
