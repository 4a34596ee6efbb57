import { createHash } from "node:crypto";
import type { User } from "@iggy/engine";
import { ErrorCode, IggyError, ROOT_USER_ID } from "@iggy/protocol";
import type { Clock } from "../../request.js";
import type { Caller, Credential } from "../commands/index.js";
import type { AccessTokens, TokenClaims } from "./access-tokens.js";
import type { Accounts } from "./accounts.js";
import type { TrustedIssuers } from "./trusted-issuers.js";

const SCHEME = "Bearer ";
const MICROS = 1_000_000;
/** Longer credentials are no tokens of anybody's. */
const TOKEN_LENGTH_MAX = 8192;

export interface AuthenticatorDeps {
  readonly accounts: Accounts;
  readonly tokens: AccessTokens;
  readonly issuers: TrustedIssuers;
  readonly clock: Clock;
}

/** Finds out who sends a request. */
export class Authenticator {
  private readonly deps: AuthenticatorDeps;

  constructor(deps: AuthenticatorDeps) {
    this.deps = deps;
  }

  /** The caller behind an `authorization` field. Rejects with 77 without one and with 40 for one that does not hold. */
  async caller(authorization: string | undefined, peerAddress: string): Promise<Caller> {
    if (authorization === undefined) throw new IggyError(ErrorCode.AccessTokenMissing);
    const token = authorization.startsWith(SCHEME) ? authorization.slice(SCHEME.length) : "";
    const found = token === "" || token.length > TOKEN_LENGTH_MAX ? undefined : await this.find(token);
    if (found === undefined) throw new IggyError(ErrorCode.Unauthenticated, "the credential is unknown or has expired");
    const { user, credential } = found;
    return {
      account: { userId: user.id, userCreatedAtMicros: user.createdAtMicros },
      credential,
      reader: readerOf(credential.key),
      peerAddress,
    };
  }

  /** The active user of a token that this server signed. */
  async ownUser(token: string): Promise<{ readonly user: User; readonly claims: TokenClaims } | undefined> {
    const claims = await this.deps.tokens.verify(token);
    const user = claims && this.deps.accounts.byId(claims.userId);
    if (claims === undefined || user?.isActive !== true || !isOf(user, claims)) return undefined;
    return { user, claims };
  }

  private async find(token: string): Promise<{ readonly user: User; readonly credential: Credential } | undefined> {
    if (!isJwt(token)) return this.stored(token);
    const own = await this.ownUser(token);
    if (own === undefined) return this.foreign(token);
    const { user, claims } = own;
    return { user, credential: { key: `jwt:${claims.id}`, expiresAtMicros: claims.expiresAtSeconds * MICROS } };
  }

  private stored(token: string): { readonly user: User; readonly credential: Credential } | undefined {
    const found = this.deps.accounts.token(token, this.deps.clock.nowMicros());
    if (typeof found === "string") return undefined;
    return { user: found.user, credential: { key: `pat:${found.hash}`, expiresAtMicros: found.expiresAtMicros } };
  }

  private async foreign(token: string): Promise<{ readonly user: User; readonly credential: Credential } | undefined> {
    const { issuers, accounts } = this.deps;
    const found = await issuers.verify(token);
    const user = found && accounts.byName(found.username);
    if (found === undefined || user?.isActive !== true || user.id === ROOT_USER_ID) return undefined;
    return { user, credential: { key: `jwt:${found.id}`, expiresAtMicros: found.expiresAtSeconds * MICROS } };
  }
}

/** Ids of users are given again: a token holds for the user that it was made for. */
function isOf(user: User, { userCreatedAtMicros, issuedAtSeconds }: TokenClaims): boolean {
  if (userCreatedAtMicros !== undefined) return user.createdAtMicros === userCreatedAtMicros;
  return user.createdAtMicros <= (issuedAtSeconds + 1) * MICROS;
}

const isJwt = (token: string): boolean => token.split(".").length === 3;

function readerOf(key: string): bigint {
  return BigInt(`0x${createHash("sha256").update(key).digest("hex").slice(0, 32)}`);
}
