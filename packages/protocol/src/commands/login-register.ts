import { fixedBytes, name, str8, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { clientVersionInfo } from "../primitives/index.js";
import { optionalStr32 } from "../primitives/presence.js";
import { command, type RequestOf } from "./command.js";
import { sessionReply } from "./records/session-reply.js";

/**
 * Signs in with a password and registers a session.
 *
 *   request  version_info   client version info, gated before the rest is read
 *            bind_secret    32 bytes, random, kept by the client for the session's life
 *            username       name, 3..50 bytes
 *            password       [u8][UTF-8], 3..100 bytes
 *            client_context [u32][UTF-8], empty = absent
 *   reply    session reply
 */
export const loginRegister = command({
  code: 40,
  name: "user.login_register",
  title: "LoginRegister",
  operation: Operation.Register,
  request: struct("LoginRegister", {
    versionInfo: clientVersionInfo,
    bindSecret: fixedBytes(32),
    username: name,
    password: str8,
    clientContext: optionalStr32,
  }),
  response: sessionReply,
  malformedReplyCode: ErrorCode.InvalidFormat,
});
export type LoginRegisterRequest = RequestOf<typeof loginRegister>;
