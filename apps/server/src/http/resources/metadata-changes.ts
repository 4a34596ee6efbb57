import {
  type ChangeOptions,
  type ChangeRecord,
  checkMetadataChangesRequest,
  cursorText,
  decodeChange,
  decodeItem,
  encodeBase64,
  ErrorCode,
  getMetadataChanges,
  type GetMetadataChangesRequest,
  IggyError,
  MemberLeftReason,
  MetadataGroup,
  metadataGroupName,
  type MetadataChangesPage,
  metadataChangesLimits,
  MetadataPhase,
  type MetadataStart,
  MetadataStatus,
  nameOf,
  pageTokenText,
  parseCursor,
  parsePageToken,
  type Permissions,
  PermissionsReason,
  SessionClosedReason,
  type StateItem,
  TokenDeletedReason,
  UserStatus,
} from "@iggy/protocol";
import type { Commands } from "../commands/index.js";
import {
  flag,
  type JsonObject,
  type JsonValue,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Shape,
  text,
  u64,
} from "../json/index.js";
import { json, needs, route, type Route } from "../route/index.js";
import { canonicalU64, oneLine } from "./canonical-text.js";
import { mapOf } from "./map-of.js";
import { optionsJson } from "./options-json.js";
import { permissionsJson } from "./permissions-json.js";

const anything: Shape<JsonValue> = { schema: {}, read: (value) => value ?? null };
const members = mapOf(anything, "A group, a kind, and the members of that kind.");

const pageShape = object({
  status: oneOf("ok", "behind", "expired", "reset"),
  phase: oneOf("changes", "current"),
  log_id: nullable(text()),
  oldest_op: u64,
  retained_since: u64,
  head_op: u64,
  next: nullable(text()),
  has_more: flag,
  records: list(members),
  items: list(members),
  current_page_token: nullable(text()),
});

const queryShape = object(
  {
    from: optional(oneOf("earliest", "latest", "current"), undefined),
    after: optional(oneLine, undefined),
    current_after: optional(oneLine, undefined),
    groups: optional(oneLine, ""),
    since: optional(canonicalU64, null),
    until: optional(canonicalU64, null),
    limit: optional(canonicalU64, BigInt(metadataChangesLimits.defaultRecords)),
  },
  { unknown: "refused" },
);

interface ChangesQuery {
  readonly from: "earliest" | "latest" | "current" | undefined;
  readonly after: string | undefined;
  readonly current_after: string | undefined;
  readonly groups: string;
  readonly since: bigint | null;
  readonly until: bigint | null;
  readonly limit: bigint;
}

const page = json(200, "What changed behind the position, or what is there now.", pageShape);

export const metadataChangeRoutes = (runner: Commands): readonly Route[] => [
  route({
    method: "GET",
    path: "/metadata/changes",
    tag: "Node",
    summary: "Follow the changes of metadata",
    description: "Never waits: whoever follows asks again with `after` and the last `next`.",
    access: needs("manageServers"),
    place: "here",
    query: queryShape,
    answers: [page],
    serve: async ({ caller, query }) => {
      const request = requestOf(query);
      checkMetadataChangesRequest(request);
      return page.of(pageJson(await runner.run(caller, getMetadataChanges, request)));
    },
  }),
];

function requestOf(query: ChangesQuery): GetMetadataChangesRequest {
  return {
    start: startOf(query),
    since: query.since,
    until: query.until,
    // Larger ones are out of bounds, too.
    limit: Number(query.limit > 0xffff_ffffn ? 0n : query.limit),
    groups: groupsOf(query.groups),
  };
}

function startOf({ from, after, current_after: token }: ChangesQuery): MetadataStart {
  if ((from === undefined) === (after === undefined)) throw malformed("give one of `from` and `after`");
  if (token !== undefined && from !== "current") throw malformed("`current_after` goes with `from=current`");
  if (after !== undefined) return { mode: "after", cursor: parseCursor(after) };
  if (from === "current") return { mode: "current", token: token === undefined ? null : parsePageToken(token) };
  return { mode: from ?? "earliest" };
}

