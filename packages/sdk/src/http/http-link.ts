import { ErrorCode } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import { aboutText } from "../calls/call-errors.js";
import { Scope, ScopeEnded } from "../calls/scope.js";
import {
  ClientShutdownError,
  type IggyError,
  TimeoutError,
  TransientNotAcceptedError,
  TransientNotCommittedError,
} from "../errors/index.js";
import { type Random, redialPauseMs } from "../time/backoff.js";
import { monotonicMs } from "../time/timers.js";
import { milliseconds } from "../values/duration.js";
import { exchange, type Fetch, type HttpReply } from "./exchange.js";
import { refusalOfReply } from "./refusal.js";
import type { HttpRequest } from "./routes/index.js";

/** Pauses between attempts: up to 1 s, doubling, with full jitter. */
const retryBaseMs = 1000;
const retryCapMs = 30_000;
/** A topology that changes is asked again after 50 ms, doubling to 1 s, for 30 s. */
const busyBaseMs = 50;
const busyCapMs = 1000;
const busyForMs = 30_000;
/** Largest answer taken, unless the call says otherwise: what servers relay at most. */
const maxReplyBytes = 64 * 1024 * 1024;

/** A read may be repeated at will, a write only when nothing was done, a committing read never. */
export type HttpEffect = "read" | "write" | "committing-read";

export interface HttpCall {
  readonly command: { readonly name: string; readonly code: number };
  readonly request: HttpRequest;
  readonly effect: HttpEffect;
  readonly about: Readonly<Record<string, unknown>>;
  /** Goes without a credential. */
  readonly isPublic?: boolean;
  readonly maxBytes?: number;
}

/** What came of one attempt. */
export type Attempt =
  | { readonly kind: "answered"; readonly reply: HttpReply }
  | { readonly kind: "refused"; readonly status: number; readonly error: IggyError }
  | { readonly kind: "failed"; readonly wasSent: boolean; readonly error: IggyError };

/** Where the credential of a request comes from. */
export interface BearerSource {
  bearer(scope: Scope): Promise<string>;
  /** After a server refused this token: whether there is another one now. */
  renew(refused: string, scope: Scope): Promise<boolean>;
}

/** What is known of a call while it runs. */
export interface Run {
  /** Something may have reached a server, and no answer told what became of it. */
  isUncertain: boolean;
  lastError: IggyError | undefined;
}

export interface LinkSettings {
  readonly url: string;
  readonly fetch: Fetch;
  readonly retries: number;
  readonly random: Random;
}

/** Sends requests to one server: attaches the credential, repeats what may be repeated, makes errors of refusals. */
export class HttpLink {
  readonly url: string;
  readonly #settings: LinkSettings;
  readonly #open = new Set<Scope>();
  #bearers: BearerSource | undefined;
  #isClosed = false;

  constructor(settings: LinkSettings) {
    this.url = settings.url;
    this.#settings = settings;
  }

  /** Where credentials come from, which need the link themselves. */
  signInWith(bearers: BearerSource): void {
    this.#bearers = bearers;
  }

