import {
  type Codec,
  decodeExact,
  encode,
  exactly,
  name,
  type Reader,
  type Sample,
  struct,
  u32,
  u64,
  WireError,
  type Writer,
} from "../codec/index.js";
import { decodeBase64Url, encodeBase64Url } from "../text/base64.js";
import { cursorFault, type MetadataCursor, metadataCursor, rawCursor } from "./cursor.js";
import { ALL_GROUPS_MASK, groupMaskBit, MetadataGroup, metadataGroupName } from "./groups.js";

/** Where a scan of the current state continues: behind `lastKey` of `group`. */
export interface PageToken {
  /** The cursor that the first page captured; changes continue behind it after the last page. */
  readonly anchor: MetadataCursor;
  /** Highest op that a node must have applied to serve the next page. */
  readonly requiredHead: bigint;
  readonly groupsMask: number;
  readonly group: number;
  /** Key of the last item shown, in the layout of its group. */
  readonly lastKey: Uint8Array;
}

/** Longest key: a user id and a token name. */
const maxKeyBytes = 4 + 256;

/** Key layouts by group: ids one after another; tokens add a name. */
const keyLayouts: Readonly<Record<number, Codec<unknown>>> = {
  [MetadataGroup.streams]: struct("key", { streamId: u32 }),
  [MetadataGroup.topics]: struct("key", { streamId: u32, topicId: u32 }),
  [MetadataGroup.partitions]: struct("key", { streamId: u32, topicId: u32 }),
  [MetadataGroup.consumer_groups]: struct("key", { streamId: u32, topicId: u32, groupId: u32 }),
  [MetadataGroup.consumer_group_members]: struct("key", { streamId: u32, topicId: u32, groupId: u32, memberId: u32 }),
  [MetadataGroup.users]: struct("key", { userId: u32 }),
  [MetadataGroup.personal_access_tokens]: struct("key", { userId: u32, name }),
  [MetadataGroup.sessions]: struct("key", { epoch: u64 }),
};

function fault(token: PageToken): string | undefined {
  if (metadataGroupName(token.group) === undefined) return `${String(token.group)} is no metadata group`;
  if ((token.groupsMask & groupMaskBit(token.group)) === 0) return "the group of the page token is not in its mask";
  if (token.requiredHead < token.anchor.op) return "the required head of the page token is below its anchor";
  return cursorFault(token.anchor) ?? keyFault(token.group, token.lastKey);
}

function keyFault(group: number, key: Uint8Array): string | undefined {
  const layout = keyLayouts[group];
  if (layout === undefined || key.length > maxKeyBytes) return "the key of the page token does not fit its group";
  try {
    decodeExact(layout, key);
    return undefined;
  } catch (error) {
    if (error instanceof WireError) return "the key of the page token does not fit its group";
    throw error;
  }
}

function check(token: PageToken, at?: number): void {
  const violation = fault(token);
  if (violation !== undefined) throw new WireError("Validation", violation, at);
}

/**
 *    0  anchor        cursor, 44 bytes
 *   44  required_head u64
 *   52  groups_mask   u8
 *   53  group         u8
 *   54  key_len       u16
 *   56  last key      key_len bytes
 */
export const pageToken: Codec<PageToken> = exactly({
  type: "page token",
  minSize: 56,
  size: (token) => 56 + token.lastKey.length,
  write: (w: Writer, token: PageToken) => {
    check(token);
    metadataCursor.write(w, token.anchor);
    w.u64(token.requiredHead);
    w.u8(token.groupsMask);
    w.u8(token.group);
    w.u16(token.lastKey.length);
    w.take(token.lastKey);
  },
  read: (r: Reader) => {
    const at = r.offset;
    const token = {
      anchor: rawCursor.read(r),
      requiredHead: r.u64(),
      groupsMask: r.u8(),
      group: r.u8(),
      lastKey: r.take(r.u16()),
    };
    check(token, at);
    return token;
  },
  sample: sampleToken,
});

function sampleToken(s: Sample): PageToken {
  const anchor = metadataCursor.sample(s);
  const group = 1 + s.integer(7);
  const layout = keyLayouts[group];
  return {
    anchor,
    requiredHead: anchor.op,
    groupsMask: ALL_GROUPS_MASK,
    group,
    lastKey: layout === undefined ? new Uint8Array(0) : encode(layout, layout.sample(s)),
  };
}

const prefix = "cs1_";

export function pageTokenText(token: PageToken): string {
  return prefix + encodeBase64Url(encode(pageToken, token));
}

/** Anything but the canonical text of a legal token is malformed (3). */
export function parsePageToken(text: string): PageToken {
  const bytes = text.startsWith(prefix) ? decodeBase64Url(text.slice(prefix.length)) : undefined;
  if (bytes === undefined) throw new WireError("Validation", "the text is no metadata page token");
  return decodeExact(pageToken, bytes);
}
