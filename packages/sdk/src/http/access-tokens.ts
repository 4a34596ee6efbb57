import { decodeUtf8, ErrorCode, IggyError as ProtocolError, loginUser, logoutUser, parseJson } from "@iggy/protocol";
import { type CallOptions, defaultTimeoutMs } from "../api/caller.js";
import type { IdentityInfo } from "../api/session.js";
import type { Scope } from "../calls/scope.js";
import { DeserializeError, errorOf, IggyError, UnauthenticatedError } from "../errors/index.js";
import type { Secret } from "../session/credentials.js";
import type { SignInSource } from "../session/sign-in-source.js";
import { sdkVersion } from "../version.js";
import type { HttpReply } from "./exchange.js";
import type { BearerSource, HttpLink } from "./http-link.js";
import { Members } from "./members.js";

/** A token is renewed when a tenth of its life is left, but no sooner than this before its end, ms. */
const renewalMarginMs = 60_000;

interface AccessToken {
  readonly text: string;
  /** ms since the epoch after which a new one is asked for; Infinity when the end is not known. */
  readonly renewAt: number;
  /** ms since the epoch. */
  readonly endsAt: number;
}

/** The token of a client: signs in for it, renews it, and forgets it. It shows in no error. */
export class AccessTokens implements BearerSource {
  readonly #link: HttpLink;
  readonly #source: SignInSource;
  readonly #renewsItself: boolean;
  #token: AccessToken | undefined;
  #userId: number | undefined;
  #pending: Promise<unknown> | undefined;

  constructor(
    link: HttpLink,
    source: SignInSource,
    settings: { readonly jwt?: string; readonly autoRefresh: boolean },
  ) {
    this.#link = link;
    this.#source = source;
    this.#renewsItself = settings.autoRefresh;
    if (settings.jwt !== undefined) this.#token = { text: settings.jwt, renewAt: Infinity, endsAt: Infinity };
  }

  get userId(): number | undefined {
    return this.#userId;
  }

  get isSignedIn(): boolean {
    return this.#token !== undefined;
  }

