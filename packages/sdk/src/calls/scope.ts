import { monotonicMs } from "../time/timers.js";

/** Why a scope ended. */
export type ScopeEnd = { readonly kind: "deadline" } | { readonly kind: "stopped"; readonly reason: unknown };

/** Thrown by the waits of a scope that ended. It never leaves the call engine. */
export class ScopeEnded extends Error {
  readonly end: ScopeEnd;
  constructor(end: ScopeEnd) {
    super(`scope ended: ${end.kind}`);
    this.end = end;
  }
}

interface Wait {
  isOpen: boolean;
  giveUp: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * The lifetime of one call: a deadline, and a way to stop it early. Every wait of the call goes through its scope, so
 * one timer and one abort listener serve the whole call, and nothing outlives it.
 */
export class Scope {
  readonly timeoutMs: number;
  readonly startedAt: number;
  readonly deadline: number;
  #end: ScopeEnd | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #waits = new Set<Wait>();
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => {
    this.stop(this.#signal?.reason);
  };

  /** A `timeoutMs` of `Infinity` sets no deadline. */
  constructor(timeoutMs: number, signal?: AbortSignal) {
    this.timeoutMs = timeoutMs;
    this.startedAt = monotonicMs();
    this.deadline = this.startedAt + timeoutMs;
    this.#signal = signal;
    if (signal?.aborted === true) {
      this.#end = { kind: "stopped", reason: signal.reason };
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (timeoutMs !== Infinity) this.#timer = setTimeout(() => this.#finish({ kind: "deadline" }), timeoutMs);
  }

  get end(): ScopeEnd | undefined {
    // A frame never leaves at or after the deadline, even when the timer is late.
    if (this.#end === undefined && monotonicMs() >= this.deadline) this.#finish({ kind: "deadline" });
    return this.#end;
  }

  get remainingMs(): number {
    return Math.max(0, this.deadline - monotonicMs());
  }

  get elapsedMs(): number {
    return monotonicMs() - this.startedAt;
  }

  throwIfEnded(): void {
    const end = this.end;
    if (end !== undefined) throw new ScopeEnded(end);
  }

  /** From now on the abort of the caller's signal ends the caller's wait only, not the work. */
  ignoreSignal(): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }

  /** Ends the scope; its waits reject. */
  stop(reason: unknown): void {
    this.#finish({ kind: "stopped", reason });
  }

  /** Releases timer and listener. Waits still pending are the owner's fault, so there are none. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#waits.clear();
  }

  /**
   * Waits for something that calls back. `start` gets the two ways to settle and returns how to give up, which is
   * called when the scope ends first; the wait then rejects with `ScopeEnded`.
   */
  wait<T>(start: (resolve: (value: T) => void, reject: (error: Error) => void) => () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = this.end;
      if (end !== undefined) {
        reject(new ScopeEnded(end));
        return;
      }
      const wait: Wait = { isOpen: true, giveUp: () => undefined, fail: reject };
      const settle = (): boolean => {
        const wasOpen = wait.isOpen;
        wait.isOpen = false;
        this.#waits.delete(wait);
        return wasOpen;
      };
      this.#waits.add(wait);
      wait.giveUp = start(
        (value) => {
          if (settle()) resolve(value);
        },
        (error) => {
          if (settle()) reject(error);
        },
      );
    });
  }

  /** Sleeps. False, at once, when the pause would cross the deadline: the call ends instead. */
  async pause(ms: number): Promise<boolean> {
    if (monotonicMs() + ms >= this.deadline) return false;
    await this.wait<undefined>((resolve) => {
      const timer = setTimeout(() => resolve(undefined), ms);
      return () => clearTimeout(timer);
    });
    return true;
  }

  #finish(end: ScopeEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    const waits = [...this.#waits];
    this.#waits.clear();
    for (const wait of waits) {
      wait.isOpen = false;
      wait.giveUp();
      wait.fail(new ScopeEnded(end));
    }
  }
}
