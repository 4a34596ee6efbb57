import { putU128, putU64, setU64 } from "../codec/integers.js";
import { WireError } from "../codec/wire-error.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import { hashRun, runHashes } from "../hash/xxh3.js";
import {
  BATCH_CHECKSUM_OFFSET,
  BATCH_LENGTH_OFFSET,
  MESSAGE_COUNT_OFFSET,
  ORIGIN_TIMESTAMP_OFFSET,
  PRODUCER_EPOCH_OFFSET,
  PRODUCER_ID_OFFSET,
  PRODUCER_OFFSET,
  PRODUCER_SEQUENCE_OFFSET,
} from "./batch-view.js";
import * as checksum from "./checksum.js";
import {
  MESSAGE_ID_OFFSET,
  OFFSET_DELTA_OFFSET,
  PAYLOAD_LENGTH_OFFSET,
  TIMESTAMP_DELTA_OFFSET,
  USER_HEADERS_LENGTH_OFFSET,
} from "./layout.js";
import {
  BATCH_HEADER_SIZE,
  MAX_PAYLOAD_SIZE,
  MAX_PRODUCER_EPOCH,
  MAX_PRODUCER_ID,
  MAX_PRODUCER_SEQUENCE,
  MAX_TIMESTAMP_DELTA_MICROS,
  MAX_USER_HEADERS_SIZE,
  MESSAGE_HEADER_SIZE,
} from "./limits.js";
import type { ProducerSection } from "./producer.js";
import { frameEnd } from "./verify.js";

/** A message to send. */
export interface MessageInput {
  /** 128-bit id, as a number or as its 16 bytes on the wire; 0 when left out. A client gives every message a random one. */
  readonly id?: bigint | Uint8Array;
  readonly payload: Uint8Array;
  /** Encoded user headers. */
  readonly userHeaders?: Uint8Array;
  /** When the message was made, µs since the Unix epoch. */
  readonly originTimestamp: bigint | number;
}

export interface BatchOptions {
  /** Section of an idempotent producer. */
  readonly producer?: ProducerSection | null;
  /**
   * Memory for the result; it may hold old bytes. Fresh zeroed memory costs as much as all the rest of encoding, so
   * Node callers give `Buffer.allocUnsafeSlow`.
   */
  readonly allocate?: (size: number) => Uint8Array;
}

export const zeroed = (size: number): Uint8Array => new Uint8Array(size);

const MAX_BATCH_SIZE = 0xffff_ffff;

/**
 * Limits of one message before any encryption: an empty payload is `InvalidMessagePayloadLength` (4025), one above
 * 64,000,000 bytes `TooBigMessagePayload` (4022), user headers above 100,000 bytes `TooBigUserHeaders` (4017).
 */
export function checkMessage(message: Pick<MessageInput, "payload" | "userHeaders">): void {
  const { payload, userHeaders } = message;
  if (payload.length === 0) throw new IggyError(ErrorCode.InvalidMessagePayloadLength, "a message needs a payload");
  checkMessageSizes(payload.length, userHeaders?.length ?? 0);
}

/** The upper limits alone, which a server enforces on the bytes as sent. */
export function checkMessageSizes(payloadLength: number, userHeadersLength: number): void {
  if (payloadLength > MAX_PAYLOAD_SIZE) {
    throw new IggyError(
      ErrorCode.TooBigMessagePayload,
      `a payload of ${String(payloadLength)} bytes exceeds ${String(MAX_PAYLOAD_SIZE)}`,
    );
  }
  if (userHeadersLength > MAX_USER_HEADERS_SIZE) {
    throw new IggyError(
      ErrorCode.TooBigUserHeaders,
      `user headers of ${String(userHeadersLength)} bytes exceed ${String(MAX_USER_HEADERS_SIZE)}`,
    );
  }
}

/** Bytes that a batch of these messages takes. */
export function batchSize(messages: readonly MessageInput[]): number {
  let size = BATCH_HEADER_SIZE;
  for (const message of messages) {
    size += MESSAGE_HEADER_SIZE + message.payload.length + (message.userHeaders?.length ?? 0);
  }
  return size;
}

/**
 * Encodes a send batch, checksums included, into a buffer of its exact size. Throws a WireError for an empty batch, one
 * above 2^32 - 1 bytes (PayloadTooLarge), or origin timestamps too far apart (`InvalidMessageTimestampDelta`, 4038).
 */
export function encodeBatch(messages: readonly MessageInput[], options: BatchOptions = {}): Uint8Array {
  const bytes = (options.allocate ?? zeroed)(checkedBatchSize(messages));
  writeBatch(bytes, 0, messages, options);
  return bytes;
}

export function checkedBatchSize(messages: readonly MessageInput[]): number {
  const size = batchSize(messages);
  if (size > MAX_BATCH_SIZE) {
    throw new WireError("PayloadTooLarge", `a batch of ${String(size)} bytes does not fit a frame`);
  }
  return size;
}

/** Writes a send batch at `offset`, which must have room for `batchSize(messages)`. Returns where it ends. */
export function writeBatch(
  bytes: Uint8Array,
  offset: number,
  messages: readonly MessageInput[],
  options: BatchOptions = {},
): number {
  const end = writeUnsealedBatch(bytes, offset, messages, options);
  sealBatch(bytes, offset, end);
  return end;
}