  /** Ends all calls. */
  close(): void {
    this.#isClosed = true;
    for (const scope of this.#open) scope.stop(new ClientShutdownError());
  }

  /** Sends a request until it is answered or refused for good. Resolves with an answer of success. */
  send(call: HttpCall, options: CallOptions | undefined, defaultTimeoutMs: number): Promise<HttpReply> {
    return this.within(call, options, defaultTimeoutMs, (scope, run) => this.#send(call, scope, run));
  }

  /** Runs steps of a call within its time and until its signal aborts. */
  async within<T>(
    { command, about }: Pick<HttpCall, "command" | "about">,
    options: CallOptions = {},
    defaultTimeoutMs: number,
    step: (scope: Scope, run: Run) => Promise<T>,
  ): Promise<T> {
    if (this.#isClosed) throw new ClientShutdownError();
    const timeoutMs = milliseconds("timeout", options.timeout ?? defaultTimeoutMs, 0, Infinity);
    const scope = new Scope(timeoutMs, options.signal);
    const run: Run = { isUncertain: false, lastError: undefined };
    this.#open.add(scope);
    try {
      return await step(scope, run);
    } catch (error) {
      if (!(error instanceof ScopeEnded)) throw error;
      if (error.end.kind === "stopped") throw error.end.reason;
      const text = `${command.name} had no result in ${String(timeoutMs)} ms${aboutText(about)}`;
      const code = run.isUncertain ? ErrorCode.TransientNotCommitted : ErrorCode.TransientNotAccepted;
      throw new TimeoutError(code, text, timeoutMs, {
        commandCode: command.code,
        context: about,
        cause: run.lastError,
      });
    } finally {
      this.#open.delete(scope);
      scope.dispose();
    }
  }

  /** One attempt; a second one with a new token when the first token is refused. */
  async attempt(call: HttpCall, scope: Scope, run: Run): Promise<Attempt> {
    const bearers = call.isPublic === true ? undefined : this.#bearers;
    const token = await bearers?.bearer(scope);
    const first = await this.#exchange(call, token, scope, run);
    // A server checks the credential again after a committing read, so there a refusal does not say that nothing was done.
    if (first.kind !== "refused" || first.status !== 401 || call.effect === "committing-read") return first;
    if (token === undefined || bearers === undefined || !(await bearers.renew(token, scope))) return first;
    return this.#exchange(call, await bearers.bearer(scope), scope, run);
  }

  async #send(call: HttpCall, scope: Scope, run: Run): Promise<HttpReply> {
    const busyUntil = monotonicMs() + busyForMs;
    let busyPauseMs = busyBaseMs;
    for (let retry = 0; ;) {
      const attempt = await this.attempt(call, scope, run);
      if (attempt.kind === "answered") return attempt.reply;
      run.lastError = attempt.error;
      switch (nextStep(call, attempt)) {
        case "when-free":
          if (monotonicMs() + busyPauseMs >= busyUntil) throw attempt.error;
          await this.#pause(busyPauseMs, scope);
          busyPauseMs = Math.min(busyCapMs, 2 * busyPauseMs);
          break;
        case "later":
          if (retry >= this.#settings.retries) throw attempt.error;
          await this.#pause(redialPauseMs(retry, retryBaseMs, retryCapMs, this.#settings.random), scope);
          retry++;
          break;
        case "unknown":
          throw new TransientNotCommittedError(
            `${call.command.name} may or may not have been done${aboutText(call.about)}`,
            { commandCode: call.command.code, context: call.about, cause: attempt.error },
          );
        case "refused":
          throw attempt.error;
      }
    }
  }

  /** A pause that the call has no time for ends it. */
  async #pause(ms: number, scope: Scope): Promise<void> {
    if (!(await scope.pause(ms))) throw new ScopeEnded({ kind: "deadline" });
  }

  async #exchange(call: HttpCall, token: string | undefined, scope: Scope, run: Run): Promise<Attempt> {
    scope.throwIfEnded();
    const { fetch, url } = this.#settings;
    run.isUncertain = true;
    const outcome = await exchange(fetch, url, call.request, token, call.maxBytes ?? maxReplyBytes, scope);
    if (outcome.kind === "answered") {
      const { reply } = outcome;
      run.isUncertain = false;
      if (reply.status >= 200 && reply.status < 300) return outcome;
      return { kind: "refused", status: reply.status, error: refusalOfReply(call, reply) };
    }
    run.isUncertain = outcome.wasSent;
    const { wasSent, cause } = outcome;
    return { kind: "failed", wasSent, error: failureOf(call, url, wasSent, cause) };
  }
}

type NextStep = "later" | "when-free" | "unknown" | "refused";

function nextStep({ effect }: HttpCall, attempt: Exclude<Attempt, { kind: "answered" }>): NextStep {
  const isRead = effect === "read";
  if (attempt.kind === "failed") return isRead || !attempt.wasSent ? "later" : "unknown";
  const { status, error } = attempt;
  if (error.code === ErrorCode.LifecycleBusy) return "when-free";
  if (status === 408 || status === 429 || status === 503) return "later";
  if (status < 500) return "refused";
  return isRead ? "later" : "unknown";
}

function failureOf({ command, about }: HttpCall, url: string, wasSent: boolean, cause: unknown): IggyError {
  const details = { commandCode: command.code, context: about, cause };
  const text = `${command.name}${aboutText(about)}`;
  return wasSent
    ? new TransientNotCommittedError(`${text}: the answer of ${url} did not come`, details)
    : new TransientNotAcceptedError(`${text}: ${url} can not be reached`, details);
}
