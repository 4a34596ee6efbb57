import { putU64, setU64 } from "../codec/integers.js";
import { Writer } from "../codec/index.js";
import { utf8Length, writeUtf8 } from "../codec/text.js";
import { WireError } from "../codec/wire-error.js";
import { BATCH_LENGTH_OFFSET, MESSAGE_COUNT_OFFSET, ORIGIN_TIMESTAMP_OFFSET } from "./batch-view.js";
import { sealBatch, timestampDelta, writeId, writeProducer } from "./encode.js";
import {
  MESSAGE_ID_OFFSET,
  MESSAGE_RESERVED_OFFSET,
  OFFSET_DELTA_OFFSET,
  PAYLOAD_LENGTH_OFFSET,
  TIMESTAMP_DELTA_OFFSET,
  USER_HEADERS_LENGTH_OFFSET,
} from "./layout.js";
import { BATCH_HEADER_SIZE, MAX_TIMESTAMP_DELTA_MICROS, MESSAGE_HEADER_SIZE } from "./limits.js";
import type { ProducerSection } from "./producer.js";
import { type SendTarget, sendMetadata } from "./send-request.js";
import { frameEnd } from "./verify.js";

/** A payload as it is given; text is written as UTF-8. */
export type PayloadInput = Uint8Array | string;

/** Bytes that a message takes in a batch. */
export const messageSize = (payload: PayloadInput, userHeaders: Uint8Array | undefined): number =>
  MESSAGE_HEADER_SIZE +
  (typeof payload === "string" ? utf8Length(payload) : payload.length) +
  (userHeaders === undefined ? 0 : userHeaders.length);

/** Text up to this length is given the most room it may need; longer text is measured. */
const shortText = 4096;

/** Room for a payload. A unit of text takes three bytes at most; how many it really takes is known once it is written. */
function mostBytes(payload: PayloadInput): number {
  if (typeof payload !== "string") return payload.length;
  return payload.length <= shortText ? 3 * payload.length : utf8Length(payload);
}

const leastCapacity = 1024;
/** The size of a frame is a u32. */
const MAX_REQUEST_SIZE = 0xffff_ffff;
const anyPartition = { kind: "partition_id", partitionId: 0 } as const;

/**
 * Builds the body of a SendMessages request message by message, in one growing buffer: each message is copied once, when
 * it is added, and nothing is allocated for it. Partition and producer are named at the end.
 */
export class SendRequestBuilder {
  readonly #topic: Pick<SendTarget, "streamId" | "topicId">;
  readonly #headroom: number;
  readonly #batchAt: number;
  #bytes: Uint8Array;
  #view: DataView;
  #end: number;
  /** When each message was made. */
  readonly #times: (bigint | number)[] = [];
  #least: bigint | number = 0;
  #greatest: bigint | number = 0;

