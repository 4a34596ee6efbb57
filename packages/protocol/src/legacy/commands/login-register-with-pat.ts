import { name, struct } from "../../codec/index.js";
import { command, type RequestOf } from "../../commands/command.js";
import { sessionReply } from "../../commands/records/session-reply.js";
import { Operation } from "../../enums/index.js";
import { clientVersionInfo } from "../../primitives/index.js";
import { optionalStr32 } from "../../primitives/presence.js";

/**
 * Signs in with a personal access token.
 *
 *   request  version_info · token name · client_context [u32][UTF-8]
 *   reply    session reply
 */
export const legacyLoginRegisterWithPat = command({
  code: 45,
  name: "user.login_register_with_pat",
  title: "LoginRegisterWithPat",
  operation: Operation.Register,
  request: struct("LoginRegisterWithPat of 0.11", {
    versionInfo: clientVersionInfo,
    token: name,
    clientContext: optionalStr32,
  }),
  response: sessionReply,
  malformedReplyCode: 4,
});
export type LegacyLoginRegisterWithPatRequest = RequestOf<typeof legacyLoginRegisterWithPat>;
