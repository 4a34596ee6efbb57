import { encode, ErrorCode, EvictionReason, Operation, registerRequest, textLimits, utf8Length } from "@iggy/protocol";
import { isExpired, type User } from "../state/accounts.js";
import { bindVerifier } from "./bind.js";
import { equalBytes } from "./constant-time.js";
import { type Secrets, tokenHash } from "./secrets.js";
import type { MetadataState } from "../state/state.js";

/** The account that credentials belong to, as it was when they were verified. */
export interface Account {
  readonly userId: number;
  readonly userCreatedAtMicros: number;
}

export type LoginRefusal =
  /** Nobody of this name: an external authentication may decide instead. */
  | "unknown-user"
  | "wrong-password"
  | "inactive-user"
  /** Name or password outside their bounds. */
  | "out-of-bounds"
  | "unknown-token"
  | "expired-token"
  | "inactive-token-owner";

export type Authentication =
  { readonly kind: "account"; readonly account: Account } | { readonly kind: "refused"; readonly reason: LoginRefusal };

const refused = (reason: LoginRefusal): Authentication => ({ kind: "refused", reason });
const accountOf = (user: User): Authentication => ({
  kind: "account",
  account: { userId: user.id, userCreatedAtMicros: user.createdAtMicros },
});

/** Every outcome costs one password comparison, so its time does not tell them apart. */
export async function authenticatePassword(
  state: MetadataState,
  secrets: Secrets,
  username: string,
  password: string,
): Promise<Authentication> {
  const isInBounds = isWithin(textLimits.username, username) && isWithin(textLimits.password, password);
  const user = isInBounds ? state.usersByName.get(username) : undefined;
  const isRight = await secrets.verifyPassword(isInBounds ? password : "", user?.passwordHash);
  if (!isInBounds) return refused("out-of-bounds");
  if (user === undefined) return refused("unknown-user");
  if (!isRight) return refused("wrong-password");
  return user.isActive ? accountOf(user) : refused("inactive-user");
}

const isWithin = (limits: { readonly min: number; readonly max: number }, text: string): boolean => {
  const length = utf8Length(text);
  return length >= limits.min && length <= limits.max;
};

/** Looked up by its hash, which says nothing about tokens that are nearly right. */
export function authenticateToken(state: MetadataState, token: string, nowMicros: number): Authentication {
  const found = state.tokensByHash.get(tokenHash(token));
  if (found === undefined) return refused("unknown-token");
  if (isExpired(found, nowMicros)) return refused("expired-token");
  return found.user.isActive ? accountOf(found.user) : refused("inactive-token-owner");
}

/** Eviction reason that a refused login ends with. Those of a password look alike. */
export function loginEviction(reason: LoginRefusal): number {
  switch (reason) {
    case "unknown-token":
    case "expired-token":
      return EvictionReason.InvalidToken;
    case "inactive-token-owner":
      return EvictionReason.UserInactive;
    case "unknown-user":
    case "wrong-password":
    case "inactive-user":
    case "out-of-bounds":
      return EvictionReason.InvalidCredentials;
  }
}

export interface Registration {
  readonly operation: number;
  readonly userId: number;
  readonly body: Uint8Array;
}

/** What registers a session for a verified account. The secret itself does not enter the log. */
export const registration = (account: Account, bindSecret: Uint8Array): Registration => ({
  operation: Operation.Register,
  userId: account.userId,
  body: encode(registerRequest, {
    userCreatedAt: BigInt(account.userCreatedAtMicros),
    bindVerifier: bindVerifier(bindSecret),
  }),
});

/**
 * Why a registration would be refused if it were applied now, with the code that applying it would give; undefined when
 * it should be ordered. 58 while the session table is full or the client id's ended session is not retired, 101 for the
 * client id of someone else.
 */
export function registrationRefusal(
  state: MetadataState,
  client: bigint,
  account: Account,
  bindSecret: Uint8Array,
): number | undefined {
  const known = state.sessions.get(client);
  if (known === undefined) {
    return state.sessions.size >= state.sessionsMax ? ErrorCode.TransientNotAccepted : undefined;
  }
  if (!known.isLive) return ErrorCode.TransientNotAccepted;
  const isSame = known.userId === account.userId && equalBytes(known.verifier, bindVerifier(bindSecret));
  return isSame ? undefined : ErrorCode.InvalidClientId;
}

/** Eviction reason for the code of a refused registration; undefined for the retryable refusals 57 and 58. */
export function registrationEviction(code: number): number | undefined {
  return code === ErrorCode.TransientNotAccepted || code === ErrorCode.TransientNotCommitted
    ? undefined
    : EvictionReason.SessionError;
}
