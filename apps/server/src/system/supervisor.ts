import { spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Environment } from "../config/index.js";

/** Tells the supervisor of the process how it is doing. Every call returns at once and never fails. */
export interface Supervisor {
  /** Every listener accepts. */
  ready(): void;
  /** The stop has begun. */
  stopping(): void;
  /** One line for people. */
  status(text: string): void;
  /** Delivers what was told, waiting a moment at most, and ends the watchdog. */
  close(): Promise<void>;
}

/** Longest wait for the last messages at the end of the process. */
const CLOSE_WAIT_MILLIS = 1000;
/** Messages that may wait for a helper that does not read; then the supervisor's own timeouts decide. */
const PENDING_BYTES_MAX = 64 * 1024;
/** `$0` to `$2`: name, path of systemd-notify, id of this process. One message per line of standard input. */
const HELPER_SCRIPT = 'while IFS= read -r message; do "$1" --pid="$2" "$message" || exit 1; done';

/**
 * The systemd protocol when NOTIFY_SOCKET is set, nothing otherwise. Node.js has no datagram sockets of the file
 * system, so a small shell passes each message on through `systemd-notify`. The messages therefore come from a child:
 * the unit needs `NotifyAccess=all`.
 */
export function connectSupervisor(environment: Environment, onTrouble: (message: string) => void): Supervisor {
  if ((environment["NOTIFY_SOCKET"] ?? "") === "") return silentSupervisor;
  const program = findProgram("systemd-notify", environment["PATH"] ?? "");
  if (program === undefined) {
    onTrouble("NOTIFY_SOCKET is set, but systemd-notify is not on PATH: the supervisor is not told anything");
    return silentSupervisor;
  }
  return new SystemdSupervisor(program, environment, onTrouble);
}

const silentSupervisor: Supervisor = {
  ready: () => undefined,
  stopping: () => undefined,
  status: () => undefined,
  close: () => Promise.resolve(),
};

class SystemdSupervisor implements Supervisor {
  readonly #helper: ChildProcess;
  readonly #watchdogMillis: number | undefined;
  readonly #onTrouble: (message: string) => void;
  readonly #ended: Promise<void>;
  #watchdog: NodeJS.Timeout | undefined;
  #isReady = false;
  #isUsable = true;

  constructor(program: string, environment: Environment, onTrouble: (message: string) => void) {
    this.#onTrouble = onTrouble;
    this.#watchdogMillis = watchdogPeriodMillis(environment);
    this.#helper = spawn("/bin/sh", ["-c", HELPER_SCRIPT, "notify", program, String(process.pid)], {
      stdio: ["pipe", "ignore", "ignore"],
      env: { NOTIFY_SOCKET: environment["NOTIFY_SOCKET"], PATH: environment["PATH"] },
    });
    this.#helper.unref();
    this.#helper.stdin?.on("error", () => this.#giveUp("its input is closed"));
    this.#ended = new Promise((resolve) => {
      this.#helper.once("error", (error) => {
        this.#giveUp(error.message);
        resolve();
      });
      this.#helper.once("exit", (code) => {
        if (code !== 0) this.#giveUp(`it ended with status ${code ?? "unknown"}`);
        resolve();
      });
    });
  }

  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#tell("READY=1");
    if (this.#watchdogMillis === undefined) return;
    this.#watchdog = setInterval(() => this.#tell("WATCHDOG=1"), this.#watchdogMillis).unref();
  }

  stopping(): void {
    this.#tell("STOPPING=1");
  }

  status(text: string): void {
    this.#tell(`STATUS=${text.replaceAll("\n", " ")}`);
  }

  async close(): Promise<void> {
    clearInterval(this.#watchdog);
    this.#isUsable = false;
    this.#helper.stdin?.end();
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_WAIT_MILLIS)));
    await Promise.race([this.#ended, waited]);
    clearTimeout(timer);
    this.#helper.kill();
  }

  #tell(message: string): void {
    const input = this.#helper.stdin;
    if (!this.#isUsable || input === null || input.writableLength > PENDING_BYTES_MAX) return;
    input.write(`${message}\n`);
  }

  #giveUp(reason: string): void {
    if (!this.#isUsable) return;
    this.#isUsable = false;
    clearInterval(this.#watchdog);
    this.#onTrouble(`the supervisor is not told anything more: ${reason}`);
  }
}

/** Half of what the unit allows, when its watchdog is meant for this process. */
function watchdogPeriodMillis(environment: Environment): number | undefined {
  const micros = Number(environment["WATCHDOG_USEC"] ?? 0);
  const target = environment["WATCHDOG_PID"] ?? "";
  if (!(micros > 0) || (target !== "" && target !== String(process.pid))) return undefined;
  return Math.max(1, micros / 2000);
}

function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find((candidate) => {
      try {
        accessSync(candidate, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
