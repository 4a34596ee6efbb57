import { type BatchFacts, readBatchFacts } from "@iggy/engine";
import {
  BATCH_HEADER_SIZE,
  BatchView,
  ErrorCode,
  MAX_PAYLOAD_SIZE,
  MAX_USER_HEADERS_SIZE,
  MESSAGE_HEADER_SIZE,
  MessageCursor,
  WireError,
} from "@iggy/protocol";
import type { BatchHashing } from "../environment.js";

/** Batches up to this size are copied out of a much larger buffer, which they would keep alive while they are resident. */
const COPY_BELOW = 16 * 1024;
const SMALL_SHARE = 4;
const LARGE_SHARE = 8;

const header = new BatchView();
const cursor = new MessageCursor();

/**
 * Checks a batch as a producer sent it: one record that fills the body, the stated number of messages, every checksum,
 * nothing in the fields that the server stamps, each message within its limits. Gives what the state machine needs of
 * it, or the code that refuses it.
 */
export function checkIncomingBatch(
  hashing: BatchHashing,
  batch: Uint8Array,
  messagesCount: number,
): BatchFacts | number {
  try {
    if (hashing.verifyBatch(batch) !== batch.length) return ErrorCode.InvalidCommand;
    header.at(batch);
    const isStamped = header.partitionId !== 0 || header.baseOffset !== 0 || header.baseTimestamp !== 0;
    if (isStamped || header.messageCount !== messagesCount) return ErrorCode.InvalidCommand;
    return checkMessageSizes(batch) ?? readBatchFacts(batch);
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
}

function checkMessageSizes(batch: Uint8Array): number | undefined {
  if (batch.length <= BATCH_HEADER_SIZE + MESSAGE_HEADER_SIZE + MAX_USER_HEADERS_SIZE) return undefined;
  cursor.records(batch);
  while (cursor.next()) {
    if (cursor.payloadLength > MAX_PAYLOAD_SIZE) return ErrorCode.TooBigMessagePayload;
    if (cursor.userHeadersLength > MAX_USER_HEADERS_SIZE) return ErrorCode.TooBigUserHeaders;
  }
  return undefined;
}

/** Small frames that follow each other share a block of up to this size, and mostly all of them are kept. */
const SHARED_BLOCK_BYTES = 16 * 1024;

/** Whether keeping a batch in a pooled block would keep much more memory from others than it needs. */
export const isWasteful = (batchBytes: number, blockBytes: number): boolean =>
  blockBytes > SHARED_BLOCK_BYTES && blockBytes > LARGE_SHARE * batchBytes;

/** The batch itself, or a copy when keeping it would keep a much larger buffer alive. */
export function detachedFromLargeBuffer(batch: Uint8Array): Uint8Array {
  const share = batch.length < COPY_BELOW ? SMALL_SHARE : LARGE_SHARE;
  if (batch.buffer.byteLength <= share * batch.length) return batch;
  const copy = new Uint8Array(batch.length);
  copy.set(batch);
  return copy;
}
