import { name, struct, u32, u64, type ValueOf } from "../../codec/index.js";

/**
 * What a login or bind answers. `session` is the op number of the committed registration, never 0;
 * `serverProtocolVersion` is packed.
 *
 *    0  user_id                 u32
 *    4  session                 u64
 *   12  server_protocol_version u32
 *   16  server_version          name
 */
export const sessionReply = struct("session reply", {
  userId: u32,
  session: u64,
  serverProtocolVersion: u32,
  serverVersion: name,
});
export type SessionReply = ValueOf<typeof sessionReply>;
