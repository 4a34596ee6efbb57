import {
  type ChangeRecord,
  checkMetadataChangesRequest,
  cursorText,
  decodeChange,
  decodeItem,
  ErrorCode,
  IggyError as ProtocolError,
  type MetadataChange,
  type MetadataChangesPage as WirePage,
  type MetadataChangesRequest,
  MetadataGroup,
  metadataGroupInfo,
  type MetadataGroupName,
  metadataGroupName,
  type MetadataItem,
  MetadataPhase,
  type MetadataStart,
  MetadataStatus,
  type MetadataStatusName,
  nameOf,
  pageTokenText,
  parseCursor,
  parsePageToken,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { integer, type U64Like, u64 } from "../values/check.js";
import { dateOfMicros } from "../values/duration.js";

export type { MetadataChange, MetadataGroupName, MetadataItem } from "@iggy/protocol";

export interface GetMetadataChanges {
  /** The oldest retained change, the newest, behind a cursor (`mc1_…`), the current state, or its page (`cs1_…`). */
  readonly from: "earliest" | "latest" | "current" | { readonly after: string } | { readonly currentAfter: string };
  /** Every group without it. */
  readonly groups?: readonly MetadataGroupName[];
  /** Adds the groups that a scan of the current state needs with the chosen ones. */
  readonly includeParents?: boolean;
  /** Bounds on the times of changes, both included; with `earliest` and `after` only. µs, or a date. */
  readonly since?: U64Like | Date;
  readonly until?: U64Like | Date;
  /** 1 to 1000; 100 without it. */
  readonly limit?: number;
}

export interface MetadataRecord {
  readonly op: bigint;
  readonly ordinal: number;
  readonly timestamp: Date;
  readonly timestampMicros: bigint;
  readonly actorUserId: number | null;
  readonly group: MetadataGroupName | "unknown";
  /** What changed; undefined for a kind that is newer than this client. */
  readonly change: MetadataChange | undefined;
  /** Code of the kind and its body as they came. */
  readonly kindCode: number;
  readonly body: Uint8Array;
  /** The position behind this record. */
  readonly cursor: string | null;
}

export interface MetadataChangesPage {
  /** `behind`: ask again; `expired`, `reset`: begin again with the current state. */
  readonly status: MetadataStatusName;
  readonly phase: "changes" | "current";
  readonly logId: bigint | null;
  readonly oldestOp: bigint;
  readonly retainedSince: Date;
  readonly headOp: bigint;
  /** Cursor of the next page. */
  readonly next: string | null;
  readonly hasMore: boolean;
  readonly records: readonly MetadataRecord[];
  /** Things of the current state; those of groups newer than this client are left out. */
  readonly items: readonly MetadataItem[];
  readonly currentPageToken: string | null;
}

export function toChangesRequest(call: GetMetadataChanges): MetadataChangesRequest {
  const request = {
    start: startOf(call.from),
    since: timeOf("since", call.since),
    until: timeOf("until", call.until),
    limit: integer("limit", call.limit ?? 100, 1, 1000),
    groups: groupCodes(call.groups ?? [], call.includeParents === true),
  };
  return checkedBy("system.getMetadataChanges", () => {
    checkMetadataChangesRequest(request);
    return request;
  });
}

function startOf(from: GetMetadataChanges["from"]): MetadataStart {
  if (from === "earliest" || from === "latest") return { mode: from };
  if (from === "current") return { mode: "current", token: null };
  return checkedBy("from", () =>
    "after" in from
      ? { mode: "after", cursor: parseCursor(from.after) }
      : { mode: "current", token: parsePageToken(from.currentAfter) },
  );
}

function checkedBy<T>(argument: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new ValidationError(error.code, `${argument}: ${error.message}`);
  }
}

function timeOf(argument: string, time: U64Like | Date | undefined): bigint | null {
  if (time === undefined) return null;
  return time instanceof Date ? u64(argument, time.getTime()) * 1000n : u64(argument, time);
}

function groupCodes(names: readonly MetadataGroupName[], includeParents: boolean): readonly number[] {
  const codes = new Set<number>();
  const add = (name: MetadataGroupName): void => {
    if (!Object.hasOwn(MetadataGroup, name)) {
      throw new ValidationError(ErrorCode.InvalidCommand, `there is no metadata group ${name}`);
    }
    const code = MetadataGroup[name];
    codes.add(code);
    if (includeParents) for (const parent of metadataGroupInfo(code)?.parents ?? []) add(parent);
  };
  names.forEach(add);
  return [...codes].sort((a, b) => a - b);
}

export function changesPageOf(page: WirePage): MetadataChangesPage {
  const { logId } = page;
  return {
    status: nameOf(MetadataStatus, page.status) ?? "reset",
    phase: page.phase === MetadataPhase.current ? "current" : "changes",
    logId,
    oldestOp: page.oldestOp,
    retainedSince: dateOfMicros(page.retainedSince),
    headOp: page.headOp,
    next: page.next === null ? null : cursorText(page.next),
    hasMore: page.hasMore,
    records: page.records.map((record) => recordOf(record, logId)),
    items: page.items.flatMap((item) => decodeItem(item) ?? []),
    currentPageToken: page.currentPageToken === null ? null : pageTokenText(page.currentPageToken),
  };
}

function recordOf(record: ChangeRecord, logId: bigint | null): MetadataRecord {
  const { op, ordinal, checksum } = record;
  return {
    op,
    ordinal,
    timestamp: dateOfMicros(record.timestamp),
    timestampMicros: record.timestamp,
    actorUserId: record.actorUserId,
    group: metadataGroupName(record.group) ?? "unknown",
    change: decodeChange(record),
    kindCode: record.kind,
    body: record.body,
    cursor: logId === null ? null : cursorText({ logId, op, checksum, ordinal }),
  };
}