  async bearer(scope: Scope): Promise<string> {
    const token = this.#token;
    if (token === undefined) {
      await this.#shared(scope, () => this.#signInAgain());
    } else if (this.#renewsItself && Date.now() >= token.renewAt) {
      await this.#shared(scope, () => this.#renewEarly(token));
    }
    if (this.#token === undefined) throw this.#unauthenticated();
    return this.#token.text;
  }

  async renew(refused: string, scope: Scope): Promise<boolean> {
    if (!this.#renewsItself) return false;
    if (this.#token?.text === refused) await this.#shared(scope, () => this.#replace(refused));
    return this.#token !== undefined && this.#token.text !== refused;
  }

  /** Signs in, if the client has credentials and no token. */
  async signIn(scope: Scope): Promise<void> {
    if (this.#token === undefined && this.#source.canSignIn) await this.bearer(scope);
  }

  async login(secret: Secret, options?: CallOptions): Promise<IdentityInfo> {
    if (this.#token !== undefined) await this.#endSession(options);
    this.#token = undefined;
    const identity = await this.#login(secret, options);
    this.#source.remember(secret);
    await this.#source.next();
    return identity;
  }

  /** A new token; the old one stays valid until it expires. */
  async refresh(options?: CallOptions): Promise<IdentityInfo> {
    const token = this.#token;
    if (token === undefined) throw this.#unauthenticated();
    const request = { method: "POST", path: "/users/refresh-token", body: { token: token.text } } as const;
    const command = { name: "session.refreshToken", code: loginUser.code };
    const call = { command, request, effect: "read", about: {}, isPublic: true } as const;
    return this.#keep(await this.#link.send(call, options, defaultTimeoutMs));
  }

  async logout(options?: CallOptions): Promise<void> {
    if (this.#token !== undefined) await this.#endSession(options);
    this.#token = undefined;
    this.#userId = undefined;
    this.#source.forget();
  }

  /** The server forgets the session of the token. One that it does not take any more has none. */
  async #endSession(options: CallOptions | undefined): Promise<void> {
    const request = { method: "DELETE", path: "/users/logout" } as const;
    try {
      await this.#link.send({ command: logoutUser, request, effect: "write", about: {} }, options, defaultTimeoutMs);
    } catch (error) {
      if (!IggyError.is(error, ErrorCode.Unauthenticated)) throw error;
    }
  }

  async #login(secret: Secret, options?: CallOptions): Promise<IdentityInfo> {
    const credentials = secret.reveal();
    const request =
      "token" in credentials
        ? ({ method: "POST", path: "/personal-access-tokens/login", body: { token: credentials.token } } as const)
        : ({
            method: "POST",
            path: "/users/login",
            body: { username: credentials.username, password: credentials.password, version: sdkVersion, context: "" },
          } as const);
    // A sign-in changes nothing, so it may be repeated.
    const call = { command: loginUser, request, effect: "read", about: {}, isPublic: true } as const;
    return this.#keep(await this.#link.send(call, options, defaultTimeoutMs));
  }

  async #signInAgain(): Promise<void> {
    const secret = await this.#source.next();
    if (secret === undefined) return;
    try {
      await this.#login(secret);
    } catch (error) {
      const isFinal =
        IggyError.is(error, ErrorCode.InvalidCredentials) || IggyError.is(error, ErrorCode.PersonalAccessTokenExpired);
      if (isFinal) this.#source.forget(error);
      throw error;
    }
  }

  /** In time, so that a failure is no reason to fail calls as long as the old token holds. */
  async #renewEarly(token: AccessToken): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      if (Date.now() < token.endsAt) return;
      if (!IggyError.is(error, ErrorCode.Unauthenticated)) throw error;
      await this.#replace(token.text);
    }
  }

  /** Another token for one that a server refused: by itself, else by the credentials. Without any the refusal stands. */
  async #replace(refused: string): Promise<void> {
    try {
      await this.refresh();
      if (this.#token?.text !== refused) return;
    } catch (error) {
      if (!(error instanceof IggyError)) throw error;
    }
    if (this.#source.canSignIn) await this.#signInAgain();
  }

  /** Calls at the same time share one step. It has a time of its own: the end of one of them must not fail the others. */
  async #shared(scope: Scope, step: () => Promise<void>): Promise<void> {
    this.#pending ??= step().finally(() => {
      this.#pending = undefined;
    });
    const pending = this.#pending;
    await scope.wait<undefined>((resolve, reject) => {
      pending.then(() => resolve(undefined), reject);
      return () => undefined;
    });
  }

  #keep(reply: HttpReply): IdentityInfo {
    const { userId, accessToken } = identityOf(reply);
    const now = Date.now();
    const endsAt = accessToken.expiry.getTime();
    this.#token = {
      text: accessToken.token,
      endsAt,
      renewAt: endsAt - Math.min(renewalMarginMs, Math.max(0, endsAt - now) / 10),
    };
    this.#userId = userId;
    return { userId, accessToken };
  }

  #unauthenticated(): UnauthenticatedError {
    return new UnauthenticatedError("the client is not signed in: log in, or give credentials or a token", {
      cause: this.#source.refusal,
    });
  }
}

function identityOf({ body }: HttpReply): Required<IdentityInfo> {
  try {
    const identity = new Members(parseJson(decodeUtf8(body) ?? ""));
    if (identity.isAbsent("access_token")) {
      throw errorOf(ErrorCode.JwtMissing, "the answer to the sign-in holds no access token");
    }
    const token = identity.object("access_token");
    return {
      userId: identity.u32("user_id"),
      accessToken: { token: token.text("token"), expiry: new Date(Number(token.u64("expiry")) * 1000) },
    };
  } catch (error) {
    if (error instanceof IggyError || !(error instanceof ProtocolError)) throw error;
    // The message of the parser may repeat the token, so it stays out.
    throw new DeserializeError(error.code, "the answer to the sign-in does not decode");
  }
}
