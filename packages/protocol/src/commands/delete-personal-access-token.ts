import { empty, name, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Removes a token of the caller.
 *
 *   request  name name
 *   reply    empty
 */
export const deletePersonalAccessToken = command({
  code: 43,
  name: "personal_access_token.delete",
  title: "DeletePersonalAccessToken",
  operation: Operation.DeletePersonalAccessToken,
  request: struct("DeletePersonalAccessToken", { name }),
  response: empty,
});
export type DeletePersonalAccessTokenRequest = RequestOf<typeof deletePersonalAccessToken>;
