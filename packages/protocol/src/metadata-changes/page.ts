import {
  bytes32,
  checked,
  type Codec,
  decodeExact,
  list,
  oneOf,
  optional,
  type Reader,
  strictBool,
  struct,
  u128,
  u32,
  u64,
  u8,
  type ValueOf,
} from "../codec/index.js";
import { metadataCursor } from "./cursor.js";
import { type PageToken, pageToken } from "./page-token.js";

/** How a node answers: with what follows, not yet (behind), no more (expired), or for another history (reset). */
export const MetadataStatus = { ok: 0, behind: 1, expired: 2, reset: 3 } as const;
export type MetadataStatusName = keyof typeof MetadataStatus;

/** What a page shows: committed changes, or the current state. */
export const MetadataPhase = { changes: 0, current: 1 } as const;

/**
 * One change of one committed op, its body still bytes: `decodeChange` reads those of known kinds.
 *
 *   op u64 · ordinal u32 · checksum u128 · timestamp u64 · actor_user_id [flag u8][u32] · group u8 · kind u8 ·
 *   body [u32][bytes]
 */
const changeRecord = struct("change record", {
  op: u64,
  ordinal: u32,
  checksum: u128,
  timestamp: u64,
  actorUserId: optional(strictBool, u32),
  group: u8,
  kind: u8,
  body: bytes32,
});
export type ChangeRecord = ValueOf<typeof changeRecord>;

/** One thing of the current state: `[group u8][body [u32][bytes]]`; `decodeItem` reads those of known groups. */
const stateItem = struct("state item", { group: u8, body: bytes32 });
export type StateItem = ValueOf<typeof stateItem>;

/** `[u16 length][page token]`, empty for none. */
const optionalPageToken: Codec<PageToken | null> = {
  type: "[u16 length] page token, or empty",
  minSize: 2,
  size: (token) => 2 + (token === null ? 0 : pageToken.size(token)),
  write: (w, token) => {
    w.u16(token === null ? 0 : pageToken.size(token));
    if (token !== null) pageToken.write(w, token);
  },
  read: (r: Reader) => {
    const bytes = r.take(r.u16());
    return bytes.length === 0 ? null : decodeExact(pageToken, bytes);
  },
  sample: (s) => (s.boolean() ? pageToken.sample(s) : null),
};

const layout = struct("metadata changes page", {
  status: oneOf("metadata status", u8, Object.values(MetadataStatus)),
  phase: oneOf("metadata phase", u8, Object.values(MetadataPhase)),
  logId: optional(strictBool, u128),
  oldestOp: u64,
  retainedSince: u64,
  headOp: u64,
  next: optional(strictBool, metadataCursor),
  hasMore: strictBool,
  records: list(u32, changeRecord),
  items: list(u32, stateItem),
  currentPageToken: optionalPageToken,
});
export type MetadataChangesPage = ValueOf<typeof layout>;

/**
 *   status u8 · phase u8 · log_id [flag u8][u128] · oldest_op u64 · retained_since u64 · head_op u64 ·
 *   next [flag u8][cursor] · has_more u8 · records [u32 count][record × count] · items [u32 count][item × count] ·
 *   current_page_token [u16 length][page token]
 *
 * A page of changes holds no items and no token, a page of the current state no records.
 */
export const metadataChangesPage = checked(layout, pageFault, (s) => {
  const page = layout.sample(s);
  return page.phase === MetadataPhase.changes
    ? { ...page, items: [], currentPageToken: null }
    : { ...page, records: [] };
});

function pageFault(page: MetadataChangesPage): string | undefined {
  if (page.phase === MetadataPhase.current) {
    return page.records.length > 0 ? "a page of the current state holds records" : undefined;
  }
  if (page.items.length > 0) return "a page of changes holds items";
  return page.currentPageToken === null ? undefined : "a page of changes holds a page token";
}
