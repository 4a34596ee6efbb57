import { name, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Reserved login of earlier protocols; see LoginUser.
 *
 *   request  token name
 *   reply    user_id u32
 */
export const loginWithPersonalAccessToken = command({
  code: 44,
  name: "personal_access_token.login",
  title: "LoginWithPersonalAccessToken",
  operation: Operation.NonReplicated,
  request: struct("LoginWithPersonalAccessToken", { token: name }),
  response: struct("Identity", { userId: u32 }),
});
export type LoginWithPersonalAccessTokenRequest = RequestOf<typeof loginWithPersonalAccessToken>;
