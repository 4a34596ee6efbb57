import { fixedBytes, name, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { clientVersionInfo } from "../primitives/index.js";
import { optionalStr32 } from "../primitives/presence.js";
import { command, type RequestOf } from "./command.js";
import { sessionReply } from "./records/session-reply.js";

/**
 * Signs in with a personal access token and registers a session. The header does not tell it from LoginRegister: a
 * server reads a body as that one first.
 *
 *   request  version_info   client version info, gated before the rest is read
 *            bind_secret    32 bytes
 *            token          name
 *            client_context [u32][UTF-8], empty = absent
 *   reply    session reply
 */
export const loginRegisterWithPat = command({
  code: 45,
  name: "user.login_register_with_pat",
  title: "LoginRegisterWithPat",
  operation: Operation.Register,
  request: struct("LoginRegisterWithPat", {
    versionInfo: clientVersionInfo,
    bindSecret: fixedBytes(32),
    token: name,
    clientContext: optionalStr32,
  }),
  response: sessionReply,
  malformedReplyCode: ErrorCode.InvalidFormat,
});
export type LoginRegisterWithPatRequest = RequestOf<typeof loginRegisterWithPat>;
