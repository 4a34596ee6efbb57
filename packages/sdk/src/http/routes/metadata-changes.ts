import {
  type ChangeRecord,
  cursorText,
  encode,
  getMetadataChanges,
  MemberLeftReason,
  metadataChangeCode,
  metadataChangeLayout,
  type MetadataChangeName,
  metadataChangeNames,
  type MetadataChangesRequest,
  MetadataGroup,
  metadataGroupName,
  type MetadataGroupName,
  metadataItemLayout,
  MetadataPhase,
  MetadataStatus,
  pageTokenText,
  parseCursor,
  parsePageToken,
  PermissionsReason,
  SessionClosedReason,
  type StateItem,
  TokenDeletedReason,
  UserStatus,
  WireError,
} from "@iggy/protocol";
import { Members } from "../members.js";
import { storedOptions } from "./options.js";
import { permissionsOf } from "./permissions.js";
import { type HttpRoutes, query } from "./route.js";

/** Metadata changes. Their bodies become those of the binary protocol, whose reader makes the typed changes. */
export function addMetadataChanges(routes: HttpRoutes): void {
  routes.add(getMetadataChanges, {
    request: (request) => ({ method: "GET", path: `/metadata/changes${query(queryOf(request))}` }),
    reply: ({ json }) => {
      const page = new Members(json);
      return {
        status: page.word("status", MetadataStatus),
        phase: page.word("phase", MetadataPhase),
        logId: page.isAbsent("log_id") ? null : page.hex128("log_id"),
        oldestOp: page.u64("oldest_op"),
        retainedSince: page.u64("retained_since"),
        headOp: page.u64("head_op"),
        next: page.isAbsent("next") ? null : parseCursor(page.text("next")),
        hasMore: page.flag("has_more"),
        records: page.list("records", recordOf),
        items: page.list("items", itemOf),
        currentPageToken: page.isAbsent("current_page_token") ? null : parsePageToken(page.text("current_page_token")),
      };
    },
  });
}

function queryOf({ start, groups, since, until, limit }: MetadataChangesRequest): Parameters<typeof query>[0] {
  return {
    from: start.mode === "after" ? undefined : start.mode,
    after: start.mode === "after" ? cursorText(start.cursor) : undefined,
    current_after: start.mode === "current" && start.token !== null ? pageTokenText(start.token) : undefined,
    groups: groups.length === 0 ? undefined : groups.map((code) => metadataGroupName(code) ?? String(code)).join(","),
    since: since ?? undefined,
    until: until ?? undefined,
    limit,
  };
}

function recordOf(record: Members): ChangeRecord {
  const kind = record.text("kind");
  const name = metadataChangeNames.find((candidate) => candidate === kind);
  const group = groupOf(record.text("group"));
  const known = name === undefined ? undefined : metadataGroupName(group);
  return {
    op: record.u64("op"),
    ordinal: record.u32("ordinal"),
    checksum: record.hex128("checksum"),
    timestamp: record.u64("timestamp"),
    actorUserId: record.isAbsent("actor_user_id") ? null : record.u32("actor_user_id"),
    group,
    kind: name === undefined ? codeOf(kind) : metadataChangeCode(name),
    body:
      name === undefined || known === undefined
        ? record.base64("body")
        : encoded(() => encode(metadataChangeLayout(name), bodyOf(known, record, name))),
  };
}

function itemOf(item: Members): StateItem {
  const group = groupOf(item.text("group"));
  const known = metadataGroupName(group);
  return {
    group,
    body:
      known === undefined
        ? item.base64("body")
        : encoded(() => encode(metadataItemLayout(known), bodyOf(known, item, undefined))),
  };
}

const groupOf = (name: string): number =>
  Object.entries(MetadataGroup).find(([candidate]) => candidate === name)?.[1] ?? codeOf(name);

