import { name, oneOf, struct, u32, u64, u8, type ValueOf } from "../../codec/index.js";
import { UserStatus } from "../../enums/index.js";
import { optionsPrefixed, permissions } from "../../primitives/index.js";
import { optionalPrefixedPadded } from "../../primitives/presence.js";

/** Status byte of a user, 1 active or 2 inactive. */
export const userStatus = oneOf("user status", u8, Object.values(UserStatus));

/**
 * A user as replies show it. Id 0 is the root user.
 *
 *    0  id              u32
 *    4  created_at      u64
 *   12  status          u8 (1 active, 2 inactive)
 *   13  username        name
 *    …  options         [u32 length][block]
 *    …  derived_options [u32 length][block]
 */
export const user = struct("user", {
  id: u32,
  createdAt: u64,
  status: userStatus,
  username: name,
  options: optionsPrefixed,
  derivedOptions: optionsPrefixed,
});
export type User = ValueOf<typeof user>;

/**
 * A user and its permissions.
 *
 *   user        above
 *   permissions [01][u32 length][permissions], or four zero bytes for none
 */
export const userDetails = struct("user details", {
  user,
  permissions: optionalPrefixedPadded(permissions),
});
export type UserDetails = ValueOf<typeof userDetails>;
