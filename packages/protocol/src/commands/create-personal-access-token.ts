import { name, struct, u64 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";

/**
 * Creates a token of the caller. The reply is the only time that its text is shown.
 *
 *   request  name   name
 *            expiry u64, a duration in µs; 0 and u64::MAX mean never
 *   reply    token  name
 */
export const createPersonalAccessToken = command({
  code: 42,
  name: "personal_access_token.create",
  title: "CreatePersonalAccessToken",
  operation: Operation.CreatePersonalAccessToken,
  request: struct("CreatePersonalAccessToken", { name, expiry: u64 }),
  response: struct("RawPersonalAccessToken", { token: name }),
});
export type CreatePersonalAccessTokenRequest = RequestOf<typeof createPersonalAccessToken>;
export type RawPersonalAccessToken = NonNullable<ResponseOf<typeof createPersonalAccessToken>>;
