import { empty } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { userTarget } from "./records/targets.js";

/**
 * Removes a user, its tokens and its sessions.
 *
 *   request  user_id identifier
 *   reply    empty
 */
export const deleteUser = command({
  code: 34,
  name: "user.delete",
  title: "DeleteUser",
  operation: Operation.DeleteUser,
  request: userTarget,
  response: empty,
});
export type DeleteUserRequest = RequestOf<typeof deleteUser>;
