import {
  type ChangeRecord,
  groupMaskBit,
  groupsMask,
  MetadataGroup,
  metadataGroupInfo,
  type MetadataChangesPage,
  type MetadataChangesRequest,
  type MetadataCursor,
  MetadataPhase,
  MetadataStatus,
} from "@iggy/protocol";
import type { MetadataConfig } from "../config.js";
import type { MetadataState } from "../state/state.js";
import { type ChangePosition, type ChangeQueue, isBehind, type LoggedChange } from "./change-log.js";
import { currentStatePage } from "./scan.js";

/** What one answer is made of. `queues` are those of the requested classes. */
export interface Query {
  readonly state: MetadataState;
  readonly config: MetadataConfig;
  readonly request: MetadataChangesRequest;
  readonly logId: bigint;
  readonly mask: number;
  readonly queues: readonly ChangeQueue[];
}

/** Where the log begins. */
const origin: ChangePosition = { op: 0, ordinal: 0, checksum: 0n, timestampMicros: 0 };

/** Reads the change log, or a page of the current state. The request has passed its own rules. */
export function readMetadataChanges(
  state: MetadataState,
  config: MetadataConfig,
  request: MetadataChangesRequest,
): MetadataChangesPage {
  const mask = groupsMask(request.groups);
  const queues = queuesOf(state, mask);
  if (state.logId === undefined) return page({ state, request, queues }, "behind");
  const query: Query = { state, config, request, logId: state.logId, mask, queues };
  const { start } = request;
  switch (start.mode) {
    case "earliest":
      return changesPage(query, newestEvicted(queues) ?? origin);
    case "latest":
      return page(query, "ok", { next: cursorAt(query.logId, state.changeLog.newest ?? origin) });
    case "after": {
      const status = positionStatus(query, start.cursor);
      return status === "ok" ? changesPage(query, positionOf(start.cursor)) : page(query, status);
    }
    case "current": {
      if (start.token === null) {
        return currentStatePage(query, cursorAt(query.logId, state.changeLog.newest ?? origin), null);
      }
      const { anchor, requiredHead } = start.token;
      const status = requiredHead > BigInt(state.appliedOp) ? "behind" : positionStatus(query, anchor);
      return status === "ok" ? currentStatePage(query, anchor, start.token) : page(query, status);
    }
  }
}

function queuesOf(state: MetadataState, mask: number): ChangeQueue[] {
  const retentions = new Set(
    Object.values(MetadataGroup)
      .filter((group) => (mask & groupMaskBit(group)) !== 0)
      .map((group) => metadataGroupInfo(group)?.retention),
  );
  const { queues } = state.changeLog;
  return (["resource", "activity"] as const).filter((name) => retentions.has(name)).map((name) => queues[name]);
}

/** Everything up to it is incomplete; undefined while nothing was evicted. */
function newestEvicted(queues: readonly ChangeQueue[]): ChangePosition | undefined {
  let newest: ChangePosition | undefined;
  for (const { evicted } of queues) {
    if (evicted !== undefined && (newest === undefined || isBehind(newest, evicted))) newest = evicted;
  }
  return newest;
}

type Status = keyof typeof MetadataStatus;

/** Whether the log still holds everything behind a position, and whether that position is one of this history. */
function positionStatus({ state, logId, queues }: Query, cursor: MetadataCursor): Status {
  if (cursor.logId !== logId) return "reset";
  if (cursor.op > BigInt(state.appliedOp)) return "behind";
  const position = positionOf(cursor);
  const known = checksumOf(state, position.op);
  if (known !== undefined && known !== cursor.checksum) return "reset";
  return queues.some(({ evicted }) => evicted !== undefined && isBehind(position, evicted)) ? "expired" : "ok";
}

/** Only below 2^53, which every applied op is. */
const positionOf = ({ op, ordinal, checksum }: MetadataCursor): ChangePosition => ({
  op: Number(op),
  ordinal,
  checksum,
  timestampMicros: 0,
});

