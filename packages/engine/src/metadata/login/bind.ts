import { ErrorCode, type SessionIdentity } from "@iggy/protocol";
import { sha256 } from "@noble/hashes/sha2.js";
import { equalBytes } from "./constant-time.js";
import { refuse, type Refusal } from "../refusal.js";
import type { Session } from "../state/session.js";
import type { MetadataState } from "../state/state.js";

/** What the log keeps of a bind secret. */
export const bindVerifier = (bindSecret: Uint8Array): Uint8Array => sha256(bindSecret);

/**
 * The session that a connection asks to be bound to. Session 0 asks for whatever the client id has. Refused with 40 when
 * there is no such live session, the secret is another one, or its user is gone or inactive; with 58 while this node has
 * not applied what the client has already seen.
 */
export function sessionToBind(
  state: MetadataState,
  identity: SessionIdentity,
  bindSecret: Uint8Array,
): Session | Refusal {
  const session = state.sessions.get(identity.clientId);
  // Compared in any case, so that the time tells nothing about which client ids have a session.
  const isProven = equalBytes(session?.verifier ?? unknownVerifier, bindVerifier(bindSecret));
  const isBehind = identity.metadataWatermark > BigInt(state.appliedOp);
  // A session that this node has not seen may be among what it has not applied.
  if (session === undefined) return refuse(isBehind ? ErrorCode.TransientNotAccepted : ErrorCode.Unauthenticated);
  if (!isProven || !session.isLive || !isOwned(state, session)) return refuse(ErrorCode.Unauthenticated);
  if (identity.session !== 0n && identity.session !== BigInt(session.epoch)) return refuse(ErrorCode.Unauthenticated);
  return isBehind ? refuse(ErrorCode.TransientNotAccepted) : session;
}

const unknownVerifier = new Uint8Array(32);

function isOwned(state: MetadataState, session: Session): boolean {
  const user = state.users.get(session.userId);
  return user?.createdAtMicros === session.userCreatedAtMicros && user.isActive;
}