function groupsOf(names: string): number[] {
  if (names === "") return [];
  return names.split(",").map((name) => {
    if (!Object.hasOwn(MetadataGroup, name)) throw malformed(`${name.slice(0, 64)} is no group of metadata`);
    return MetadataGroup[name as keyof typeof MetadataGroup];
  });
}

const malformed = (reason: string): IggyError => new IggyError(ErrorCode.InvalidCommand, reason);

const pageJson = (changes: MetadataChangesPage): Parameters<typeof page.of>[0] => ({
  status: nameOf(MetadataStatus, changes.status) ?? "reset",
  phase: nameOf(MetadataPhase, changes.phase) ?? "changes",
  log_id: changes.logId === null ? null : hex128(changes.logId),
  oldest_op: changes.oldestOp,
  retained_since: changes.retainedSince,
  head_op: changes.headOp,
  next: changes.next === null ? null : cursorText(changes.next),
  has_more: changes.hasMore,
  records: changes.records.map(recordJson),
  items: changes.items.map(itemJson),
  current_page_token: changes.currentPageToken === null ? null : pageTokenText(changes.currentPageToken),
});

function recordJson(record: ChangeRecord): JsonMembers {
  const change = decodeChange(record);
  return withoutAbsent({
    op: record.op,
    ordinal: record.ordinal,
    checksum: hex128(record.checksum),
    timestamp: record.timestamp,
    actor_user_id: record.actorUserId ?? undefined,
    group: (change && metadataGroupName(record.group)) ?? String(record.group),
    kind: change?.kind ?? String(record.kind),
    ...(change === undefined ? { body: encodeBase64(record.body) } : bodyJson(change.body, reasons[change.kind])),
  });
}

function itemJson(item: StateItem): JsonMembers {
  const known = decodeItem(item);
  return withoutAbsent({
    group: known?.group ?? String(item.group),
    ...(known === undefined ? { body: encodeBase64(item.body) } : bodyJson(known.body, undefined)),
  });
}

type JsonMembers = Readonly<Record<string, JsonValue>>;
type ReasonNames = Readonly<Record<string, number>>;

/** What the reason of a kind may be. */
const reasons: Readonly<Record<string, ReasonNames>> = {
  consumer_group_member_left: MemberLeftReason,
  user_permissions_updated: PermissionsReason,
  personal_access_token_deleted: TokenDeletedReason,
  session_closed: SessionClosedReason,
};

/** A body member by member: names in the words of JSON, keys flattened, unknown optional ones left out. */
function bodyJson(body: object, reasonNames: ReasonNames | undefined): JsonObject {
  const shown: Record<string, JsonValue | undefined> = {};
  for (const [name, value] of Object.entries(body)) Object.assign(shown, memberJson(name, value, reasonNames));
  return shown;
}

function memberJson(name: string, value: unknown, reasonNames: ReasonNames = {}): JsonObject {
  switch (name) {
    case "key":
    case "stream":
    case "topic":
    case "user":
      return isObject(value) ? bodyJson(value, undefined) : {};
    case "clientId":
      return { client_id: typeof value === "bigint" ? hex128(value) : undefined };
    case "options":
      return changeOptionsJson(value as ChangeOptions);
    case "permissions":
      return { permissions: value === null ? null : permissionsJson(value as Permissions) };
    case "status":
      return { status: nameOf(UserStatus, Number(value)) };
    case "reason":
      return { reason: nameOf(reasonNames, Number(value)) };
    case "expiry":
      return { expiry: value === 0n ? undefined : (value as bigint) };
    default:
      // What is unknown is null in a body, and left out here.
      return { [snakeCase(name)]: value === null ? undefined : (value as JsonValue) };
  }
}

const changeOptionsJson = (options: ChangeOptions): JsonObject =>
  options.readable
    ? { options: optionsJson(options.explicit, options.derived) }
    : { options: null, options_unreadable: true };

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const hex128 = (value: bigint): string => value.toString(16).padStart(32, "0");

const withoutAbsent = (shown: JsonObject): JsonMembers =>
  Object.fromEntries(
    Object.entries(shown).flatMap(([name, value]): [string, JsonValue][] =>
      value === undefined ? [] : [[name, value]],
    ),
  );
