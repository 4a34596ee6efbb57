import {
  changePassword,
  createUser,
  deleteUser,
  encodeResponse,
  ErrorCode,
  fitsOptionBlock,
  textLimits,
  updatePermissions,
  UserStatus,
  utf8Length,
  updateUserResolved,
} from "@iggy/protocol";
import { User } from "../state/accounts.js";
import { passwordChanged, permissionsUpdated, userCreated, userDeleted, userUpdated } from "../changes/records.js";
import { missingGrantTarget } from "../state/grants.js";
import { handler, nothing } from "./handler.js";
import { findUser } from "../state/lookups.js";
import type { OperationContext } from "./operation-context.js";
import { refuse, Refusal } from "../refusal.js";
import { userDetails } from "../replies/records.js";
import { ResourceOptions } from "../state/resource-options.js";
import { endSession } from "./sessions.js";

/** In the log the password is its hash. The first user of a history is root. */
export const applyCreateUser = handler(createUser.request, (context, request) => {
  const { state } = context;
  if (!context.mayDo("manageUsers")) return refuse(ErrorCode.Unauthorized);
  const length = utf8Length(request.username);
  if (length < textLimits.username.min || length > textLimits.username.max) {
    return refuse(ErrorCode.InvalidUsername);
  }
  if (request.status !== UserStatus.active && request.status !== UserStatus.inactive) {
    return refuse(ErrorCode.InvalidUserStatus);
  }
  if (state.usersByName.has(request.username)) return refuse(ErrorCode.UserAlreadyExists);
  const id = state.users.nextId;
  if (id === undefined) return refuse(ErrorCode.UsersLimitReached);
  const missing = request.permissions === null ? undefined : missingGrantTarget(state, request.permissions);
  if (missing !== undefined) return missing;
  const user = new User({
    id,
    createdAtMicros: context.nowMicros,
    username: request.username,
    status: request.status,
    passwordHash: request.password,
    permissions: request.permissions,
    options: ResourceOptions.of({ explicit: request.options, derived: [] }),
  });
  state.addUser(user);
  context.record(userCreated(user));
  return encodeResponse(createUser, userDetails(user));
});

export const applyDeleteUser = handler(deleteUser.request, (context, request) => {
  const user = findUser(context.state, request.userId);
  if (user instanceof Refusal) return user;
  if (!context.mayDo("manageUsers")) return refuse(ErrorCode.Unauthorized);
  if (user.isRoot) return refuse(ErrorCode.CannotDeleteUser);
  context.record(userDeleted(user));
  endSessionsOf(context, user);
  context.state.removeUser(user);
  return nothing;
});

export const applyUpdatePermissions = handler(updatePermissions.request, (context, request) => {
  const user = findUser(context.state, request.userId);
  if (user instanceof Refusal) return user;
  if (!context.mayDo("manageUsers")) return refuse(ErrorCode.Unauthorized);
  if (user.isRoot) return refuse(ErrorCode.CannotChangePermissions);
  const missing = request.permissions === null ? undefined : missingGrantTarget(context.state, request.permissions);
  if (missing !== undefined) return missing;
  user.permissions = request.permissions;
  context.record(permissionsUpdated(user, "updated"));
  return nothing;
});

/** In the log the new password is its hash; empty says that the current one was wrong. */
export const applyChangePassword = handler(changePassword.request, (context, request) => {
  const user = findUser(context.state, request.userId);
  if (user instanceof Refusal) return user;
  if (context.actor !== user && !context.mayDo("manageUsers")) return refuse(ErrorCode.Unauthorized);
  if (request.newPassword === "") return refuse(ErrorCode.InvalidCredentials);
  user.passwordHash = request.newPassword;
  context.record(passwordChanged(user));
  return nothing;
});

export const applyUpdateUser = handler(updateUserResolved, (context, request) => {
  const { state } = context;
  const user = findUser(state, request.userId);
  if (user instanceof Refusal) return user;
  if (!context.mayDo("manageUsers")) return refuse(ErrorCode.Unauthorized);
  const username = request.username ?? user.username;
  const status = request.status ?? user.status;
  if (user.isRoot && (username !== user.username || status !== user.status)) {
    return refuse(ErrorCode.CannotModifyRootUser);
  }
  const holder = state.usersByName.get(username);
  if (holder !== undefined && holder !== user) return refuse(ErrorCode.UserAlreadyExists);
  const options = user.options.patched({ explicit: request.explicitOptions, derived: request.derivedOptions });
  if (!fitsOptionBlock(options.all)) return refuse(ErrorCode.OptionsBlockTooLarge);
  state.renameUser(user, username);
  user.status = status;
  user.options = options;
  context.record(userUpdated(user));
  if (!user.isActive) endSessionsOf(context, user);
  return nothing;
});

/** A deactivated or deleted user is signed out everywhere. */
function endSessionsOf(context: OperationContext, user: User): void {
  for (const session of context.state.sessions.values()) {
    if (session.userId === user.id && session.isLive) endSession(context, session, "revoked");
  }
}