/** The same with all checksums left 0, for `sealBatch`. */
export function writeUnsealedBatch(
  bytes: Uint8Array,
  offset: number,
  messages: readonly MessageInput[],
  options: BatchOptions,
): number {
  if (messages.length === 0) throw new WireError("Validation", "a batch needs a message");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  bytes.fill(0, offset, offset + BATCH_HEADER_SIZE);
  const origin = leastTimestamp(messages);
  let at = offset + BATCH_HEADER_SIZE;
  let index = 0;
  for (const message of messages) {
    at = writeMessage(bytes, view, at, message, index, timestampDelta(message.originTimestamp, origin));
    index++;
  }
  putU64(view, offset + ORIGIN_TIMESTAMP_OFFSET, origin, "origin timestamp");
  setU64(view, offset + BATCH_LENGTH_OFFSET, at - offset);
  view.setUint32(offset + MESSAGE_COUNT_OFFSET, messages.length, true);
  if (options.producer) writeProducer(view, offset, options.producer);
  return at;
}

function writeMessage(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  message: MessageInput,
  index: number,
  delta: number,
): number {
  const { id, payload, userHeaders } = message;
  const userHeadersLength = userHeaders === undefined ? 0 : userHeaders.length;
  setU64(view, at, 0);
  writeId(bytes, view, at + MESSAGE_ID_OFFSET, id);
  view.setUint32(at + OFFSET_DELTA_OFFSET, index, true);
  view.setUint32(at + TIMESTAMP_DELTA_OFFSET, delta, true);
  view.setUint32(at + USER_HEADERS_LENGTH_OFFSET, userHeadersLength, true);
  view.setUint32(at + PAYLOAD_LENGTH_OFFSET, payload.length, true);
  setU64(view, at + 40, 0);
  bytes.set(payload, at + MESSAGE_HEADER_SIZE);
  const end = at + MESSAGE_HEADER_SIZE + payload.length;
  if (userHeaders !== undefined) bytes.set(userHeaders, end);
  return end + userHeadersLength;
}

export function writeId(bytes: Uint8Array, view: DataView, at: number, id: bigint | Uint8Array | undefined): void {
  if (id === undefined) {
    setU64(view, at, 0);
    setU64(view, at + 8, 0);
  } else if (typeof id === "bigint") putU128(view, at, id, "message id");
  else if (id.length === 16) bytes.set(id, at);
  else throw new WireError("Validation", `a message id has 16 bytes, got ${String(id.length)}`);
}

export function writeProducer(view: DataView, at: number, producer: ProducerSection): void {
  const { id, epoch, baseSequence } = producer;
  const isValid =
    id >= 0n &&
    id <= MAX_PRODUCER_ID &&
    isWithin(epoch, MAX_PRODUCER_EPOCH) &&
    isWithin(baseSequence, MAX_PRODUCER_SEQUENCE);
  if (!isValid) {
    throw new WireError(
      "Validation",
      `no producer section: id ${String(id)}, epoch ${String(epoch)}, sequence ${String(baseSequence)}`,
    );
  }
  view.setUint8(at + PRODUCER_OFFSET, 1);
  view.setBigUint64(at + PRODUCER_ID_OFFSET, id, true);
  view.setUint16(at + PRODUCER_EPOCH_OFFSET, epoch, true);
  view.setUint32(at + PRODUCER_SEQUENCE_OFFSET, baseSequence, true);
}

const isWithin = (value: number, max: number): boolean => Number.isInteger(value) && value >= 0 && value <= max;

function leastTimestamp(messages: readonly MessageInput[]): bigint | number {
  let least = messages[0]?.originTimestamp ?? 0;
  // Numbers and bigints compare by value.
  for (const { originTimestamp } of messages) if (originTimestamp < least) least = originTimestamp;
  return least;
}

export function timestampDelta(timestamp: bigint | number, origin: bigint | number): number {
  const delta =
    typeof timestamp === "number" && typeof origin === "number"
      ? timestamp - origin
      : Number(BigInt(timestamp) - BigInt(origin));
  if (!isWithin(delta, MAX_TIMESTAMP_DELTA_MICROS)) {
    throw new WireError(
      "InvalidMessageTimestampDelta",
      `origin timestamps of one batch lie ${String(delta)} µs apart, at most ${String(MAX_TIMESTAMP_DELTA_MICROS)} fit`,
    );
  }
  return delta;
}

/** Computes and stores every checksum of the batch at `offset..end`, whose layout is sound. */
export function sealBatch(bytes: Uint8Array, offset: number, end: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  checksum.begin(view, offset);
  let frame = offset + BATCH_HEADER_SIZE;
  while (frame < end) {
    const count = hashRun(bytes, frame, end);
    for (let i = 0; i < count; i++) {
      const low = runHashes[2 * i] ?? 0;
      const high = runHashes[2 * i + 1] ?? 0;
      view.setUint32(frame, low, true);
      view.setUint32(frame + 4, high, true);
      checksum.add(low, high);
      frame = frameEnd(view, frame);
    }
  }
  const sum = checksum.finish();
  view.setUint32(offset + BATCH_CHECKSUM_OFFSET, sum[0] ?? 0, true);
  view.setUint32(offset + BATCH_CHECKSUM_OFFSET + 4, sum[1] ?? 0, true);
}
