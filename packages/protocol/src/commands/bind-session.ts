import { fixedBytes, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { clientVersionInfo, sessionIdentity } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";
import { sessionReply } from "./records/session-reply.js";

/**
 * Binds one more connection to a registered session, with the secret of its registration as proof.
 *
 *   request  version_info client version info, gated before the rest is read
 *            identity     session identity; session 0 asks for the one of the client id
 *            bind_secret  32 bytes
 *   reply    session reply
 */
export const bindSession = command({
  code: 15,
  name: "session.bind",
  title: "BindSession",
  operation: Operation.NonReplicated,
  request: struct("BindSession", {
    versionInfo: clientVersionInfo,
    identity: sessionIdentity,
    bindSecret: fixedBytes(32),
  }),
  response: sessionReply,
  malformedReplyCode: ErrorCode.InvalidFormat,
});
export type BindSessionRequest = RequestOf<typeof bindSession>;
