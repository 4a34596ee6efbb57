import {
  ErrorCode,
  encodeResponse,
  loginRegister,
  PROTOCOL_VERSION,
  finalizeSession,
  registerRequest,
} from "@iggy/protocol";
import { logoutBody } from "./logout-body.js";
import { sessionClosed, sessionRegistered } from "../changes/records.js";
import { equalBytes } from "../login/constant-time.js";
import type { SessionEndReason } from "../effects.js";
import { handler, nothing } from "./handler.js";
import type { OperationContext } from "./operation-context.js";
import { refuse } from "../refusal.js";
import { Session } from "../state/session.js";
import { leaveEveryGroup } from "./groups.js";

/**
 * Registers a session for a client id, or answers the one that the same proof registered before. The account is checked
 * again: it may have gone, changed hands or been deactivated since the credentials were verified.
 */
export const applyRegister = handler(registerRequest, (context, request) => {
  const { state, prepare } = context;
  const user = state.users.get(prepare.userId);
  if (user === undefined || BigInt(user.createdAtMicros) !== request.userCreatedAt || !user.isActive) {
    return refuse(ErrorCode.Unauthenticated);
  }
  if (prepare.client === 0n) return refuse(ErrorCode.InvalidClientId);
  const known = state.sessions.get(prepare.client);
  if (known !== undefined) {
    // Until every partition forgot the ended session, its client id is not free. Another one can sign in at once.
    if (!known.isLive) return refuse(ErrorCode.TransientNotAccepted);
    const isSame = known.userId === user.id && equalBytes(known.verifier, request.bindVerifier);
    return isSame ? sessionReplyPayload(context, known) : refuse(ErrorCode.InvalidClientId);
  }
  if (state.sessions.size >= state.sessionsMax) return refuse(ErrorCode.TransientNotAccepted);
  const session = new Session({
    clientId: prepare.client,
    epoch: prepare.op,
    userId: user.id,
    userCreatedAtMicros: user.createdAtMicros,
    verifier: request.bindVerifier.slice(),
  });
  state.sessions.set(session.clientId, session);
  context.record(sessionRegistered(session));
  context.emit({
    kind: "session-registered",
    clientId: session.clientId,
    session: session.epoch,
    userId: session.userId,
  });
  return sessionReplyPayload(context, session);
});

const sessionReplyPayload = (context: OperationContext, session: Session): Uint8Array =>
  encodeResponse(loginRegister, {
    userId: session.userId,
    session: BigInt(session.epoch),
    serverProtocolVersion: PROTOCOL_VERSION,
    serverVersion: context.config.serverVersion,
  });

/** Ends the session that the prepare names. One that has ended already stays ended. Only the server has other reasons. */
export const applyLogout = handler(logoutBody, (context, asked) => {
  const reason = context.actor === undefined ? asked : "logout";
  const session = context.state.sessions.get(context.prepare.client);
  if (session?.isLive === true && session.epoch === context.prepare.session) endSession(context, session, reason);
  return nothing;
});

/** Ends a session for good: it leaves its groups, and its entry waits for retirement. */
export function endSession(context: OperationContext, session: Session, reason: SessionEndReason): void {
  session.ended = reason;
  session.receipts = [];
  context.record(sessionClosed(session, reason));
  context.emit({
    kind: "session-ended",
    clientId: session.clientId,
    session: session.epoch,
    userId: session.userId,
    reason,
  });
  leaveEveryGroup(context, session.clientId);
}

/**
 * By the server, once every partition has retired the session: frees its slot. The proof holds for the set of partitions
 * that it was made for, so one of an older revision changes nothing and is made again.
 */
export const applyFinalizeSession = handler(finalizeSession, (context, request) => {
  const { state } = context;
  if (context.actor !== undefined) return refuse(ErrorCode.InvalidCommand);
  // A debt stands for a copy that could not answer. There are no other copies yet, so nobody may write one.
  if (request.debt.length > 0) return refuse(ErrorCode.FeatureUnavailable);
  const session = state.sessions.get(request.identity.clientId);
  if (session === undefined || session.isLive || BigInt(session.epoch) !== request.identity.session) return nothing;
  if (request.namespaceRevision !== BigInt(state.namespaceRevision)) return refuse(ErrorCode.LifecycleBusy);
  state.sessions.delete(session.clientId);
  return nothing;
});
