import {
  type Codec,
  codeOf,
  bytes32,
  fixedBytes,
  list,
  mapped,
  name,
  optional,
  optionsPrefixed,
  permissions,
  SessionClosedReason,
  str8,
  strictBool,
  struct,
  text8,
  u128,
  u32,
  u64,
  u8,
  type ValueOf,
} from "@iggy/protocol";

/** Version of the layout below. Another one is refused: there is no migration. */
export const SNAPSHOT_FORMAT = 10;

/** A u64 that is known to stay below 2^53: ops, times in µs, offsets. */
const uint = mapped<bigint, number>(u64, Number, BigInt);

/** explicit options · derived options, both prefixed */
const options = struct("options", { explicit: optionsPrefixed, derived: optionsPrefixed });

/**
 * Ids are not written where they are positions: partitions are dense. Everything else is in ascending id order, sessions
 * by epoch, so equal states have equal bytes.
 */
const partition = struct("partition", {
  incarnation: uint,
  createdAtMicros: uint,
  createdView: u32,
  members: list(u8, u8),
  truncatedBelow: uint,
});

const member = struct("member", { slot: u32, clientId: u128, session: uint, partitions: list(u32, u32) });

const pendingRevocation = struct("pending revocation", {
  partitionId: u32,
  sourceSlot: u32,
  targetSlot: u32,
  createdAtMicros: uint,
});

const owner = struct("owner", { partitionId: u32, client: u128, session: uint, generation: uint });

const group = struct("group", {
  id: u32,
  name,
  generation: uint,
  members: list(u32, member),
  pending: list(u32, pendingRevocation),
  owners: list(u32, owner),
});

const topic = struct("topic", {
  id: u32,
  createdOp: uint,
  createdAtMicros: uint,
  name,
  options,
  partitions: list(u32, partition),
  nextGroupId: uint,
  groups: list(u32, group),
});

const stream = struct("stream", {
  id: u32,
  createdOp: uint,
  createdAtMicros: uint,
  name,
  options,
  topics: list(u32, topic),
});

const token = struct("token", { name, hash: text8("a token hash", 64, 64), expiryMicros: u64 });

const user = struct("user", {
  id: u32,
  createdAtMicros: uint,
  username: name,
  status: u8,
  passwordHash: str8,
  permissions: optional(strictBool, permissions),
  options,
  tokens: list(u32, token),
});

const receipt = struct("receipt", {
  request: uint,
  requestChecksum: u128,
  op: uint,
  timestampMicros: uint,
  operation: u8,
  view: u32,
  code: u32,
  payload: optional(strictBool, bytes32),
});

const session = struct("session", {
  clientId: u128,
  epoch: uint,
  userId: u32,
  userCreatedAtMicros: uint,
  verifier: fixedBytes(32),
  watermark: uint,
  receipts: list(u8, receipt),
  ended: optional(strictBool, codeOf("reason to end a session", u8, SessionClosedReason)),
});

const change = struct("change", {
  op: uint,
  ordinal: u32,
  checksum: u128,
  timestampMicros: uint,
  actorUserId: optional(strictBool, u32),
  group: u8,
  kind: u8,
  body: bytes32,
});

const changeQueue = struct("change queue", {
  evicted: optional(strictBool, struct("evicted", { op: uint, ordinal: u32, checksum: u128, timestampMicros: uint })),
  changes: list(u32, change),
});

/**
 *   applied_op u64 · applied_at u64 µs · log_id [flag][u128] · revision u64 · namespace_revision u64 · sessions_max u32 ·
 *   streams · users · sessions · change queues of resources and of activity
 */
const content = struct("metadata snapshot", {
  appliedOp: uint,
  appliedAtMicros: uint,
  logId: optional(strictBool, u128),
  revision: uint,
  namespaceRevision: uint,
  sessionsMax: u32,
  streams: list(u32, stream),
  users: list(u32, user),
  sessions: list(u32, session),
  resourceChanges: changeQueue,
  activityChanges: changeQueue,
});
export type SnapshotContent = ValueOf<typeof content>;
export type StreamSnapshot = SnapshotContent["streams"][number];
export type TopicSnapshot = StreamSnapshot["topics"][number];
export type GroupSnapshot = TopicSnapshot["groups"][number];
export type UserSnapshot = SnapshotContent["users"][number];
export type SessionSnapshot = SnapshotContent["sessions"][number];
export type ChangeQueueSnapshot = SnapshotContent["resourceChanges"];

export const snapshotFormat: Codec<number> = u32;
export const snapshotContent: Codec<SnapshotContent> = content;
