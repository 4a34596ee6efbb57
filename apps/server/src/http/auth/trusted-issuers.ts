import { createHash } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { ServerConfig } from "../../config/index.js";
import type { Clock } from "../../request.js";
import { keySet } from "./key-sets.js";

/** Signatures by a private key of the issuer; one that both sides know would have to be configured. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"];

interface Issuer {
  readonly issuer: string;
  readonly audience: string;
  readonly username: string;
  readonly keys: JWTVerifyGetKey;
}

/** What a token of a trusted issuer is worth here. */
export interface ForeignToken {
  /** Names the token among all tokens of its issuer. */
  readonly id: string;
  /** Our user that it acts as. */
  readonly username: string;
  readonly expiresAtSeconds: number;
}

/** Other issuers whose tokens act as a user of ours, each pinned to its audience. */
export class TrustedIssuers {
  private readonly issuers: readonly Issuer[];
  private readonly clockSkewSeconds: number;
  private readonly clock: Clock;
  private readonly log: { warn(fields: object, message: string): void };

  constructor(
    { trustedIssuers, clockSkewMillis }: ServerConfig["http"]["jwt"],
    clock: Clock,
    log: { warn(fields: object, message: string): void },
  ) {
    this.issuers = trustedIssuers.map(({ issuer, audience, jwksUrl, username = "" }) => ({
      issuer: comparable(issuer),
      audience,
      username,
      keys: keySet(jwksUrl, () => clock.monotonicMillis()),
    }));
    this.clockSkewSeconds = clockSkewMillis / 1000;
    this.clock = clock;
    this.log = log;
  }

  /** Whether a token names one of the issuers and its audience. Proves nothing. */
  names(token: string): boolean {
    return this.find(token) !== undefined;
  }

  /** What a token is worth; undefined for one of nobody trusted, or one that does not hold. */
  async verify(token: string): Promise<ForeignToken | undefined> {
    const found = this.find(token);
    if (found === undefined) return undefined;
    const { issuer, claimedIssuer } = found;
    try {
      const { payload } = await jwtVerify(token, issuer.keys, {
        algorithms: ALGORITHMS,
        issuer: claimedIssuer,
        audience: issuer.audience,
        clockTolerance: this.clockSkewSeconds,
        currentDate: new Date(this.clock.nowMicros() / 1000),
        requiredClaims: ["exp"],
      });
      const id = payload.jti ?? createHash("sha256").update(token).digest("hex");
      return { id: `${issuer.issuer}/${id}`, username: issuer.username, expiresAtSeconds: payload.exp ?? 0 };
    } catch (error) {
      // Keys that can't be had are something to look at; a bad token is not.
      if (!(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout) {
        this.log.warn({ issuer: issuer.issuer, reason: String(error) }, "the keys of a trusted issuer can't be had");
      }
      return undefined;
    }
  }

  private find(token: string): { readonly issuer: Issuer; readonly claimedIssuer: string } | undefined {
    if (this.issuers.length === 0) return undefined;
    const payload = unverified(token);
    const claimedIssuer = payload?.iss;
    if (claimedIssuer === undefined) return undefined;
    const audiences = typeof payload?.aud === "string" ? [payload.aud] : (payload?.aud ?? []);
    const name = comparable(claimedIssuer);
    const issuer = this.issuers.find((each) => each.issuer === name && audiences.includes(each.audience));
    return issuer && { issuer, claimedIssuer };
  }
}

/** Claims of a token whose header names its key. */
function unverified(token: string): JWTPayload | undefined {
  try {
    return decodeProtectedHeader(token).kid === undefined ? undefined : decodeJwt(token);
  } catch {
    return undefined;
  }
}

/** Scheme and host of an issuer compare in any case, its path does not. */
function comparable(issuer: string): string {
  const [, origin, path = ""] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(issuer) ?? [];
  return origin === undefined ? issuer : origin.toLowerCase() + path;
}
