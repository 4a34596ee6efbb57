import { name, oneOf, optional, strictBool, struct, u128, u32, u64, u8 } from "../codec/index.js";
import { UserStatus } from "../enums/index.js";
import { permissions } from "../primitives/index.js";
import { changeOptions } from "./change-options.js";
import { ascendingIds, streamKey, topicKey, userKey } from "./keys.js";

// Bodies of change records and of items of the current state. The layout of a kind never changes: a new layout is a new
// kind. Flags are 0 or 1; `requested_op` is the op that asked for a delete which completed later.

export const MemberLeftReason = { left: 0, session_ended: 1 } as const;
export const TokenDeletedReason = { deleted: 0, expired: 1 } as const;
export const SessionClosedReason = { logout: 0, expired: 1, revoked: 2 } as const;
export const PermissionsReason = { updated: 0, resource_deleted: 1 } as const;

const reason = (what: string, table: Readonly<Record<string, number>>): ReturnType<typeof oneOf> =>
  oneOf(what, u8, Object.values(table));

const optionalOp = optional(strictBool, u64);
const optionalPermissions = optional(strictBool, permissions);

/** stream key · created_at u64 · name · options */
export const streamBody = struct("stream", { key: streamKey, createdAt: u64, name, options: changeOptions });

/** stream key · created_at u64 · name · requested_op [flag][u64] */
export const streamDeleted = struct("deleted stream", {
  key: streamKey,
  createdAt: u64,
  name,
  requestedOp: optionalOp,
});

/** topic key · created_at u64 · name · partitions_count u32 · options */
export const topicBody = struct("topic", {
  key: topicKey,
  createdAt: u64,
  name,
  partitionsCount: u32,
  options: changeOptions,
});

/** topic key · created_at u64 · name · requested_op [flag][u64] */
export const topicDeleted = struct("deleted topic", { key: topicKey, createdAt: u64, name, requestedOp: optionalOp });

/** topic key · partitions_count u32 · removed ids, none on a create · requested_op [flag][u64] */
export const partitionsChanged = struct("changed partitions", {
  topic: topicKey,
  partitionsCount: u32,
  removedPartitionIds: ascendingIds,
  requestedOp: optionalOp,
});

const groupFields = { topic: topicKey, groupId: u32, name, consumerGroupsCount: u32 } as const;

/** topic key · group_id u32 · name · consumer_groups_count u32 */
export const groupCreated = struct("consumer group", groupFields);

/** as created, then requested_op [flag][u64] */
export const groupDeleted = struct("deleted consumer group", { ...groupFields, requestedOp: optionalOp });

const memberFields = { topic: topicKey, groupId: u32, memberId: u32, clientId: u128 } as const;

/** topic key · group_id u32 · member_id u32 · client_id u128 · members_count u32 · partition ids */
export const memberJoined = struct("joined member", {
  ...memberFields,
  membersCount: u32,
  partitionIds: ascendingIds,
});

/** topic key · group_id u32 · member_id u32 · client_id u128 · members_count u32 · reason u8 */
export const memberLeft = struct("left member", {
  ...memberFields,
  membersCount: u32,
  reason: reason("reason to leave", MemberLeftReason),
});

/** topic key · group_id u32 · partition_id u32 · member_id [flag][u32], absent when the last member left */
export const handedOver = struct("handed over partition", {
  topic: topicKey,
  groupId: u32,
  partitionId: u32,
  memberId: optional(strictBool, u32),
});

/** user key · username · status u8 · permissions [flag][permissions] · options */
export const userBody = struct("user", {
  key: userKey,
  username: name,
  status: oneOf("user status", u8, Object.values(UserStatus)),
  permissions: optionalPermissions,
  options: changeOptions,
});

/** user key · username */
export const userIdentity = struct("user identity", { key: userKey, username: name });

/** user key · username · permissions [flag][permissions] · reason u8 */
export const userPermissions = struct("user permissions", {
  key: userKey,
  username: name,
  permissions: optionalPermissions,
  reason: reason("reason of permissions", PermissionsReason),
});

/** user key · name · expiry u64, 0 = never */
export const tokenBody = struct("token", { user: userKey, name, expiry: u64 });

/** user key · name · reason u8 */
export const tokenDeleted = struct("deleted token", {
  user: userKey,
  name,
  reason: reason("reason to delete a token", TokenDeletedReason),
});

const sessionFields = { user: userKey, clientId: u128, session: u64 } as const;

/** user key · client_id u128 · session u64 */
export const sessionBody = struct("session", sessionFields);

/** user key · client_id u128 · session u64 · reason u8 */
export const sessionClosed = struct("closed session", {
  ...sessionFields,
  reason: reason("reason to close a session", SessionClosedReason),
});

/** topic key · created_at u64 · name · options; the partition count is an item of its own */
export const topicItem = struct("topic", { key: topicKey, createdAt: u64, name, options: changeOptions });

/** topic key · partitions_count u32 */
export const partitionsItem = struct("partitions", { topic: topicKey, partitionsCount: u32 });

/** topic key · group_id u32 · name */
export const groupItem = struct("consumer group", { topic: topicKey, groupId: u32, name });

/** topic key · group_id u32 · member_id u32 · client_id u128 · partition ids */
export const memberItem = struct("group member", { ...memberFields, partitionIds: ascendingIds });
