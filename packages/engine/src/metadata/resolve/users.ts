import {
  admitCreate,
  changePassword,
  createUser,
  encodeBase64,
  encodeResponse,
  createPersonalAccessToken,
  deletePersonalAccessToken,
  ErrorCode,
  numericId,
  Operation,
  preparedCreatePersonalAccessToken,
  preparedDeletePersonalAccessToken,
  textLimits,
  UserStatus,
  utf8Length,
} from "@iggy/protocol";
import { TOKEN_BYTES, tokenHash } from "../login/secrets.js";
import { attempt } from "../attempt.js";
import { Refusal } from "../refusal.js";
import { deny, propose, resolver } from "./resolver.js";

const isPassword = (text: string): boolean => {
  const length = utf8Length(text);
  return length >= textLimits.password.min && length <= textLimits.password.max;
};

/**
 * The password is hashed here: its text never enters the log. Hashing is costly, so what is bound to be refused is
 * refused before.
 */
export const resolveCreateUser = resolver(createUser, async (context, request) => {
  const options = attempt(() => admitCreate("user", request.options, { username: request.username }));
  if (options instanceof Refusal) return deny(options.code);
  if (!isPassword(request.password)) return deny(ErrorCode.InvalidPassword);
  if (request.status !== UserStatus.active && request.status !== UserStatus.inactive) {
    return deny(ErrorCode.InvalidUserStatus);
  }
  if (!context.mayDo("manageUsers")) return deny(ErrorCode.Unauthorized);
  if (context.state.usersByName.has(request.username)) return deny(ErrorCode.UserAlreadyExists);
  const password = await context.inputs.secrets.hashPassword(request.password);
  return propose(Operation.CreateUser, createUser.request, { ...request, password, options: options.explicit });
});

/**
 * The current password is that of the target user, whoever asks. A wrong one is refused by the log, as an empty new
 * password; so are an unknown target and a missing right, for which nothing needs to be compared.
 */
export const resolveChangePassword = resolver(changePassword, async (context, request) => {
  if (!isPassword(request.currentPassword) || !isPassword(request.newPassword)) return deny(ErrorCode.InvalidPassword);
  const { secrets } = context.inputs;
  const user = context.state.user(request.userId);
  const isAllowed = user !== undefined && (user === context.user || context.mayDo("manageUsers"));
  const isProven = isAllowed && (await secrets.verifyPassword(request.currentPassword, user.passwordHash));
  return propose(Operation.ChangePassword, changePassword.request, {
    // By number: the name may belong to someone else by the time it is applied.
    userId: user === undefined ? request.userId : numericId(user.id),
    currentPassword: "",
    newPassword: isProven ? await secrets.hashPassword(request.newPassword) : "",
  });
});

/** The text of the token is made here and goes to the caller alone; the log holds its hash. */
export const resolveCreateToken = resolver(createPersonalAccessToken, (context, request) => {
  const { user, config, inputs } = context;
  if (user.tokens.size >= config.tokensPerUserMax) return deny(ErrorCode.PersonalAccessTokensLimitReached);
  const token = encodeBase64(inputs.secrets.randomBytes(TOKEN_BYTES));
  const proposal = propose(Operation.CreatePersonalAccessToken, preparedCreatePersonalAccessToken, {
    userId: user.id,
    name: request.name,
    expiry: request.expiry,
    tokenHash: tokenHash(token),
  });
  return { ...proposal, payloadOverride: encodeResponse(createPersonalAccessToken, { token }) };
});

export const resolveDeleteToken = resolver(deletePersonalAccessToken, (context, request) =>
  propose(Operation.DeletePersonalAccessToken, preparedDeletePersonalAccessToken, {
    userId: context.user.id,
    name: request.name,
    onlyIfExpired: false,
  }),
);
