import { name, str8, struct, u8 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { optionsToEnd, permissions } from "../primitives/index.js";
import { optionalPrefixed } from "../primitives/presence.js";
import { command, type RequestOf } from "./command.js";
import { userDetails } from "./records/user.js";

/**
 * Adds a user. In the replicated body the password is its hash.
 *
 *   request  username    name, 3..50 bytes
 *            password    [u8][UTF-8], 3..100 bytes
 *            status      u8 (1 active, 2 inactive; others are refused with InvalidUserStatus)
 *            permissions [01][u32 length][permissions], or 00
 *            options     to end
 *   reply    user details
 *
 * Layout only: the bounds of username, password and status have errors of their own, not those of a malformed body.
 */
export const createUser = command({
  code: 33,
  name: "user.create",
  title: "CreateUser",
  operation: Operation.CreateUser,
  request: struct("CreateUser", {
    username: name,
    password: str8,
    status: u8,
    permissions: optionalPrefixed(permissions),
    options: optionsToEnd,
  }),
  response: userDetails,
});
export type CreateUserRequest = RequestOf<typeof createUser>;
