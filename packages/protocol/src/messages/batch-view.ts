import { BufferView } from "../codec/buffer-view.js";
import { getU64 } from "../codec/integers.js";
import { WireError } from "../codec/wire-error.js";
import { BATCH_HEADER_SIZE } from "./limits.js";
import type { ProducerSection } from "./producer.js";

export const PARTITION_ID_OFFSET = 0;
export const BASE_OFFSET_OFFSET = 8;
export const BASE_TIMESTAMP_OFFSET = 16;
export const ORIGIN_TIMESTAMP_OFFSET = 24;
export const BATCH_LENGTH_OFFSET = 32;
export const BATCH_CHECKSUM_OFFSET = 40;
export const MESSAGE_COUNT_OFFSET = 48;
export const PRODUCER_OFFSET = 52;
export const PRODUCER_ID_OFFSET = 56;
export const PRODUCER_EPOCH_OFFSET = 64;
export const PRODUCER_SEQUENCE_OFFSET = 68;
export const BATCH_RESERVED_OFFSET = 72;

/**
 * Header of a message batch. One layout serves the send, the log and the read; frames follow it back to back.
 *
 *    0 partition_id u64       32 batch_length u64     52 producer flag u8, 3 zero bytes
 *    8 base_offset u64        40 batch_checksum u64   56 producer_id u64
 *   16 base_timestamp u64     48 message_count u32    64 producer epoch u16, 2 zero bytes
 *   24 origin_timestamp u64                           68 base_sequence u32
 *                                                     72 184 zero bytes
 *
 * A producer leaves partition, offset and base timestamp 0; the server stamps them. The u64 getters give numbers: exact
 * below 2^53, above it rounded but never below 2^53; the getters that end in `Big` are exact.
 */
export class BatchView extends BufferView {
  /** Moves to the header at `offset`. Looks at no field: `validateBatchLayout` does. */
  at(bytes: Uint8Array, offset = 0): this {
    if (!(offset >= 0 && offset + BATCH_HEADER_SIZE <= bytes.length)) {
      throw new WireError("UnexpectedEof", `a batch header needs ${String(BATCH_HEADER_SIZE)} bytes`, offset);
    }
    this.moveTo(bytes, offset);
    return this;
  }

  get partitionId(): number {
    return getU64(this.data, this.start + PARTITION_ID_OFFSET);
  }
  get partitionIdBig(): bigint {
    return this.data.getBigUint64(this.start + PARTITION_ID_OFFSET, true);
  }
  /** Offset of the first message of the batch as stored; a slice keeps it. */
  get baseOffset(): number {
    return getU64(this.data, this.start + BASE_OFFSET_OFFSET);
  }
  get baseOffsetBig(): bigint {
    return this.data.getBigUint64(this.start + BASE_OFFSET_OFFSET, true);
  }
  /** When the batch was appended, µs. */
  get baseTimestamp(): number {
    return getU64(this.data, this.start + BASE_TIMESTAMP_OFFSET);
  }
  get baseTimestampBig(): bigint {
    return this.data.getBigUint64(this.start + BASE_TIMESTAMP_OFFSET, true);
  }
  /** Least origin timestamp of the batch, µs of the producer's clock. */
  get originTimestamp(): number {
    return getU64(this.data, this.start + ORIGIN_TIMESTAMP_OFFSET);
  }
  get originTimestampBig(): bigint {
    return this.data.getBigUint64(this.start + ORIGIN_TIMESTAMP_OFFSET, true);
  }
  /** Bytes of header and frames. */
  get batchLength(): number {
    return getU64(this.data, this.start + BATCH_LENGTH_OFFSET);
  }
  get checksum(): bigint {
    return this.data.getBigUint64(this.start + BATCH_CHECKSUM_OFFSET, true);
  }
  get messageCount(): number {
    return this.data.getUint32(this.start + MESSAGE_COUNT_OFFSET, true);
  }
  get hasProducer(): boolean {
    return this.data.getUint8(this.start + PRODUCER_OFFSET) !== 0;
  }

  /** Identity of an idempotent producer, or null. */
  producer(): ProducerSection | null {
    if (!this.hasProducer) return null;
    return {
      id: this.data.getBigUint64(this.start + PRODUCER_ID_OFFSET, true),
      epoch: this.data.getUint16(this.start + PRODUCER_EPOCH_OFFSET, true),
      baseSequence: this.data.getUint32(this.start + PRODUCER_SEQUENCE_OFFSET, true),
    };
  }
}
