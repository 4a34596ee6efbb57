import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Ends the session on the whole cluster. Its reply has no result section.
 *
 *   request  empty
 *   reply    empty
 */
export const logoutUser = command({
  code: 39,
  name: "user.logout",
  title: "LogoutUser",
  operation: Operation.Logout,
  request: empty,
  response: empty,
});
export type LogoutUserRequest = RequestOf<typeof logoutUser>;
