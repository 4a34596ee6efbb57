import { codeOf, SessionClosedReason, tail, u8 } from "@iggy/protocol";

/**
 * Body of a Logout in the log: empty when the client asked for it, else `[reason u8]` (1 expired, 2 revoked) when the
 * server ends the session.
 */
export const logoutBody = tail(codeOf("reason to end a session", u8, SessionClosedReason), "logout");
