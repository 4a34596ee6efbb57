import { empty, listToEnd, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { user } from "./records/user.js";

/**
 * All users, without their permissions.
 *
 *   request  empty
 *   reply    user records to the end
 */
export const getUsers = command({
  code: 32,
  name: "user.list",
  title: "GetUsers",
  operation: Operation.NonReplicated,
  request: empty,
  response: struct("Users", { users: listToEnd(user) }),
});
export type GetUsersRequest = RequestOf<typeof getUsers>;
export type Users = NonNullable<ResponseOf<typeof getUsers>>;
