import { Xxh3Stream, xxh3_64Into } from "../hash/index.js";
import {
  BATCH_CHECKSUM_OFFSET,
  MESSAGE_COUNT_OFFSET,
  PRODUCER_EPOCH_OFFSET,
  PRODUCER_ID_OFFSET,
  PRODUCER_OFFSET,
  PRODUCER_SEQUENCE_OFFSET,
} from "./batch-view.js";

const PLAIN_SIZE = 44;
const PRODUCER_SIZE = 15;
/** Frame checksums gathered before they are hashed in one go; longer batches stream. */
const GATHERED = 8192;
/** Where the first frame checksum goes; the header fields end there. */
const FRAMES_AT = 64;

const gathered = new Uint8Array(FRAMES_AT + 8 * GATHERED);
const gatheredView = new DataView(gathered.buffer);
const stream = new Xxh3Stream();
const out = new Uint32Array(2);

/**
 * The checksum of a batch: one XXH3-64 over the header fields and the stored checksum of each frame, in order.
 *
 *   partition_id, base_offset, base_timestamp, origin_timestamp, batch_length (u64 each) · message_count u32
 *   only with a producer: 01 · producer_id u64 · epoch u16 · base_sequence u32
 *   checksum u64 of every frame
 *
 * One computation at a time: `begin`, `add` for each frame, `finish`.
 */
let from = 0;
let to = 0;
let isStreaming = false;

export function begin(view: DataView, at: number): void {
  const hasProducer = view.getUint8(at + PRODUCER_OFFSET) !== 0;
  from = FRAMES_AT - PLAIN_SIZE - (hasProducer ? PRODUCER_SIZE : 0);
  to = FRAMES_AT;
  isStreaming = false;
  for (let i = 0; i < BATCH_CHECKSUM_OFFSET; i += 4) {
    gatheredView.setUint32(from + i, view.getUint32(at + i, true), true);
  }
  gatheredView.setUint32(from + 40, view.getUint32(at + MESSAGE_COUNT_OFFSET, true), true);
  if (!hasProducer) return;
  gatheredView.setUint8(from + 44, 1);
  gatheredView.setUint32(from + 45, view.getUint32(at + PRODUCER_ID_OFFSET, true), true);
  gatheredView.setUint32(from + 49, view.getUint32(at + PRODUCER_ID_OFFSET + 4, true), true);
  gatheredView.setUint16(from + 53, view.getUint16(at + PRODUCER_EPOCH_OFFSET, true), true);
  gatheredView.setUint32(from + 55, view.getUint32(at + PRODUCER_SEQUENCE_OFFSET, true), true);
}

/** Adds the checksum that a frame stores. */
export function add(low: number, high: number): void {
  if (to === gathered.length) flush();
  gatheredView.setUint32(to, low, true);
  gatheredView.setUint32(to + 4, high, true);
  to += 8;
}

function flush(): void {
  if (!isStreaming) stream.reset();
  isStreaming = true;
  stream.update(gathered.subarray(from, to));
  from = FRAMES_AT;
  to = FRAMES_AT;
}

/** Low and high word of the checksum. The array is reused by the next computation. */
export function finish(): Uint32Array {
  if (isStreaming) {
    flush();
    stream.digestInto(out);
  } else xxh3_64Into(out, gathered, from, to - from);
  return out;
}
