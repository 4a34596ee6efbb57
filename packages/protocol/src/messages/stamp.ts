import { putU64 } from "../codec/integers.js";
import { WireError } from "../codec/wire-error.js";
import {
  BASE_OFFSET_OFFSET,
  BASE_TIMESTAMP_OFFSET,
  BATCH_CHECKSUM_OFFSET,
  BATCH_LENGTH_OFFSET,
  MESSAGE_COUNT_OFFSET,
  PARTITION_ID_OFFSET,
} from "./batch-view.js";
import * as checksum from "./checksum.js";
import { checkBatchHeader, checkMessageHeader } from "./layout.js";
import { BATCH_HEADER_SIZE } from "./limits.js";

/** What the server writes over the zeros of a producer. */
export interface BatchStamp {
  readonly partitionId: number;
  /** Offset of the first message. */
  readonly baseOffset: bigint | number;
  /** Append time, µs. */
  readonly baseTimestamp: bigint | number;
}

/**
 * Stamps the batch at `offset` in place and recomputes its checksum from the stored frame checksums, so that bodies are
 * not read again. The layout is checked on the way, the frame checksums are taken as they are.
 */
export function stampBatch(bytes: Uint8Array, offset: number, stamp: BatchStamp): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = checkBatchHeader(view, offset, bytes.length - offset, 0);
  putStamp(view, offset, stamp);
  const sum = checksumOfFrames(view, offset, view, offset + BATCH_HEADER_SIZE, offset + length);
  view.setUint32(offset + BATCH_CHECKSUM_OFFSET, sum[0] ?? 0, true);
  view.setUint32(offset + BATCH_CHECKSUM_OFFSET + 4, sum[1] ?? 0, true);
}

/** The checksum that `stampBatch` would store, without writing anything. */
export function restampedChecksum(bytes: Uint8Array, offset: number, stamp: BatchStamp): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = checkBatchHeader(view, offset, bytes.length - offset, 0);
  const header = new DataView(copyHeader(bytes, offset).buffer);
  putStamp(header, 0, stamp);
  const sum = checksumOfFrames(header, 0, view, offset + BATCH_HEADER_SIZE, offset + length);
  return BigInt(sum[0] ?? 0) | (BigInt(sum[1] ?? 0) << 32n);
}

function putStamp(header: DataView, at: number, stamp: BatchStamp): void {
  putU64(header, at + PARTITION_ID_OFFSET, stamp.partitionId, "partition id");
  putU64(header, at + BASE_OFFSET_OFFSET, stamp.baseOffset, "base offset");
  putU64(header, at + BASE_TIMESTAMP_OFFSET, stamp.baseTimestamp, "base timestamp");
}

/** Checksum of a batch whose header is at `headerAt` of `header` and whose frames are `first..end` of `frames`. */
export function checksumOfFrames(
  header: DataView,
  headerAt: number,
  frames: DataView,
  first: number,
  end: number,
): Uint32Array {
  checksum.begin(header, headerAt);
  for (let frame = first; frame < end;) {
    const next = checkMessageHeader(frames, frame, end, 0);
    checksum.add(frames.getUint32(frame, true), frames.getUint32(frame + 4, true));
    frame = next;
  }
  return checksum.finish();
}

// Not slice(): on a Node Buffer that makes a view, not a copy.
export function copyHeader(bytes: Uint8Array, offset: number): Uint8Array {
  const header = new Uint8Array(BATCH_HEADER_SIZE);
  header.set(bytes.subarray(offset, offset + BATCH_HEADER_SIZE));
  return header;
}

/** A run of messages of a stored batch: a header of its own and the original frames. */
export interface BatchSlice {
  /** 256 bytes, with length, count and checksum of the run and all else as stored. */
  readonly header: Uint8Array;
  /** View of the frames. */
  readonly frames: Uint8Array;
}

/**
 * Cuts messages `fromIndex` to `toIndex` (excluded) out of the batch at `offset`; indexes count from its first frame.
 * The result reads like a batch: header, then frames. Throws a WireError for an empty or outlying range.
 */
export function sliceBatch(bytes: Uint8Array, offset: number, fromIndex: number, toIndex: number): BatchSlice {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = offset + checkBatchHeader(view, offset, bytes.length - offset, 0);
  const count = view.getUint32(offset + MESSAGE_COUNT_OFFSET, true);
  if (!(fromIndex >= 0 && fromIndex < toIndex && toIndex <= count)) {
    throw new WireError(
      "Validation",
      `no messages ${String(fromIndex)} to ${String(toIndex)} in a batch of ${String(count)}`,
      offset,
    );
  }
  let first = offset + BATCH_HEADER_SIZE;
  for (let i = 0; i < fromIndex; i++) first = checkMessageHeader(view, first, end, 0);
  let last = first;
  for (let i = fromIndex; i < toIndex; i++) last = checkMessageHeader(view, last, end, 0);

  const header = copyHeader(bytes, offset);
  const headerView = new DataView(header.buffer);
  putU64(headerView, BATCH_LENGTH_OFFSET, BATCH_HEADER_SIZE + last - first, "batch length");
  headerView.setUint32(MESSAGE_COUNT_OFFSET, toIndex - fromIndex, true);
  const sum = checksumOfFrames(headerView, 0, view, first, last);
  headerView.setUint32(BATCH_CHECKSUM_OFFSET, sum[0] ?? 0, true);
  headerView.setUint32(BATCH_CHECKSUM_OFFSET + 4, sum[1] ?? 0, true);
  return { header, frames: bytes.subarray(first, last) };
}
