import { compareUtf8, encodeResponse, ErrorCode, getPersonalAccessTokens, getUser, getUsers } from "@iggy/protocol";
import { refuse } from "../refusal.js";
import { userDetails, userRecord } from "../replies/records.js";
import { read } from "./read.js";

/** Everyone may read their own record. */
export const readUser = read(getUser, (context, request) => {
  const user = context.state.user(request.userId);
  if (user === undefined) return encodeResponse(getUser, null);
  if (user !== context.user && !context.mayDo("readUsers")) return refuse(ErrorCode.Unauthorized);
  return encodeResponse(getUser, userDetails(user));
});

export const readUsers = read(getUsers, (context) => {
  if (!context.mayDo("readUsers")) return refuse(ErrorCode.Unauthorized);
  return encodeResponse(getUsers, { users: [...context.state.users.values()].map(userRecord) });
});

/** The caller's own tokens, by name. */
export const readTokens = read(getPersonalAccessTokens, (context) =>
  encodeResponse(getPersonalAccessTokens, {
    tokens: [...context.user.tokens.values()]
      .sort((left, right) => compareUtf8(left.name, right.name))
      .map(({ name, expiryMicros }) => ({ name, expiryAt: expiryMicros })),
  }),
);
