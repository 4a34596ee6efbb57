import { FETCH_SECTION_SIZE, POLL_REPLY_PREFIX_SIZE } from "@iggy/protocol";

/** Facts of the partition that a read was served under. */
export interface ServedContext {
  readonly incarnation: number;
  /** Generation of the owner that the read was bound to, 0 without a group. */
  readonly ownerGeneration: number;
  readonly metadataOp: number;
}

const HIGH = 2 ** 32;

function setU64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / HIGH), true);
}

function setContext(view: DataView, at: number, context: ServedContext): void {
  setU64(view, at, context.incarnation);
  setU64(view, at + 8, context.ownerGeneration);
  setU64(view, at + 16, context.metadataOp);
}

/**
 * Everything of a poll reply but the records:
 *
 *    0 partition_id u32    4 current_offset u64    12 messages_count u32    16 context, 24 bytes
 */
export function pollReplyHead(
  partitionId: number,
  currentOffset: number,
  messagesCount: number,
  context: ServedContext,
): Uint8Array {
  const bytes = new Uint8Array(POLL_REPLY_PREFIX_SIZE);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, partitionId, true);
  setU64(view, 4, currentOffset);
  view.setUint32(12, messagesCount, true);
  setContext(view, 16, context);
  return bytes;
}

/** What a fetch says of one partition: a read, or the code that refused it. */
export type FetchSectionHead =
  | { readonly partitionId: number; readonly code: number }
  | {
      readonly partitionId: number;
      readonly code: 0;
      readonly currentOffset: number;
      readonly messagesCount: number;
      readonly context: ServedContext;
      readonly nextOffset: number;
      readonly recordsBytes: number;
    };

/**
 * Count and section table of a fetch reply; per section:
 *
 *    0 partition_id u32    8 current_offset u64     20 context, 24 bytes    52 records_len u32
 *    4 status u32         16 messages_count u32     44 next_offset u64
 */
export function fetchReplyHead(sections: readonly FetchSectionHead[]): Uint8Array {
  const bytes = new Uint8Array(4 + FETCH_SECTION_SIZE * sections.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, sections.length, true);
  let at = 4;
  for (const section of sections) {
    view.setUint32(at, section.partitionId, true);
    view.setUint32(at + 4, section.code, true);
    if ("context" in section) {
      setU64(view, at + 8, section.currentOffset);
      view.setUint32(at + 16, section.messagesCount, true);
      setContext(view, at + 20, section.context);
      setU64(view, at + 44, section.nextOffset);
      view.setUint32(at + 52, section.recordsBytes, true);
    }
    at += FETCH_SECTION_SIZE;
  }
  return bytes;
}