  /** `headroom` bytes are left free in front, for the frame header. */
  constructor(topic: Pick<SendTarget, "streamId" | "topicId">, headroom: number, capacity = leastCapacity) {
    const { streamId, topicId } = topic;
    this.#topic = { streamId, topicId };
    this.#headroom = headroom;
    const metadataSize = sendMetadata.size({ streamId, topicId, partitioning: anyPartition, messagesCount: 0 });
    this.#batchAt = headroom + 4 + metadataSize;
    this.#end = this.#batchAt + BATCH_HEADER_SIZE;
    this.#bytes = new Uint8Array(Math.max(this.#end, capacity));
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Messages so far. */
  get count(): number {
    return this.#times.length;
  }

  /** Bytes of the request so far, headroom included. */
  get size(): number {
    return this.#end;
  }

  /** Whether a message of this time fits beside the others: those of one batch lie 2^32 - 1 µs apart at most. */
  fitsTime(originTimestamp: bigint | number): boolean {
    if (this.count === 0) return true;
    const least = originTimestamp < this.#least ? originTimestamp : this.#least;
    const greatest = originTimestamp > this.#greatest ? originTimestamp : this.#greatest;
    return Number(greatest) - Number(least) <= MAX_TIMESTAMP_DELTA_MICROS;
  }

  /**
   * Adds a message of `messageSize` bytes. `id` is its number, or writes the 16 bytes itself. The times of all messages
   * must fit each other, see `fitsTime`.
   */
  add(
    payload: PayloadInput,
    userHeaders: Uint8Array | undefined,
    originTimestamp: bigint | number,
    id: bigint | ((bytes: Uint8Array, at: number) => void),
  ): void {
    const at = this.#end;
    const payloadAt = at + MESSAGE_HEADER_SIZE;
    const most = mostBytes(payload);
    const headersLength = userHeaders === undefined ? 0 : userHeaders.length;
    this.#reserve(MESSAGE_HEADER_SIZE + most + headersLength);
    const bytes = this.#bytes;
    const view = this.#view;
    let payloadLength: number;
    if (typeof payload === "string") payloadLength = writeUtf8(payload, bytes.subarray(payloadAt, payloadAt + most));
    else {
      bytes.set(payload, payloadAt);
      payloadLength = payload.length;
    }
    const headersAt = payloadAt + payloadLength;
    if (userHeaders !== undefined) bytes.set(userHeaders, headersAt);
    setU64(view, at, 0);
    if (typeof id === "bigint") writeId(bytes, view, at + MESSAGE_ID_OFFSET, id);
    else id(bytes, at + MESSAGE_ID_OFFSET);
    view.setUint32(at + OFFSET_DELTA_OFFSET, this.count, true);
    view.setUint32(at + TIMESTAMP_DELTA_OFFSET, 0, true);
    view.setUint32(at + USER_HEADERS_LENGTH_OFFSET, headersLength, true);
    view.setUint32(at + PAYLOAD_LENGTH_OFFSET, payloadLength, true);
    setU64(view, at + MESSAGE_RESERVED_OFFSET, 0);
    this.#end = headersAt + headersLength;
    if (this.count === 0 || originTimestamp < this.#least) this.#least = originTimestamp;
    if (this.count === 0 || originTimestamp > this.#greatest) this.#greatest = originTimestamp;
    this.#times.push(originTimestamp);
  }

  /**
   * The request, checksums included. The buffer is the caller's from then on: nothing may be added, and whoever sends the
   * messages again takes a `copy` first.
   */
  finish(partitionId: number, producer?: ProducerSection): Uint8Array {
    const count = this.count;
    if (count === 0) throw new WireError("Validation", "a batch needs a message");
    const view = this.#view;
    const start = this.#batchAt;
    const end = this.#end;
    const writer = new Writer(this.#bytes, this.#headroom);
    writer.u32(start - this.#headroom - 4);
    sendMetadata.write(writer, {
      ...this.#topic,
      partitioning: { kind: "partition_id", partitionId },
      messagesCount: count,
    });
    this.#bytes.fill(0, start, start + BATCH_HEADER_SIZE);
    putU64(view, start + ORIGIN_TIMESTAMP_OFFSET, this.#least, "origin timestamp");
    setU64(view, start + BATCH_LENGTH_OFFSET, end - start);
    view.setUint32(start + MESSAGE_COUNT_OFFSET, count, true);
    if (producer !== undefined) writeProducer(view, start, producer);
    this.#writeTimes();
    sealBatch(this.#bytes, start, end);
    return this.#bytes.subarray(0, end);
  }

  /** The same messages in a buffer of their own. */
  copy(): SendRequestBuilder {
    const copy = new SendRequestBuilder(this.#topic, this.#headroom, this.#end);
    copy.#bytes.set(this.#bytes.subarray(0, this.#end));
    copy.#end = this.#end;
    copy.#least = this.#least;
    copy.#greatest = this.#greatest;
    for (const time of this.#times) copy.#times.push(time);
    return copy;
  }

  /** The batch of a finished request. */
  get batch(): Uint8Array {
    return this.#bytes.subarray(this.#batchAt, this.#end);
  }

  #writeTimes(): void {
    let frame = this.#batchAt + BATCH_HEADER_SIZE;
    for (const time of this.#times) {
      this.#view.setUint32(frame + TIMESTAMP_DELTA_OFFSET, timestampDelta(time, this.#least), true);
      frame = frameEnd(this.#view, frame);
    }
  }

  #reserve(size: number): void {
    const needed = this.#end + size;
    if (needed <= this.#bytes.length) return;
    if (needed > MAX_REQUEST_SIZE) {
      throw new WireError("PayloadTooLarge", `a batch of ${String(needed)} bytes does not fit a frame`);
    }
    const grown = new Uint8Array(Math.min(MAX_REQUEST_SIZE, Math.max(needed, 2 * this.#bytes.length)));
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}
