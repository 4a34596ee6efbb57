import { empty, listToEnd, name, struct, u64, type ValueOf } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";

const personalAccessToken = struct("personal access token", { name, expiryAt: u64 });
export type PersonalAccessToken = ValueOf<typeof personalAccessToken>;

/**
 * The caller's own tokens.
 *
 *   request  empty
 *   reply    ([name name][expiry_at u64]) to the end; µs since the epoch, 0 = never expires
 */
export const getPersonalAccessTokens = command({
  code: 41,
  name: "personal_access_token.list",
  title: "GetPersonalAccessTokens",
  operation: Operation.NonReplicated,
  request: empty,
  response: struct("PersonalAccessTokens", { tokens: listToEnd(personalAccessToken) }),
});
export type GetPersonalAccessTokensRequest = RequestOf<typeof getPersonalAccessTokens>;
export type PersonalAccessTokens = NonNullable<ResponseOf<typeof getPersonalAccessTokens>>;
