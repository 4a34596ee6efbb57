import { name, str8, struct } from "../../codec/index.js";
import { command, type RequestOf } from "../../commands/command.js";
import { sessionReply } from "../../commands/records/session-reply.js";
import { Operation } from "../../enums/index.js";
import { clientVersionInfo } from "../../primitives/index.js";
import { optionalStr32 } from "../../primitives/presence.js";

/**
 * Signs in with a password; 0.11 has no secret to bind further connections with.
 *
 *   request  version_info · username name · password [u8][UTF-8] · client_context [u32][UTF-8]
 *   reply    session reply
 */
export const legacyLoginRegister = command({
  code: 40,
  name: "user.login_register",
  title: "LoginRegister",
  operation: Operation.Register,
  request: struct("LoginRegister of 0.11", {
    versionInfo: clientVersionInfo,
    username: name,
    password: str8,
    clientContext: optionalStr32,
  }),
  response: sessionReply,
  malformedReplyCode: 4,
});
export type LegacyLoginRegisterRequest = RequestOf<typeof legacyLoginRegister>;
