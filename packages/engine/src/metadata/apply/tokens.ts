import { ErrorCode, preparedCreatePersonalAccessToken, preparedDeletePersonalAccessToken } from "@iggy/protocol";
import { isExpired } from "../state/accounts.js";
import { tokenCreated, tokenDeleted } from "../changes/records.js";
import { handler, nothing } from "./handler.js";
import type { OperationContext } from "./operation-context.js";
import { refuse, Refusal } from "../refusal.js";
import type { User } from "../state/accounts.js";

const never = 0xffff_ffff_ffff_ffffn;

/** The log holds the hash alone, so the reply of this node's own client gets the token's text from elsewhere. */
export const applyCreateToken = handler(preparedCreatePersonalAccessToken, (context, request) => {
  const user = tokenOwner(context, request.userId);
  if (user instanceof Refusal) return user;
  if (user.tokens.has(request.name) || context.state.tokensByHash.has(request.tokenHash)) {
    return refuse(ErrorCode.PersonalAccessTokenAlreadyExists);
  }
  const expiryMicros = expiryOf(request.expiry, context.nowMicros);
  if (expiryMicros === undefined) return refuse(ErrorCode.InvalidPersonalAccessTokenExpiry);
  const token = { user, name: request.name, hash: request.tokenHash, expiryMicros };
  context.state.addToken(token);
  context.record(tokenCreated(token));
  return nothing;
});

/** A duration turned into a point in time, 0 for never; undefined when no u64 holds it. */
function expiryOf(durationMicros: bigint, nowMicros: number): bigint | undefined {
  if (durationMicros === 0n || durationMicros === never) return 0n;
  const at = BigInt(nowMicros) + durationMicros;
  return at > never ? undefined : at;
}

export const applyDeleteToken = handler(preparedDeletePersonalAccessToken, (context, request) => {
  const user = tokenOwner(context, request.userId);
  if (user instanceof Refusal) return user;
  const token = user.tokens.get(request.name);
  if (token === undefined) return refuse(ErrorCode.ResourceNotFound);
  // The token may have been replaced by one of the same name since its expiry was seen.
  if (request.onlyIfExpired && !isExpired(token, context.nowMicros)) return nothing;
  context.state.removeToken(token);
  context.record(tokenDeleted(token, request.onlyIfExpired ? "expired" : "deleted"));
  return nothing;
});

/** Tokens are their owner's affair; only the server acts for others. */
function tokenOwner(context: OperationContext, userId: number): User | Refusal {
  if (context.actor !== undefined && context.actor.id !== userId) return refuse(ErrorCode.InvalidCommand);
  return context.state.users.get(userId) ?? refuse(ErrorCode.ResourceNotFound);
}
