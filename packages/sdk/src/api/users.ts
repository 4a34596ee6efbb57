import {
  changePassword,
  createUser,
  deleteUser,
  ErrorCode,
  getUser,
  getUsers,
  OptionScope,
  textLimits,
  updatePermissions,
  updateResource,
  type User as WireUser,
  type UserDetails as WireUserDetails,
  UserStatus as StatusCode,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { checkSecretText } from "../session/credentials.js";
import type { SignInSource } from "../session/sign-in-source.js";
import { dateOfMicros } from "../values/duration.js";
import { type Id, toIdentifier, toName } from "../values/id.js";
import { mergedEntries, optionEntries, type OptionInputs, optionValues, type OptionValues } from "../values/options.js";
import type { CallOptions, Calls } from "./caller.js";
import { toPermissions, type UserPermissions, type UserPermissionsInput } from "./permissions.js";

export type UserStatus = "active" | "inactive";
/** Codes that earlier clients used. */
export const UserStatus = { Active: StatusCode.active, Inactive: StatusCode.inactive } as const;

type UserStatusInput = UserStatus | 1 | 2;

export interface BaseUser {
  readonly id: number;
  readonly createdAt: Date;
  readonly status: UserStatus;
  readonly username: string;
  readonly options: OptionValues;
}

export interface User extends BaseUser {
  /** null: none at all. */
  readonly permissions: UserPermissions | null;
}

export interface CreateUser {
  /** 3 to 50 bytes. */
  readonly username: string;
  /** 3 to 100 bytes. */
  readonly password: string;
  /** `active` without it. */
  readonly status?: UserStatusInput;
  readonly permissions?: UserPermissionsInput | null;
  readonly options?: OptionInputs;
}

export interface UpdateUser {
  readonly userId: Id;
  readonly username?: string;
  readonly status?: UserStatusInput;
  readonly options?: OptionInputs;
  readonly reset?: readonly string[];
}

export class UserApi {
  readonly #caller: Calls;
  readonly #signIn: { readonly source: SignInSource; readonly userId: () => number | undefined };

  constructor(caller: Calls, signIn: { readonly source: SignInSource; readonly userId: () => number | undefined }) {
    this.#caller = caller;
    this.#signIn = signIn;
  }

  /** One user with its permissions; null when it does not exist. */
  async get({ userId }: { readonly userId: Id }, options?: CallOptions): Promise<User | null> {
    const request = { userId: toIdentifier("userId", userId) };
    const found = await this.#caller.read(getUser, request, { userId }, options);
    return found === null ? null : userOf(found);
  }

  async list(options?: CallOptions): Promise<BaseUser[]> {
    const { users } = await this.#caller.read(getUsers, {}, {}, options);
    return users.map(baseUserOf);
  }

  async create(user: CreateUser, options?: CallOptions): Promise<User> {
    const username = toUsername(user.username);
    const request = {
      username,
      password: toPassword("password", user.password),
      status: StatusCode[toStatus(user.status ?? "active")],
      permissions: user.permissions === undefined || user.permissions === null ? null : toPermissions(user.permissions),
      options: optionEntries("user", user.options),
    };
    return userOf(await this.#caller.write(createUser, request, { username }, options));
  }

  async update({ userId, username, status, reset = [], ...user }: UpdateUser, options?: CallOptions): Promise<true> {
    const typed = optionEntries("user", {
      ...(username === undefined ? {} : { username: toUsername(username) }),
      ...(status === undefined ? {} : { status: toStatus(status) }),
    });
    const patch = {
      target: { scope: OptionScope.user, userId: toIdentifier("userId", userId) },
      reset: [...reset],
      options: mergedEntries(typed, optionEntries("user", user.options)),
    };
    if (patch.options.length === 0 && reset.length === 0) {
      throw new ValidationError(ErrorCode.InvalidCommand, "user.update changes nothing: name a value to set");
    }
    const isSelf = this.#isSelf(userId);
    await this.#caller.write(updateResource, patch, { userId }, options);
    if (isSelf && username !== undefined) this.#signIn.source.changed({ username });
    return true;
  }

  /** Replaces the permissions of a user; `null` removes all. */
  async updatePermissions(
    { userId, permissions }: { readonly userId: Id; readonly permissions: UserPermissionsInput | null },
    options?: CallOptions,
  ): Promise<true> {
    const request = {
      userId: toIdentifier("userId", userId),
      permissions: permissions === null ? null : toPermissions(permissions),
    };
    await this.#caller.write(updatePermissions, request, { userId }, options);
    return true;
  }

  /** Needs the current password, also from an administrator. */
  async changePassword(
    {
      userId,
      currentPassword,
      newPassword,
    }: { readonly userId: Id; readonly currentPassword: string; readonly newPassword: string },
    options?: CallOptions,
  ): Promise<true> {
    const request = {
      userId: toIdentifier("userId", userId),
      currentPassword: toPassword("currentPassword", currentPassword),
      newPassword: toPassword("newPassword", newPassword),
    };
    const isSelf = this.#isSelf(userId);
    await this.#caller.write(changePassword, request, { userId }, options);
    if (isSelf) this.#signIn.source.changed({ password: newPassword });
    return true;
  }

  /** Deletes a user with its tokens, and ends its sessions. */
  async delete({ userId }: { readonly userId: Id }, options?: CallOptions): Promise<true> {
    const request = { userId: toIdentifier("userId", userId) };
    await this.#caller.write(deleteUser, request, { userId }, options);
    return true;
  }

  /** Whether an id names the user that this client is signed in as. */
  #isSelf(userId: Id): boolean {
    return userId === this.#signIn.userId() || userId === this.#signIn.source.username;
  }
}

const toUsername = (username: string): string =>
  toName("username", username, ErrorCode.InvalidUsername, textLimits.username.min, textLimits.username.max);

const toPassword = (argument: string, password: string): string =>
  checkSecretText(argument, password, textLimits.password, ErrorCode.InvalidPassword);

function toStatus(status: UserStatusInput): UserStatus {
  switch (status) {
    case "active":
    case StatusCode.active:
      return "active";
    case "inactive":
    case StatusCode.inactive:
      return "inactive";
    default:
      throw new ValidationError(ErrorCode.InvalidUserStatus, "status takes active or inactive");
  }
}

const baseUserOf = (user: WireUser): BaseUser => ({
  id: user.id,
  createdAt: dateOfMicros(user.createdAt),
  status: user.status === StatusCode.active ? "active" : "inactive",
  username: user.username,
  options: optionValues([...user.derivedOptions, ...user.options]),
});

const userOf = ({ user, permissions }: WireUserDetails): User => ({ ...baseUserOf(user), permissions });
