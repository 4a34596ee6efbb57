import { setU64 } from "../codec/integers.js";
import { BATCH_LENGTH_OFFSET } from "./batch-view.js";
import { sealBatch } from "./encode.js";
import { checkBatchHeader, checkMessageHeader, PAYLOAD_LENGTH_OFFSET, USER_HEADERS_LENGTH_OFFSET } from "./layout.js";
import { BATCH_HEADER_SIZE, MESSAGE_HEADER_SIZE } from "./limits.js";

/**
 * Sections of a message are its payload, which may be empty, and its user headers, where it has any. A batch is
 * rewritten when each of them becomes longer or shorter by the same number of bytes, as by encryption.
 */

/**
 * Bytes of the batch at the start of `batch` once each section is longer by `growth` bytes (shorter when negative).
 * Undefined when a section is too short for that. Throws a WireError for a batch whose layout is not sound.
 */
export function rewrittenBatchSize(batch: Uint8Array, growth: number): number | undefined {
  const view = viewOf(batch);
  const end = checkBatchHeader(view, 0, batch.length, 0);
  let size = end;
  for (let frame = BATCH_HEADER_SIZE; frame < end;) {
    const next = checkMessageHeader(view, frame, end, 0);
    const payloadLength = view.getUint32(frame + PAYLOAD_LENGTH_OFFSET, true);
    const userHeadersLength = view.getUint32(frame + USER_HEADERS_LENGTH_OFFSET, true);
    if (payloadLength + growth < 0 || (userHeadersLength > 0 && userHeadersLength + growth < 0)) return undefined;
    size += userHeadersLength > 0 ? 2 * growth : growth;
    frame = next;
  }
  return size;
}

/**
 * Writes a section into memory that is longer by the growth of the rewrite; false when it can't be, which ends the
 * rewrite. Both are views that are only valid during the call.
 */
export type RewriteSection = (source: Uint8Array, target: Uint8Array) => boolean;

/**
 * Writes the batch at the start of `batch` into `target`, which has the size that `rewrittenBatchSize` gave, with each
 * section rewritten and every length and checksum made to fit. All else stays: ids, deltas, stamps, producer. The
 * checksums of the source are not looked at. False when a section could not be rewritten; `target` then holds no batch.
 */
export function rewriteBatch(
  batch: Uint8Array,
  target: Uint8Array,
  growth: number,
  rewriteSection: RewriteSection,
): boolean {
  const view = viewOf(batch);
  const targetView = viewOf(target);
  const end = checkBatchHeader(view, 0, batch.length, 0);
  target.set(batch.subarray(0, BATCH_HEADER_SIZE));
  setU64(targetView, BATCH_LENGTH_OFFSET, target.length);
  let at = BATCH_HEADER_SIZE;
  const section = (from: number, length: number): boolean => {
    const start = at;
    at += length + growth;
    return rewriteSection(batch.subarray(from, from + length), target.subarray(start, at));
  };
  for (let frame = BATCH_HEADER_SIZE; frame < end;) {
    const next = checkMessageHeader(view, frame, end, 0);
    const payloadAt = frame + MESSAGE_HEADER_SIZE;
    const payloadLength = view.getUint32(frame + PAYLOAD_LENGTH_OFFSET, true);
    const userHeadersLength = view.getUint32(frame + USER_HEADERS_LENGTH_OFFSET, true);
    target.set(batch.subarray(frame, payloadAt), at);
    targetView.setUint32(at + PAYLOAD_LENGTH_OFFSET, payloadLength + growth, true);
    if (userHeadersLength > 0) targetView.setUint32(at + USER_HEADERS_LENGTH_OFFSET, userHeadersLength + growth, true);
    at += MESSAGE_HEADER_SIZE;
    if (!section(payloadAt, payloadLength)) return false;
    if (userHeadersLength > 0 && !section(payloadAt + payloadLength, userHeadersLength)) return false;
    frame = next;
  }
  sealBatch(target, 0, target.length);
  return true;
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
