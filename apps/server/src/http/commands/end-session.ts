import { ClientTransport, ErrorCode, IggyError, Operation } from "@iggy/protocol";
import type { OperationRequest } from "../../metadata/operation-request.js";
import type { HttpSession } from "./http-session.js";
import { LocalRequest } from "./local-request.js";
import { randomU128 } from "./random-u128.js";

/** Commits the end of a session; false when there is no room for that now. */
export async function endSession(
  metadata: { logout(request: OperationRequest): void },
  { client, session, userId }: HttpSession,
): Promise<boolean> {
  const logout = new LocalRequest({
    client,
    session,
    userId,
    request: 0,
    requestChecksum: randomU128(),
    operation: Operation.Logout,
    fences: {},
    body: new Uint8Array(0),
    peer: { id: 0, transport: ClientTransport.http, address: "", binding: undefined },
  });
  metadata.logout(logout);
  try {
    await logout.payload;
    return true;
  } catch (error) {
    if (error instanceof IggyError && error.code === ErrorCode.TransientNotAccepted) return false;
    throw error;
  }
}