function codeOf(text: string): number {
  const code = /^[0-9]{1,3}$/.test(text) ? Number(text) : 256;
  if (code > 255) throw new WireError("Validation", `${text} is no code of a group or kind`);
  return code;
}

/** A layout that misses a member says so by its type alone. */
function encoded(encodeBody: () => Uint8Array): Uint8Array {
  try {
    return encodeBody();
  } catch (error) {
    if (error instanceof TypeError) throw new WireError("Validation", "a metadata change misses a member");
    throw error;
  }
}

const reasons: Partial<Readonly<Record<MetadataChangeName, Readonly<Record<string, number>>>>> = {
  consumer_group_member_left: MemberLeftReason,
  user_permissions_updated: PermissionsReason,
  personal_access_token_deleted: TokenDeletedReason,
  session_closed: SessionClosedReason,
};

/** Every member that a body of this group may have; its layout takes its own. */
function bodyOf(group: MetadataGroupName, json: Members, name: MetadataChangeName | undefined): object {
  const reasonCodes = name === undefined ? undefined : reasons[name];
  return {
    ...keysOf(group, json),
    createdAt: orNone(json, "created_at", () => json.u64("created_at")),
    name: orNone(json, "name", () => json.text("name")),
    partitionsCount: orNone(json, "partitions_count", () => json.u32("partitions_count")),
    removedPartitionIds: orNone(json, "removed_partition_ids", () => json.u32s("removed_partition_ids")),
    requestedOp: json.isAbsent("requested_op") ? null : json.u64("requested_op"),
    groupId: orNone(json, "group_id", () => json.u32("group_id")),
    consumerGroupsCount: orNone(json, "consumer_groups_count", () => json.u32("consumer_groups_count")),
    memberId: json.isAbsent("member_id") ? null : json.u32("member_id"),
    membersCount: orNone(json, "members_count", () => json.u32("members_count")),
    partitionId: orNone(json, "partition_id", () => json.u32("partition_id")),
    partitionIds: orNone(json, "partition_ids", () => json.u32s("partition_ids")),
    clientId: orNone(json, "client_id", () => json.hex128("client_id")),
    session: orNone(json, "session", () => json.u64("session")),
    username: orNone(json, "username", () => json.text("username")),
    status: orNone(json, "status", () => json.word("status", UserStatus)),
    permissions: json.isAbsent("permissions") ? null : permissionsOf(json.object("permissions")),
    expiry: json.isAbsent("expiry") ? 0n : json.u64("expiry"),
    reason: reasonCodes === undefined ? undefined : json.word("reason", reasonCodes),
    options: changeOptions(json),
  };
}

const orNone = <T>(json: Members, name: string, read: () => T): T | undefined =>
  json.isAbsent(name) ? undefined : read();

function changeOptions(json: Members): object {
  if (!json.isAbsent("options_unreadable") && json.flag("options_unreadable")) return { readable: false };
  const { options, derivedOptions } = storedOptions(json);
  return { readable: true, explicit: options, derived: derivedOptions };
}

/** Keys are flat in JSON. */
function keysOf(group: MetadataGroupName, json: Members): object {
  switch (group) {
    case "streams":
      return { key: streamKey(json) };
    case "topics":
      return { key: topicKey(json) };
    case "partitions":
    case "consumer_groups":
    case "consumer_group_members":
      return { topic: topicKey(json) };
    case "users":
      return { key: userKey(json) };
    case "personal_access_tokens":
    case "sessions":
      return { user: userKey(json) };
  }
}

const streamKey = (json: Members) => ({
  streamId: json.u32("stream_id"),
  streamCreatedOp: json.u64("stream_created_op"),
});

const topicKey = (json: Members) => ({
  stream: streamKey(json),
  topicId: json.u32("topic_id"),
  topicCreatedOp: json.u64("topic_created_op"),
});

const userKey = (json: Members) => ({ userId: json.u32("user_id"), userCreatedAt: json.u64("user_created_at") });