/** Checksum of an op that left a trace in the log. */
function checksumOf(state: MetadataState, op: number): bigint | undefined {
  const { resource, activity } = state.changeLog.queues;
  for (const queue of [resource, activity]) {
    const entry = queue.at(queue.indexAfter({ op, ordinal: -1 }));
    if (entry?.op === op) return entry.checksum;
    if (queue.evicted?.op === op) return queue.evicted.checksum;
  }
  return undefined;
}

export const cursorAt = (logId: bigint, { op, ordinal, checksum }: ChangePosition): MetadataCursor => ({
  logId,
  op: BigInt(op),
  checksum,
  ordinal,
});

/** Fixed bytes of a record on the wire. */
const RECORD_OVERHEAD = 47;

/**
 * Changes behind a position. `next` passes over changes of other groups and before `since`, so a reader of a quiet group
 * is not left behind by the eviction of others; it never passes over what `until` cut off.
 */
function changesPage(query: Query, from: ChangePosition): MetadataChangesPage {
  const { request, config, mask, logId } = query;
  const records: ChangeRecord[] = [];
  let bytes = 0;
  let seen = from;
  let hasMore = false;
  for (const change of changesAfter(query.queues, from)) {
    const timestamp = BigInt(change.timestampMicros);
    if (request.until !== null && timestamp > request.until) break;
    const isWanted = (mask & groupMaskBit(change.group)) !== 0 && timestamp >= (request.since ?? 0n);
    if (isWanted) {
      bytes += RECORD_OVERHEAD + change.body.length;
      hasMore = records.length === request.limit || (records.length > 0 && bytes > config.changesPageBytesMax);
      if (hasMore) break;
      records.push(recordOf(change));
    }
    seen = change;
  }
  return page(query, "ok", { next: cursorAt(logId, seen), records, hasMore });
}

/** Changes of the queues behind a position, in (op, ordinal) order. */
function* changesAfter(queues: readonly ChangeQueue[], position: ChangePosition): IterableIterator<LoggedChange> {
  const ends = queues.map((queue) => ({ queue, index: queue.indexAfter(position) }));
  for (;;) {
    let first: { change: LoggedChange; end: { index: number } } | undefined;
    for (const end of ends) {
      const change = end.queue.at(end.index);
      if (change !== undefined && (first === undefined || isBehind(change, first.change))) first = { change, end };
    }
    if (first === undefined) return;
    first.end.index++;
    yield first.change;
  }
}

const recordOf = (change: LoggedChange): ChangeRecord => ({
  op: BigInt(change.op),
  ordinal: change.ordinal,
  checksum: change.checksum,
  timestamp: BigInt(change.timestampMicros),
  actorUserId: change.actorUserId,
  group: change.group,
  kind: change.kind,
  body: change.body,
});

/** An answer with its frame; a node that is behind repeats the position that it was given. */
export function page(
  { state, request, queues }: Pick<Query, "state" | "request" | "queues">,
  status: Status,
  content: Partial<MetadataChangesPage> = {},
): MetadataChangesPage {
  const evicted = newestEvicted(queues);
  const { start } = request;
  const repeated = status === "behind" ? start : undefined;
  const token = repeated?.mode === "current" ? repeated.token : null;
  return {
    status: MetadataStatus[status],
    phase: start.mode === "current" ? MetadataPhase.current : MetadataPhase.changes,
    logId: state.logId ?? null,
    oldestOp: BigInt(state.logId === undefined ? 0 : (evicted?.op ?? 0) + 1),
    retainedSince: BigInt(retainedSince(queues)),
    headOp: BigInt(state.appliedOp),
    next: repeated?.mode === "after" ? repeated.cursor : (token?.anchor ?? null),
    hasMore: false,
    records: [],
    items: [],
    currentPageToken: token,
    ...content,
  };
}

const retainedSince = (queues: readonly ChangeQueue[]): number =>
  Math.max(0, ...queues.map(({ evicted }) => evicted?.timestampMicros ?? 0));
