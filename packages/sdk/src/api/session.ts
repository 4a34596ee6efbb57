import { ErrorCode } from "@iggy/protocol";
import { Scope, ScopeEnded } from "../calls/scope.js";
import { FeatureUnavailableError, TimeoutError } from "../errors/index.js";
import type { Connector } from "../session/connector.js";
import { checkedCredentials, type Secret } from "../session/credentials.js";
import type { Session } from "../session/session.js";
import { milliseconds } from "../values/duration.js";
import { type CallOptions, defaultTimeoutMs } from "./caller.js";

/** Who is signed in. */
export interface IdentityInfo {
  readonly userId: number;
  /** HTTP only: the token that the client sends from now on, and until when servers take it. */
  readonly accessToken?: { readonly token: string; readonly expiry: Date };
}

/** Sign-ins of a client, whatever carries them. */
export type SessionFace = Pick<SessionApi, "login" | "loginWithToken" | "logout"> & {
  /** HTTP only: a new access token; the old one holds until it expires. */
  refreshToken(options?: CallOptions): Promise<IdentityInfo>;
};

export class SessionApi {
  readonly #connector: Connector;
  readonly #session: Session;

  constructor(connector: Connector, session: Session) {
    this.#connector = connector;
    this.#session = session;
  }

  /** Signs in with a password. A signed-in client logs out first; its session and retained operations are gone. */
  async login(
    { username, password }: { readonly username: string; readonly password: string },
    options?: CallOptions,
  ): Promise<IdentityInfo> {
    return this.#login(checkedCredentials({ username, password }), options);
  }

  /** Signs in with a personal access token, 1 to 255 bytes. */
  async loginWithToken({ token }: { readonly token: string }, options?: CallOptions): Promise<IdentityInfo> {
    return this.#login(checkedCredentials({ token }), options);
  }

  /** Ends the session everywhere, and its group memberships with it. The connection stays. */
  async logout(options?: CallOptions): Promise<true> {
    await inTime("session.logout", options, this.#connector, (scope) => this.#connector.logout(scope));
    return true;
  }

  /** HTTP only. */
  refreshToken(): Promise<never> {
    return Promise.reject(new FeatureUnavailableError("session.refreshToken works over HTTP only"));
  }

  async #login(secret: Secret, options: CallOptions | undefined): Promise<IdentityInfo> {
    await inTime("session.login", options, this.#connector, (scope) => this.#connector.login(secret, scope));
    return { userId: this.#session.userId ?? 0 };
  }
}

/** Runs a step of the connection within the time of a call. */
export async function inTime<T>(
  what: string,
  options: CallOptions = {},
  connector: Connector,
  step: (scope: Scope) => Promise<T>,
): Promise<T> {
  const timeoutMs = milliseconds("timeout", options.timeout ?? defaultTimeoutMs, 0, Infinity);
  const scope = new Scope(timeoutMs, options.signal);
  try {
    return await step(scope);
  } catch (error) {
    if (!(error instanceof ScopeEnded)) throw error;
    options.signal?.throwIfAborted();
    throw new TimeoutError(
      ErrorCode.TransientNotAccepted,
      `${what} had no result in ${String(timeoutMs)} ms`,
      timeoutMs,
      {
        cause: connector.lastError,
      },
    );
  } finally {
    scope.dispose();
  }
}
