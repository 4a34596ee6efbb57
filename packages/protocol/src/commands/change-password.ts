import { empty, str8, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { identifier } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";

/**
 * Changes a password. The current one of the target user must match, whoever asks.
 *
 *   request  user_id          identifier
 *            current_password [u8][UTF-8]
 *            new_password     [u8][UTF-8]
 *   reply    empty
 *
 * In the replicated body the current password is empty, and the new one is its hash, or empty for "reject".
 */
export const changePassword = command({
  code: 37,
  name: "user.password",
  title: "ChangePassword",
  operation: Operation.ChangePassword,
  request: struct("ChangePassword", {
    userId: identifier,
    currentPassword: str8,
    newPassword: str8,
  }),
  response: empty,
});
export type ChangePasswordRequest = RequestOf<typeof changePassword>;
