import { Scope } from "../calls/scope.js";
import { monotonicMs, unref } from "../time/timers.js";

/** Longest wait for the answer to a ping, ms. */
const pingTimeoutMs = 30_000;

export interface HeartbeatSettings {
  /** 0 sends none; an idle session then expires on the server. */
  readonly intervalMs: number;
  /** Pings every link; one that does not answer is closed there. */
  readonly ping: (scope: Scope) => Promise<void>;
  readonly onBeat: (durationMs: number) => void;
}

/** Keeps the session's lease alive: one ping right after connecting, then one every interval. */
export class Heartbeat {
  readonly #settings: HeartbeatSettings;
  #timer: ReturnType<typeof setInterval> | undefined;
  #beating: Scope | undefined;

  constructor(settings: HeartbeatSettings) {
    this.#settings = settings;
  }

  start({ beatNow }: { readonly beatNow: boolean }): void {
    if (this.#settings.intervalMs === 0) return;
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => void this.#beat(), this.#settings.intervalMs);
      unref(this.#timer);
    }
    if (beatNow) void this.#beat();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#beating?.stop(undefined);
  }

  async #beat(): Promise<void> {
    // A slow answer is waited for, not joined by more pings.
    if (this.#beating !== undefined) return;
    const scope = new Scope(pingTimeoutMs);
    this.#beating = scope;
    const startedAt = monotonicMs();
    try {
      await this.#settings.ping(scope);
      if (scope.end === undefined) this.#settings.onBeat(monotonicMs() - startedAt);
    } finally {
      this.#beating = undefined;
      scope.dispose();
    }
  }
}
