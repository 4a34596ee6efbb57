import { name, str8, struct, u32 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { optionalStr32 } from "../primitives/presence.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";

/**
 * Reserved login of earlier protocols. A server answers it with an eviction (MalformedLogin), signed in or not.
 *
 *   request  username name
 *            password [u8][UTF-8]
 *            version  [u32][UTF-8], empty = absent
 *            context  [u32][UTF-8], empty = absent
 *   reply    user_id u32
 */
export const loginUser = command({
  code: 38,
  name: "user.login",
  title: "LoginUser",
  operation: Operation.NonReplicated,
  request: struct("LoginUser", {
    username: name,
    password: str8,
    version: optionalStr32,
    context: optionalStr32,
  }),
  response: struct("Identity", { userId: u32 }),
});
export type LoginUserRequest = RequestOf<typeof loginUser>;
export type Identity = NonNullable<ResponseOf<typeof loginUser>>;
