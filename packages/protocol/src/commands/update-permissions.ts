import { empty, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { identifier, permissions } from "../primitives/index.js";
import { optionalPrefixed } from "../primitives/presence.js";
import { command, type RequestOf } from "./command.js";

/**
 * Replaces the permissions of a user; absent ones remove all.
 *
 *   request  user_id     identifier
 *            permissions [01][u32 length][permissions], or 00
 *   reply    empty
 */
export const updatePermissions = command({
  code: 36,
  name: "user.permissions",
  title: "UpdatePermissions",
  operation: Operation.UpdatePermissions,
  request: struct("UpdatePermissions", {
    userId: identifier,
    permissions: optionalPrefixed(permissions),
  }),
  response: empty,
});
export type UpdatePermissionsRequest = RequestOf<typeof updatePermissions>;
