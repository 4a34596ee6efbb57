import { WireError } from "../codec/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import { MessageCursor } from "./cursor.js";

/** Calls `visit` for each message of batch records that lie back to back. The cursor is reused: keep none of it. */
export function forEachMessage(records: Uint8Array, visit: (message: MessageCursor) => void): void {
  const cursor = new MessageCursor().records(records);
  while (cursor.next()) visit(cursor);
}

/**
 * Checks the records of a read reply as a client does: `InvalidMessagePayloadLength` (4025) when they do not decode,
 * `InvalidMessagesCount` (4009) when they hold another number of messages than stated, or more than were asked for.
 */
export function checkRecords(records: Uint8Array, messagesCount: number, maxCount = Infinity): void {
  let count = 0;
  try {
    const cursor = new MessageCursor().records(records);
    while (cursor.next()) count++;
  } catch (error) {
    throw error instanceof WireError ? error.withCode(ErrorCode.InvalidMessagePayloadLength) : error;
  }
  if (count !== messagesCount || count > maxCount) {
    throw new IggyError(
      ErrorCode.InvalidMessagesCount,
      `the records hold ${String(count)} messages, the reply states ${String(messagesCount)}`,
    );
  }
}
