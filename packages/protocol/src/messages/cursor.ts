import { BufferView } from "../codec/buffer-view.js";
import { getU128 } from "../codec/integers.js";
import { WireError } from "../codec/wire-error.js";
import { BatchView } from "./batch-view.js";
import {
  checkBatchHeader,
  checkMessageHeader,
  MESSAGE_ID_OFFSET,
  OFFSET_DELTA_OFFSET,
  PAYLOAD_LENGTH_OFFSET,
  TIMESTAMP_DELTA_OFFSET,
  USER_HEADERS_LENGTH_OFFSET,
} from "./layout.js";
import { BATCH_HEADER_SIZE, MESSAGE_HEADER_SIZE } from "./limits.js";

/**
 * Walks the messages of batch records that lie back to back: a send batch, a piece of the log, the records of a poll
 * reply. Nothing is copied and nothing allocated per message; `payload` and `userHeaders` make views when asked. Each
 * record and frame is checked as the walk reaches it, so malformed bytes end it with a WireError, never beyond `end`.
 *
 *     const cursor = new MessageCursor().records(bytes);
 *     while (cursor.next()) use(cursor.offset, cursor.payload);
 */
export class MessageCursor extends BufferView {
  /** Header of the record that holds the current message. */
  readonly batch = new BatchView();
  /** Bounds in `data`: the current frame, the end of the record and the end of all records. */
  #frame = 0;
  #next = 0;
  #recordEnd = 0;
  #end = 0;
  #left = 0;

  /** Starts over, before the first message of `bytes[start..end)`. */
  records(bytes: Uint8Array, start = 0, end = bytes.length): this {
    if (!(start >= 0 && start <= end && end <= bytes.length)) {
      throw new WireError("UnexpectedEof", `no records at ${String(start)} to ${String(end)}`, start);
    }
    this.moveTo(bytes, start);
    this.#frame = this.start;
    this.#next = this.start;
    this.#recordEnd = this.start;
    this.#end = this.start + end - start;
    this.#left = 0;
    return this;
  }

  /** Moves to the next message; false after the last one. */
  next(): boolean {
    if (this.#left === 0) {
      if (this.#next !== this.#recordEnd) {
        throw new WireError("Validation", "bytes after the last message of a batch", this.#next - this.#origin);
      }
      if (this.#recordEnd === this.#end) return false;
      this.#open();
    }
    this.#frame = this.#next;
    this.#next = checkMessageHeader(this.data, this.#frame, this.#recordEnd, this.#origin);
    this.#left--;
    return true;
  }

  get #origin(): number {
    return this.bytes.byteOffset;
  }

  #open(): void {
    const at = this.#recordEnd;
    const length = checkBatchHeader(this.data, at, this.#end - at, this.#origin);
    this.batch.at(this.bytes, at - this.#origin);
    this.#left = this.batch.messageCount;
    this.#next = at + BATCH_HEADER_SIZE;
    this.#recordEnd = at + length;
  }

  /** Index in the batch as it was sent; a slice need not start at 0. */
  get offsetDelta(): number {
    return this.data.getUint32(this.#frame + OFFSET_DELTA_OFFSET, true);
  }
  /** Offset in the partition. */
  get offset(): number {
    return this.batch.baseOffset + this.offsetDelta;
  }
  get offsetBig(): bigint {
    return this.batch.baseOffsetBig + BigInt(this.offsetDelta);
  }
  get id(): bigint {
    return getU128(this.data, this.#frame + MESSAGE_ID_OFFSET);
  }
  get checksum(): bigint {
    return this.data.getBigUint64(this.#frame, true);
  }
  /** When the batch was appended, µs. */
  get timestamp(): number {
    return this.batch.baseTimestamp;
  }
  get timestampBig(): bigint {
    return this.batch.baseTimestampBig;
  }
  get timestampDelta(): number {
    return this.data.getUint32(this.#frame + TIMESTAMP_DELTA_OFFSET, true);
  }
  /** When the producer made the message, µs. */
  get originTimestamp(): number {
    return this.batch.originTimestamp + this.timestampDelta;
  }
  get originTimestampBig(): bigint {
    return this.batch.originTimestampBig + BigInt(this.timestampDelta);
  }
  get payloadLength(): number {
    return this.data.getUint32(this.#frame + PAYLOAD_LENGTH_OFFSET, true);
  }
  get userHeadersLength(): number {
    return this.data.getUint32(this.#frame + USER_HEADERS_LENGTH_OFFSET, true);
  }
  /** View of the payload. */
  get payload(): Uint8Array {
    const at = this.frameOffset + MESSAGE_HEADER_SIZE;
    return this.bytes.subarray(at, at + this.payloadLength);
  }
  /** View of the encoded user headers; empty without any. */
  get userHeaders(): Uint8Array {
    const at = this.frameOffset + MESSAGE_HEADER_SIZE + this.payloadLength;
    return this.bytes.subarray(at, at + this.userHeadersLength);
  }
  /** Where the frame of the current message starts in `bytes`. */
  get frameOffset(): number {
    return this.#frame - this.#origin;
  }
  /** Where it ends. */
  get frameEnd(): number {
    return this.#next - this.#origin;
  }
}
