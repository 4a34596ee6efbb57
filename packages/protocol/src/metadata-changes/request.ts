import {
  type Codec,
  decodeExact,
  list,
  optional,
  pick,
  type Reader,
  type Sample,
  strictBool,
  struct,
  u32,
  u64,
  u8,
  type ValueOf,
  WireError,
  type Writer,
} from "../codec/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import { cursorFault, type MetadataCursor, metadataCursor, noCursor, rawCursor } from "./cursor.js";
import { groupsMask, holdsParents, metadataGroupName } from "./groups.js";
import { type PageToken, pageToken } from "./page-token.js";

/**
 * Where a reader begins: at the oldest retained op, at the newest, behind a cursor, or with the current state (the
 * first page without a token).
 */
export type MetadataStart =
  | { readonly mode: "earliest" }
  | { readonly mode: "latest" }
  | { readonly mode: "after"; readonly cursor: MetadataCursor }
  | { readonly mode: "current"; readonly token: PageToken | null };

export interface MetadataChangesRequest {
  readonly start: MetadataStart;
  /** Inclusive bounds on the timestamps of records, in µs. They filter and move no cursor. */
  readonly since: bigint | null;
  readonly until: bigint | null;
  readonly limit: number;
  /** Group codes; none = every group. */
  readonly groups: readonly number[];
}

export const metadataChangesLimits = { maxRecords: 1000, defaultRecords: 100 } as const;

const StartMode = { earliest: 0, latest: 1, after: 2, current: 3 } as const;
const modeNames = ["earliest", "latest", "after", "current"] as const;

const filters = struct("filters", {
  since: optional(strictBool, u64),
  until: optional(strictBool, u64),
  limit: u32,
  groups: list(u8, u8),
});
type Filters = ValueOf<typeof filters>;

const tokenOf = (start: MetadataStart): PageToken | null => (start.mode === "current" ? start.token : null);

/**
 *    0  start   u8 (0 earliest, 1 latest, 2 after, 3 current)
 *    1  cursor  44 bytes, zero unless after
 *   45  since   [flag u8][u64]
 *    …  until   [flag u8][u64]
 *    …  limit   u32
 *    …  groups  [u8 count][u8 × count]
 *    …  token   [u16 length][page token], empty unless current
 */
export const metadataChangesRequest: Codec<MetadataChangesRequest> = {
  type: "metadata changes request",
  minSize: 1 + rawCursor.minSize + filters.minSize + 2,
  size: (request) => {
    const token = tokenOf(request.start);
    return 1 + rawCursor.minSize + filters.size(request) + 2 + (token === null ? 0 : pageToken.size(token));
  },
  write: (w, request) => {
    writeStart(w, request.start);
    filters.write(w, request);
    const token = tokenOf(request.start);
    w.u16(token === null ? 0 : pageToken.size(token));
    if (token !== null) pageToken.write(w, token);
  },
  read: readRequest,
  sample: (s) => ({ ...filters.sample(s), start: sampleStart(s) }),
  rows: () => [
    { path: "start", type: "u8" },
    { path: "cursor", type: "44 bytes, zero unless after" },
    ...(filters.rows?.() ?? []),
    { path: "token", type: "[u16 length] page token, empty unless current" },
  ],
};

function writeStart(w: Writer, start: MetadataStart): void {
  w.u8(StartMode[start.mode]);
  if (start.mode === "after") metadataCursor.write(w, start.cursor);
  else rawCursor.write(w, noCursor);
}

function readRequest(r: Reader): MetadataChangesRequest {
  const at = r.offset;
  const code = r.u8();
  const mode = modeNames[code];
  if (mode === undefined) throw new WireError("UnknownDiscriminant", `${String(code)} is no start mode`, at);
  const cursor = rawCursor.read(r);
  const rest: Filters = filters.read(r);
  const tokenAt = r.offset;
  const token = r.take(r.u16());
  if (mode !== "current" && token.length > 0) {
    throw new WireError("Validation", `a page token does not go with ${mode}`, tokenAt);
  }
  return { start: toStart(mode, cursor, token), ...rest };
}

function toStart(mode: MetadataStart["mode"], cursor: MetadataCursor, token: Uint8Array): MetadataStart {
  if (mode === "after") {
    const fault = cursorFault(cursor);
    if (fault !== undefined) throw new WireError("Validation", fault, 1);
    return { mode, cursor };
  }
  if (cursor.logId !== 0n || cursor.op !== 0n || cursor.checksum !== 0n || cursor.ordinal !== 0) {
    throw new WireError("Validation", `a cursor does not go with ${mode}`, 1);
  }
  return mode === "current" ? { mode, token: token.length === 0 ? null : decodeExact(pageToken, token) } : { mode };
}

function sampleStart(s: Sample): MetadataStart {
  const mode = pick(s, modeNames);
  switch (mode) {
    case "after":
      return { mode, cursor: metadataCursor.sample(s) };
    case "current":
      return { mode, token: s.boolean() ? pageToken.sample(s) : null };
    default:
      return { mode };
  }
}

/**
 * The rules that tie the fields together, for clients before they send and servers before they read: `InvalidCommand`
 * (3) for a limit outside 1..1000, a time range backwards or with a start that takes none, an unknown group, a scan
 * without the parents of a selected group, or a token of another selection.
 */
export function checkMetadataChangesRequest(request: MetadataChangesRequest): void {
  const fault = requestFault(request);
  if (fault !== undefined) throw new IggyError(ErrorCode.InvalidCommand, fault);
}

function requestFault({ start, since, until, limit, groups }: MetadataChangesRequest): string | undefined {
  if (limit < 1 || limit > metadataChangesLimits.maxRecords) return "the limit takes 1 to 1000 records";
  if (since !== null && until !== null && since > until) return "since is later than until";
  if ((since !== null || until !== null) && (start.mode === "latest" || start.mode === "current")) {
    return `a time range does not go with ${start.mode}`;
  }
  if (groups.some((group) => metadataGroupName(group) === undefined)) return "unknown metadata group";
  if (start.mode === "after") return cursorFault(start.cursor);
  if (start.mode !== "current") return undefined;
  const mask = groupsMask(groups);
  if (!holdsParents(mask)) return "a scan of the current state selects a group without its parents";
  return start.token === null || start.token.groupsMask === mask ? undefined : "the page token selects other groups";
}
