import {
  changePassword,
  createUser,
  deleteUser,
  ErrorCode,
  getUser,
  getUsers,
  type Identifier,
  identifierText as textOf,
  nameOf,
  numericId,
  OptionScope,
  textLimits,
  updatePermissions,
  updateResource,
  type User,
  type UserDetails,
  UserStatus,
} from "@iggy/protocol";
import type { Caller, Commands } from "../commands/index.js";
import {
  list,
  mapped,
  nullable,
  object,
  oneOf,
  optional,
  type Shape,
  type ShapeValue,
  text,
  u32,
  u64,
} from "../json/index.js";
import { empty, identifierText, json, needs, needsOrSelf, notFound, route, type Route } from "../route/index.js";
import { createOptions, optionsJson, optionsShape, patchShape } from "./options-json.js";
import { grantedPermissions, permissionsJson, permissionsShape } from "./permissions-json.js";
import { consistent } from "./reading.js";

const statusShape = oneOf("active", "inactive");
const userFields = { id: u32, created_at: u64, status: statusShape, username: text() } as const;
const userShape = object({ ...userFields, options: optionsShape });
const detailsShape = object({ ...userFields, permissions: nullable(permissionsShape), options: optionsShape });

const fieldsJson = ({ id, createdAt, status, username }: User): Omit<ShapeValue<typeof userShape>, "options"> => ({
  id,
  created_at: createdAt,
  status: nameOf(UserStatus, status) ?? "inactive",
  username,
});

const userJson = (user: User): ShapeValue<typeof userShape> => ({
  ...fieldsJson(user),
  options: optionsJson(user.options, user.derivedOptions),
});

const detailsJson = ({ user, permissions }: UserDetails): ShapeValue<typeof detailsShape> => ({
  ...fieldsJson(user),
  permissions: permissions === null ? null : permissionsJson(permissions),
  options: optionsJson(user.options, user.derivedOptions),
});

const status: Shape<number> = mapped(oneOf("active", "inactive"), (name) => UserStatus[name]);
const username = text({ ...textLimits.username, code: ErrorCode.InvalidUsername });
const password = text({ ...textLimits.password, code: ErrorCode.InvalidPassword });

const listed = json(200, "The users.", list(userShape));
const found = json(200, "The user.", detailsShape);
const created = json(200, "The user as it was made.", detailsShape);
const done = empty(204, "Done.");

const tag = "Users";
const path = "/users/{user_id}";
const target = object({ user_id: identifierText });

/** The word for whoever asks, where a user is read. */
const ME = "me";

export const userRoutes = (runner: Commands): readonly Route[] => [
  route({
    method: "GET",
    path: "/users",
    tag,
    summary: "List the users",
    access: needs("readUsers"),
    place: "consistency",
    query: consistent,
    answers: [listed],
    serve: async ({ caller }) => listed.of((await runner.run(caller, getUsers, {})).users.map(userJson)),
  }),
  route({
    method: "POST",
    path: "/users",
    tag,
    summary: "Create a user",
    access: needs("manageUsers"),
    place: "primary",
    body: object({
      username,
      password,
      status,
      permissions: optional(nullable(grantedPermissions), null),
      options: createOptions("user"),
    }),
    answers: [created],
    serve: async ({ caller, body }) => created.of(detailsJson(await runner.run(caller, createUser, body))),
  }),
  route({
    method: "GET",
    path,
    tag,
    summary: "Read a user",
    description: "`me` is whoever asks.",
    access: needsOrSelf("readUsers"),
    place: "consistency",
    params: target,
    query: consistent,
    answers: [found],
    serve: async ({ caller, params }) => {
      const user = await runner.run(caller, getUser, { userId: meant(params.user_id, caller) });
      if (user === null) throw notFound(`there is no user ${textOf(params.user_id)}`);
      return found.of(detailsJson(user));
    },
  }),
  route({
    method: "PUT",
    path,
    tag,
    summary: "Change a user's name or status",
    access: needs("manageUsers"),
    place: "primary",
    params: target,
    body: patchShape("user"),
    answers: [done],
    serve: async ({ caller, params, body: { options, reset } }) => {
      await runner.run(caller, updateResource, {
        target: { scope: OptionScope.user, userId: params.user_id },
        reset,
        options,
      });
      return done.of();
    },
  }),
  route({
    method: "DELETE",
    path,
    tag,
    summary: "Delete a user with its tokens and sessions",
    access: needs("manageUsers"),
    place: "primary",
    params: target,
    answers: [done],
    serve: async ({ caller, params }) => {
      await runner.run(caller, deleteUser, { userId: params.user_id });
      return done.of();
    },
  }),
  route({
    method: "PUT",
    path: `${path}/permissions`,
    tag,
    summary: "Replace the permissions of a user",
    access: needs("manageUsers"),
    place: "primary",
    params: target,
    body: object({ permissions: nullable(grantedPermissions) }),
    answers: [done],
    serve: async ({ caller, params, body }) => {
      await runner.run(caller, updatePermissions, { userId: params.user_id, permissions: body.permissions });
      return done.of();
    },
  }),
  route({
    method: "PUT",
    path: `${path}/password`,
    tag,
    summary: "Change the password of a user",
    description: "Takes the current password of that user, whoever asks.",
    access: needsOrSelf("manageUsers"),
    place: "primary",
    params: target,
    // A wrong current password of whatever length is refused in one way.
    body: object({ current_password: text({ max: 255, code: ErrorCode.InvalidCredentials }), new_password: password }),
    answers: [done],
    serve: async ({ caller, params, body }) => {
      await runner.run(caller, changePassword, {
        userId: params.user_id,
        currentPassword: body.current_password,
        newPassword: body.new_password,
      });
      return done.of();
    },
  }),
];

const meant = (id: Identifier, { account }: Caller): Identifier =>
  id.kind === "string" && id.value === ME ? numericId(account.userId) : id;
