import { getU64, isZero } from "../codec/integers.js";
import { WireError } from "../codec/wire-error.js";
import {
  BATCH_LENGTH_OFFSET,
  BATCH_RESERVED_OFFSET,
  MESSAGE_COUNT_OFFSET,
  PRODUCER_EPOCH_OFFSET,
  PRODUCER_ID_OFFSET,
  PRODUCER_OFFSET,
  PRODUCER_SEQUENCE_OFFSET,
} from "./batch-view.js";
import { BATCH_HEADER_SIZE, MAX_PRODUCER_EPOCH, MAX_PRODUCER_SEQUENCE, MESSAGE_HEADER_SIZE } from "./limits.js";

/**
 * Header of a message frame; payload, then user headers follow.
 *
 *    0 checksum u64    24 offset_delta u32          36 payload_length u32
 *    8 id u128         28 timestamp_delta u32       40 8 zero bytes
 *                      32 user_headers_length u32
 */
export const MESSAGE_ID_OFFSET = 8;
export const OFFSET_DELTA_OFFSET = 24;
export const TIMESTAMP_DELTA_OFFSET = 28;
export const USER_HEADERS_LENGTH_OFFSET = 32;
export const PAYLOAD_LENGTH_OFFSET = 36;
export const MESSAGE_RESERVED_OFFSET = 40;

/**
 * Checks the header of a batch that starts at `at` of `view`, with `available` bytes from there on. Returns its length.
 * `origin` is where the caller's bytes start in `view`, so that errors count from there.
 */
export function checkBatchHeader(view: DataView, at: number, available: number, origin: number): number {
  const offset = at - origin;
  if (available < BATCH_HEADER_SIZE) {
    throw new WireError(
      "UnexpectedEof",
      `a batch header needs ${String(BATCH_HEADER_SIZE)} bytes, have ${String(available)}`,
      offset,
    );
  }
  const length = getU64(view, at + BATCH_LENGTH_OFFSET);
  if (length < BATCH_HEADER_SIZE) {
    throw new WireError("Validation", `batch length ${String(length)} is below the header size`, offset);
  }
  if (length > available) {
    throw new WireError("UnexpectedEof", `a batch of ${String(length)} bytes, have ${String(available)}`, offset);
  }
  if (!isZero(view, at + BATCH_RESERVED_OFFSET, BATCH_HEADER_SIZE - BATCH_RESERVED_OFFSET)) {
    throw new WireError("Validation", "reserved batch bytes are set", offset + BATCH_RESERVED_OFFSET);
  }
  if (!isProducerValid(view, at)) {
    throw new WireError("Validation", "malformed producer section", offset + PRODUCER_OFFSET);
  }
  if (view.getUint32(at + MESSAGE_COUNT_OFFSET, true) === 0) {
    throw new WireError("Validation", "a batch without messages", offset + MESSAGE_COUNT_OFFSET);
  }
  return length;
}

function isProducerValid(view: DataView, at: number): boolean {
  // The flag byte and its three bytes of padding, read as one word.
  const flag = view.getUint32(at + PRODUCER_OFFSET, true);
  if (flag === 0) return isZero(view, at + PRODUCER_ID_OFFSET, BATCH_RESERVED_OFFSET - PRODUCER_ID_OFFSET);
  return (
    flag === 1 &&
    view.getUint32(at + PRODUCER_ID_OFFSET + 4, true) < 0x8000_0000 &&
    // The epoch and its two bytes of padding, read as one word.
    view.getUint32(at + PRODUCER_EPOCH_OFFSET, true) <= MAX_PRODUCER_EPOCH &&
    view.getUint32(at + PRODUCER_SEQUENCE_OFFSET, true) <= MAX_PRODUCER_SEQUENCE
  );
}

/** Checks the header of the message frame at `at`; its frame must end by `end`. Returns where it ends. */
export function checkMessageHeader(view: DataView, at: number, end: number, origin: number): number {
  if (at + MESSAGE_HEADER_SIZE > end) {
    throw new WireError("Validation", "a message header reaches past its batch", at - origin);
  }
  const next =
    at +
    MESSAGE_HEADER_SIZE +
    view.getUint32(at + PAYLOAD_LENGTH_OFFSET, true) +
    view.getUint32(at + USER_HEADERS_LENGTH_OFFSET, true);
  if (next > end) throw new WireError("Validation", "a message reaches past its batch", at - origin);
  if (
    (view.getUint32(at + MESSAGE_RESERVED_OFFSET, true) | view.getUint32(at + MESSAGE_RESERVED_OFFSET + 4, true)) !==
    0
  ) {
    throw new WireError("Validation", "reserved message bytes are set", at - origin + MESSAGE_RESERVED_OFFSET);
  }
  return next;
}

/** Checks that exactly the counted frames tile the batch. */
export function checkFrames(view: DataView, at: number, length: number, origin: number): void {
  const end = at + length;
  const count = view.getUint32(at + MESSAGE_COUNT_OFFSET, true);
  let frame = at + BATCH_HEADER_SIZE;
  // Each frame takes at least its header, so a false count ends at the bound of the batch.
  for (let i = 0; i < count; i++) frame = checkMessageHeader(view, frame, end, origin);
  if (frame !== end) {
    throw new WireError("Validation", `bytes after the last of ${String(count)} messages`, frame - origin);
  }
}

/**
 * Checks every layout rule of the batch at `offset` and returns its length. `available` bounds it. Checksums are not
 * looked at. Throws a WireError: UnexpectedEof for a batch that is cut, else Validation; both are code 3.
 */
export function validateBatchLayout(bytes: Uint8Array, offset = 0, available = bytes.length - offset): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const usable = Math.min(available, bytes.length - offset);
  const length = checkBatchHeader(view, offset, usable, 0);
  checkFrames(view, offset, length, 0);
  return length;
}
