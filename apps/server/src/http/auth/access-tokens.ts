import type { User } from "@iggy/engine";
import { errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import type { ServerConfig } from "../../config/index.js";
import type { Clock } from "../../request.js";
import { uuidV7 } from "./token-id.js";
import { type TokenKeys, tokenKeys } from "./token-keys.js";

/** Life of a token that never expires, seconds: some thirty years. */
const NEVER_SECONDS = 1_000_000_000;

export interface IssuedToken {
  readonly token: string;
  /** Unix seconds. */
  readonly expiry: number;
}

/** What a token of ours says about its user. */
export interface TokenClaims {
  readonly id: string;
  readonly userId: number;
  /** Tells the user from a later one of the same id; undefined in a token that others made with our key. */
  readonly userCreatedAtMicros: number | undefined;
  readonly issuedAtSeconds: number;
  readonly expiresAtSeconds: number;
}

/** Access tokens of this server: signed texts that nobody stores. They hold until they expire. */
export class AccessTokens {
  private readonly config: ServerConfig["http"]["jwt"];
  private readonly keys: TokenKeys;
  private readonly clock: Clock;

  constructor(config: ServerConfig["http"]["jwt"], clock: Clock) {
    this.config = config;
    this.keys = tokenKeys(config);
    this.clock = clock;
  }

  async issue({ id, createdAtMicros }: Pick<User, "id" | "createdAtMicros">): Promise<IssuedToken> {
    const { algorithm, issuer, audience, notBeforeMillis, accessTokenExpiry } = this.config;
    const nowMillis = Math.floor(this.clock.nowMicros() / 1000);
    const issuedAt = Math.floor(nowMillis / 1000);
    const life = typeof accessTokenExpiry === "object" ? Number(accessTokenExpiry.micros / 1_000_000n) : NEVER_SECONDS;
    const expiry = issuedAt + life;
    const token = await new SignJWT({ user_created_at: String(createdAtMicros) })
      .setProtectedHeader({ alg: algorithm, typ: "JWT" })
      .setJti(uuidV7(nowMillis))
      .setSubject(String(id))
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt + Math.floor(notBeforeMillis / 1000))
      .setExpirationTime(expiry)
      .sign(this.keys.signing);
    return { token, expiry };
  }

  /** What a token of ours says, or undefined for one that is none, or holds no more. */
  async verify(token: string): Promise<TokenClaims | undefined> {
    const { algorithm, validIssuers, validAudiences, clockSkewMillis } = this.config;
    try {
      const { payload } = await jwtVerify(token, this.keys.verifying, {
        algorithms: [algorithm],
        issuer: [...validIssuers],
        audience: [...validAudiences],
        clockTolerance: clockSkewMillis / 1000,
        currentDate: new Date(this.clock.nowMicros() / 1000),
        requiredClaims: ["jti", "sub", "iat", "exp"],
      });
      return claimsOf(payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}

function claimsOf({ jti, sub = "", iat = 0, exp = 0, ...others }: JWTPayload): TokenClaims | undefined {
  if (jti === undefined || !/^[0-9]{1,10}$/.test(sub)) return undefined;
  const created = others["user_created_at"];
  return {
    id: jti,
    userId: Number(sub),
    userCreatedAtMicros: typeof created === "string" ? Number(created) : undefined,
    issuedAtSeconds: iat,
    expiresAtSeconds: exp,
  };
}
