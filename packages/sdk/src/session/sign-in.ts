import { Permits } from "../calls/permits.js";
import { Scope } from "../calls/scope.js";
import { UnauthenticatedError } from "../errors/index.js";
import type { Link } from "../link/index.js";
import { FinalRefusal, throwIfAborted } from "./connect-errors.js";
import type { Secret } from "./credentials.js";
import type { Emit } from "./events.js";
import type { LinkCalls } from "./link-calls.js";
import type { Session } from "./session.js";
import type { SignInSource } from "./sign-in-source.js";

/** Longest time of one sign-in, its turn and its retries included. */
const signInTimeoutMs = 30_000;

interface SignInSettings {
  readonly emit: Emit;
  /** The server does not know the session any more, as this link learned. It has to be reset. */
  readonly onSessionLost: (link: Link) => void;
}

/**
 * Gives links their session: binds them to the one that lives, or registers a new one. However many links notice that a
 * session is gone, one of them registers, and the others bind to what it got.
 */
export class SignIn {
  readonly #settings: SignInSettings;
  readonly #session: Session;
  readonly #calls: LinkCalls;
  readonly #source: SignInSource;
  readonly #turn = new Permits(1);

  constructor(settings: SignInSettings, session: Session, calls: LinkCalls, source: SignInSource) {
    this.#settings = settings;
    this.#session = session;
    this.#calls = calls;
    this.#source = source;
  }

  /** Afterwards the link has the session, or there is none and nobody who signs in. */
  async attach(link: Link, signal: AbortSignal): Promise<void> {
    let isSettled = false;
    while (!isSettled) {
      isSettled = this.#session.isBound ? await this.#bind(link, signal) : await this.#register(link, signal);
      throwIfAborted(signal);
    }
  }

  /** False when the session turned out to be gone. */
  async #bind(link: Link, signal: AbortSignal): Promise<boolean> {
    const { fence } = this.#session;
    const outcome = await this.#calls.bind(link, signal);
    throwIfAborted(signal);
    switch (outcome.kind) {
      case "ok":
        link.boundFence = fence;
        return true;
      case "session-lost":
        // Of several links that notice it, the first one ends it.
        if (this.#session.fence === fence) this.#settings.onSessionLost(link);
        return false;
      case "failed":
        throw outcome.error;
      case "refused":
        throw new FinalRefusal(outcome.error);
    }
  }

  /** False when somebody else signed in meanwhile. */
  async #register(link: Link, signal: AbortSignal): Promise<boolean> {
    const scope = new Scope(signInTimeoutMs, signal);
    try {
      await this.#turn.take(scope);
      try {
        if (this.#session.isBound) return false;
        const secret = await this.#nextCredentials(scope);
        if (secret !== undefined) await this.#registerWith(link, secret, scope);
        return true;
      } finally {
        this.#turn.give();
      }
    } finally {
      scope.dispose();
    }
  }

  async #registerWith(link: Link, secret: Secret, scope: Scope): Promise<void> {
    const outcome = await this.#calls.register(link, secret, scope);
    switch (outcome.kind) {
      case "ok":
        link.boundFence = this.#session.fence;
        this.#settings.emit("signedIn", { userId: this.#session.userId ?? 0 });
        return;
      case "failed":
        throw outcome.error;
      case "session-lost":
      case "refused": {
        const refusal = outcome.kind === "refused" ? outcome.error : new UnauthenticatedError();
        this.#source.forget(refusal);
        throw new FinalRefusal(refusal);
      }
    }
  }

  /** A function that never answers must not hold the turn for good. */
  async #nextCredentials(scope: Scope): Promise<Secret | undefined> {
    return scope.wait<Secret | undefined>((resolve, reject) => {
      this.#source
        .next()
        .then(resolve, (cause: unknown) =>
          reject(new UnauthenticatedError("the credentials function failed", { cause })),
        );
      return () => undefined;
    });
  }
}
