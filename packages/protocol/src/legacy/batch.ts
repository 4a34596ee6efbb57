import { isZero, viewOf } from "../codec/integers.js";
import { WireError } from "../codec/wire-error.js";
import { BATCH_CHECKSUM_OFFSET, BATCH_RESERVED_OFFSET, PRODUCER_OFFSET } from "../messages/batch-view.js";
import { checkBatchHeader } from "../messages/layout.js";
import { BATCH_HEADER_SIZE } from "../messages/limits.js";
import { type BatchSlice, checksumOfFrames, copyHeader } from "../messages/stamp.js";

/** Whether a 0.11 reader takes the batch header at `offset`: it refuses any byte from 52 on, a producer section included. */
export function isLegacyBatchHeader(bytes: Uint8Array, offset = 0): boolean {
  if (!(offset >= 0 && offset + BATCH_HEADER_SIZE <= bytes.length)) {
    throw new WireError("UnexpectedEof", `a batch header needs ${String(BATCH_HEADER_SIZE)} bytes`, offset);
  }
  return isZero(viewOf(bytes), offset + PRODUCER_OFFSET, BATCH_HEADER_SIZE - PRODUCER_OFFSET);
}

/**
 * The batch at `offset` as a 0.11 reader takes it: a header without the producer section, and the original frames. One
 * idempotent producer would make a partition unreadable for such readers otherwise. Strip on the way out, never at rest.
 */
export function withoutProducer(bytes: Uint8Array, offset = 0): BatchSlice {
  const view = viewOf(bytes);
  const length = checkBatchHeader(view, offset, bytes.length - offset, 0);
  const first = offset + BATCH_HEADER_SIZE;
  const header = copyHeader(bytes, offset);
  header.fill(0, PRODUCER_OFFSET, BATCH_RESERVED_OFFSET);
  const headerView = viewOf(header);
  const sum = checksumOfFrames(headerView, 0, view, first, offset + length);
  headerView.setUint32(BATCH_CHECKSUM_OFFSET, sum[0] ?? 0, true);
  headerView.setUint32(BATCH_CHECKSUM_OFFSET + 4, sum[1] ?? 0, true);
  return { header, frames: bytes.subarray(first, offset + length) };
}
