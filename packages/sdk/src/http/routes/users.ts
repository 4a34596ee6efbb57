import {
  changePassword,
  createPersonalAccessToken,
  createUser,
  deletePersonalAccessToken,
  deleteUser,
  getPersonalAccessTokens,
  getUser,
  getUsers,
  nameOf,
  OptionScope,
  updatePermissions,
  updateResource,
  type User,
  type UserDetails,
  UserStatus,
} from "@iggy/protocol";
import { listOf, Members } from "../members.js";
import { optionsJson, storedOptions } from "./options.js";
import { permissionsJson, permissionsOf } from "./permissions.js";
import { type HttpRoutes, idSegment, nothing, segment, streamPath, topicPath } from "./route.js";

/** Users, their tokens, and updates of all resources. */
export function addUsers(routes: HttpRoutes): void {
  routes
    .add(getUsers, {
      request: () => ({ method: "GET", path: "/users" }),
      reply: ({ json }) => ({ users: listOf(json, userOf) }),
    })
    .add(getUser, {
      request: ({ userId }) => ({ method: "GET", path: `/users/${idSegment(userId)}` }),
      reply: ({ json }) => userDetails(new Members(json)),
      absent: null,
    })
    .add(createUser, {
      request: ({ username, password, status, permissions, options }) => ({
        method: "POST",
        path: "/users",
        body: {
          username,
          password,
          status: nameOf(UserStatus, status) ?? "active",
          permissions: permissions === null ? null : permissionsJson(permissions),
          ...(options.length === 0 ? {} : { options: optionsJson(options) }),
        },
      }),
      reply: ({ json }) => userDetails(new Members(json)),
    })
    .add(deleteUser, {
      request: ({ userId }) => ({ method: "DELETE", path: `/users/${idSegment(userId)}` }),
      reply: nothing,
    })
    .add(updatePermissions, {
      request: ({ userId, permissions }) => ({
        method: "PUT",
        path: `/users/${idSegment(userId)}/permissions`,
        body: { permissions: permissions === null ? null : permissionsJson(permissions) },
      }),
      reply: nothing,
    })
    .add(changePassword, {
      request: ({ userId, currentPassword, newPassword }) => ({
        method: "PUT",
        path: `/users/${idSegment(userId)}/password`,
        body: { current_password: currentPassword, new_password: newPassword },
      }),
      reply: nothing,
    })
    .add(updateResource, {
      request: ({ target, options, reset }) => ({
        method: "PUT",
        path: targetPath(target),
        body: { ...optionsJson(options), ...(reset.length === 0 ? {} : { reset }) },
      }),
      reply: nothing,
    })
    .add(getPersonalAccessTokens, {
      request: () => ({ method: "GET", path: "/personal-access-tokens" }),
      reply: ({ json }) => ({
        tokens: listOf(json, (token) => ({
          name: token.text("name"),
          expiryAt: token.isAbsent("expiry_at") ? 0n : token.u64("expiry_at"),
        })),
      }),
    })
    .add(createPersonalAccessToken, {
      request: ({ name, expiry }) => ({ method: "POST", path: "/personal-access-tokens", body: { name, expiry } }),
      reply: ({ json }) => ({ token: new Members(json).text("token") }),
    })
    .add(deletePersonalAccessToken, {
      request: ({ name }) => ({ method: "DELETE", path: `/personal-access-tokens/${segment(name)}` }),
      reply: nothing,
    });
}

type Target = Parameters<typeof updateResource.request.write>[1]["target"];

function targetPath(target: Target): string {
  switch (target.scope) {
    case OptionScope.topic:
      return topicPath(target.streamId, target.topicId);
    case OptionScope.stream:
      return streamPath(target.streamId);
    case OptionScope.user:
      return `/users/${idSegment(target.userId)}`;
  }
}

const userOf = (user: Members): User => ({
  id: user.u32("id"),
  createdAt: user.u64("created_at"),
  status: user.word("status", UserStatus),
  username: user.text("username"),
  ...storedOptions(user),
});

const userDetails = (user: Members): UserDetails => ({
  user: userOf(user),
  permissions: user.isAbsent("permissions") ? null : permissionsOf(user.object("permissions")),
});
