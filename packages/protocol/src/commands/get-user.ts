import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";
import { userTarget } from "./records/targets.js";
import { userDetails } from "./records/user.js";

/**
 * One user. Everyone may read their own record.
 *
 *   request  user_id identifier
 *   reply    user details, empty when unknown
 */
export const getUser = command({
  code: 31,
  name: "user.get",
  title: "GetUser",
  operation: Operation.NonReplicated,
  request: userTarget,
  response: userDetails,
  absent: true,
});
export type GetUserRequest = RequestOf<typeof getUser>;
