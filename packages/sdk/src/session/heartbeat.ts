import { Scope } from "../calls/scope.js";
import type { Link } from "../link/index.js";
import { monotonicMs, unref } from "../time/timers.js";

/** Longest wait for the answer to a ping, ms. */
const pingTimeoutMs = 30_000;

export interface HeartbeatSettings {
  /** 0 sends none; an idle session then expires on the server. */
  readonly intervalMs: number;
  readonly links: () => readonly Link[];
  /** Pings one link, which is closed when it does not answer. */
  readonly ping: (link: Link, scope: Scope) => Promise<void>;
  /** Every link that was pinged at one tick has answered. */
  readonly onBeat: (durationMs: number) => void;
  /** Something to do at each tick, besides; its time ends with the next one. */
  readonly onTick: (timeoutMs: number) => void;
}

/** Keeps the session's lease alive: one ping per link right after connecting, then one every interval, all at once. */
export class Heartbeat {
  readonly #settings: HeartbeatSettings;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Pings without an answer. A slow one is waited for, not joined by more. */
  readonly #pings = new Map<Link, Scope>();

  constructor(settings: HeartbeatSettings) {
    this.#settings = settings;
  }

  start({ beatNow }: { readonly beatNow: boolean }): void {
    const { intervalMs, onTick } = this.#settings;
    if (intervalMs === 0) return;
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => {
        void this.#beat();
        onTick(intervalMs);
      }, intervalMs);
      unref(this.#timer);
    }
    if (beatNow) void this.#beat();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const scope of this.#pings.values()) scope.stop(undefined);
  }

  async #beat(): Promise<void> {
    const startedAt = monotonicMs();
    const idle = this.#settings.links().filter((link) => !this.#pings.has(link));
    const answered = await Promise.all(idle.map((link) => this.#ping(link)));
    if (answered.length > 0 && answered.every(Boolean)) this.#settings.onBeat(monotonicMs() - startedAt);
  }

  /** False when nobody waits for the answer any more. */
  async #ping(link: Link): Promise<boolean> {
    const scope = new Scope(pingTimeoutMs);
    this.#pings.set(link, scope);
    try {
      await this.#settings.ping(link, scope);
      return scope.end === undefined;
    } finally {
      this.#pings.delete(link);
      scope.dispose();
    }
  }
}
