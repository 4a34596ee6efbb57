import type { Scope } from "../calls/scope.js";
import { DisconnectedError, type IggyError, NotConnectedError } from "../errors/index.js";
import type { Link } from "../link/index.js";
import { type Random, redialPauseMs } from "../time/backoff.js";
import { sleep } from "../time/sleep.js";
import { monotonicMs } from "../time/timers.js";
import type { Endpoint } from "../transport/index.js";
import { asIggyError, FinalRefusal, isConfigurationFault, throwIfAborted } from "./connect-errors.js";
import type { Emit } from "./events.js";
import type { ReconnectSettings } from "./reconnect-settings.js";

export interface BootstrapSettings {
  readonly reconnect: ReconnectSettings;
  readonly random: Random;
  readonly emit: Emit;
  /** Addresses to try, in order, each spelling once. */
  readonly candidates: () => readonly Endpoint[];
  /** An open link without a session, to be tried before any other. */
  readonly keeper: () => Link | undefined;
  readonly dial: (endpoint: Endpoint, signal: AbortSignal) => Promise<Link>;
  /** Signs in on a link; then it serves calls. */
  readonly attach: (link: Link, signal: AbortSignal) => Promise<void>;
  /** Whether a link is wanted although no call waits for one. */
  readonly isWanted: () => boolean;
  readonly onError: (error: IggyError) => void;
}

/** One run over the endpoints, shared by everybody who waits for a link. */
interface Run {
  readonly done: Promise<void>;
  readonly abort: AbortController;
}

/** Gets the first link of a client, and another one when all are lost: passes over the known endpoints until one works. */
export class Bootstrap {
  readonly #settings: BootstrapSettings;
  #run: Run | undefined;
  #waiters = 0;
  #redials = 0;

  constructor(settings: BootstrapSettings) {
    this.#settings = settings;
  }

  /** Waits for the end of the run, and starts one when there is none. Rejects with its failure, or when the call ends first. */
  async join(scope: Scope): Promise<void> {
    this.#waiters++;
    try {
      const run = this.#run ?? this.#start(0);
      await scope.wait<undefined>((resolve, reject) => {
        const goOn = (): void => resolve(undefined);
        // A run that was given up says nothing; who still wants a link starts the next one.
        run.done.then(goOn, (error: unknown) => (run.abort.signal.aborted ? goOn() : reject(asIggyError(error))));
        return () => undefined;
      });
    } finally {
      this.#waiters--;
    }
  }

  /** The last link is gone: gets another one after a pause. */
  replace(lost: Link): void {
    const { reconnect, random, emit } = this.#settings;
    if (monotonicMs() - lost.openedAt >= reconnect.reestablishAfterMs) this.#redials = 0;
    // Without a session there is nothing to keep alive: the next call dials.
    if (this.#run !== undefined || !this.#settings.isWanted()) return;
    const delay = redialPauseMs(this.#redials, reconnect.intervalMs, reconnect.maxIntervalMs, random);
    this.#redials++;
    emit("reconnecting", { attempt: this.#redials, delay });
    this.#start(delay);
  }

  /** Gives the run up. Resolves when it does nothing any more. */
  async stop(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    run.abort.abort(new DisconnectedError("the connection attempt was given up"));
    await run.done.catch(() => undefined);
  }

  #start(pauseMs: number): Run {
    const abort = new AbortController();
    const done = this.#passes(abort.signal, pauseMs).finally(() => {
      if (this.#run?.abort === abort) this.#run = undefined;
    });
    // Nobody may be waiting; the failure stays readable as the cause of later errors.
    done.catch((error: unknown) => {
      if (!abort.signal.aborted) this.#settings.onError(asIggyError(error));
    });
    this.#run = { done, abort };
    return this.#run;
  }

  async #passes(signal: AbortSignal, pauseMs: number): Promise<void> {
    const { reconnect, random, emit, onError, isWanted } = this.#settings;
    // Calls that wait keep the process alive with their own deadlines.
    if (pauseMs > 0) await sleep(pauseMs, { signal, background: true });
    for (let pass = 0; ; pass++) {
      const error = await this.#pass(signal);
      if (error === undefined) return;
      onError(error);
      // A fault of the configuration is the same on the next pass.
      if (isConfigurationFault(error)) throw error;
      if (!reconnect.enabled || pass >= reconnect.maxRetries) throw error;
      if (this.#waiters === 0 && !isWanted()) throw error;
      const delay = redialPauseMs(pass, reconnect.intervalMs, reconnect.maxIntervalMs, random);
      emit("reconnecting", { attempt: pass + 1, delay });
      await sleep(delay, { signal, background: true });
    }
  }

  /** Tries each endpoint once. Returns the last error, throws a final one. */
  async #pass(signal: AbortSignal): Promise<IggyError | undefined> {
    const { keeper, candidates, dial, attach } = this.#settings;
    let last: IggyError | undefined;
    const kept = keeper();
    for (const [index, endpoint] of [...(kept === undefined ? [] : [kept.endpoint]), ...candidates()].entries()) {
      throwIfAborted(signal);
      try {
        await attach(index === 0 && kept?.isOpen === true ? kept : await dial(endpoint, signal), signal);
        return undefined;
      } catch (error) {
        throwIfAborted(signal);
        last = asIggyError(error);
        if (error instanceof FinalRefusal) throw error.refusal;
      }
    }
    return last ?? new NotConnectedError("no endpoint is configured");
  }
}
