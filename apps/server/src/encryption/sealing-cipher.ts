import {
  ErrorCode,
  MessageCursor,
  rewriteBatch,
  rewrittenBatchSize,
  type RewriteSection,
  verifyBatch,
  WireError,
} from "@iggy/protocol";
import type { OpenedRecords, PartitionCipher } from "../partitions/index.js";
import type { Nonces } from "./nonces.js";
import { recordsOf } from "./record-pieces.js";
import { NONCE_SIZE, type StreamCipher, TAG_SIZE } from "./stream-cipher.js";

/** Bytes that encryption adds to a payload, and to user headers. */
export const SECTION_OVERHEAD = NONCE_SIZE + TAG_SIZE;
/** Largest record that a log holds: what is longer is taken for damage when a log is read again. */
const RECORD_BYTES_MAX = 256 * 1024 * 1024;

const cursor = new MessageCursor();

/**
 * Encrypts the messages of one stream. A payload, and user headers where there are any, become
 *
 *    nonce 12 · ciphertext · tag 16
 *
 * Ids, offsets and times stay in clear. Lengths and checksums are those of what is stored.
 */
export class SealingCipher implements PartitionCipher {
  readonly refusal = 0;
  private readonly seal: RewriteSection;
  private readonly open: RewriteSection;

  constructor(cipher: StreamCipher, nonces: Nonces) {
    this.seal = (plaintext, target) => {
      nonces.writeTo(target);
      cipher.seal(target.subarray(0, NONCE_SIZE), plaintext, target.subarray(NONCE_SIZE));
      return true;
    };
    this.open = (sealed, target) => cipher.open(sealed.subarray(0, NONCE_SIZE), sealed.subarray(NONCE_SIZE), target);
  }

  sealBatch(batch: Uint8Array): Uint8Array | number {
    const size = rewrittenBatchSize(batch, SECTION_OVERHEAD);
    if (size === undefined || size > RECORD_BYTES_MAX) return ErrorCode.InvalidSizeBytes;
    // Every byte of it is written.
    const sealed = Buffer.allocUnsafeSlow(size);
    return rewriteBatch(batch, sealed, SECTION_OVERHEAD, this.seal) ? sealed : ErrorCode.CannotEncryptData;
  }

  openRecords(pieces: readonly Uint8Array[]): OpenedRecords | number {
    const opened: Uint8Array[] = [];
    let [bytes, messagesCount, lastOffset] = [0, 0, 0];
    for (const { record, code } of this.opened(pieces)) {
      if (record === undefined) {
        // What precedes a fault is served; the next read meets the fault itself.
        if (opened.length === 0) return code;
        break;
      }
      opened.push(record);
      bytes += record.length;
      cursor.records(record);
      while (cursor.next()) {
        messagesCount++;
        lastOffset = cursor.offset;
      }
    }
    return { pieces: opened, bytes, messagesCount, lastOffset };
  }

  private *opened(pieces: readonly Uint8Array[]): Generator<Opened> {
    try {
      for (const stored of recordsOf(pieces)) {
        // The new checksums would hide damage to headers, which no tag covers.
        verifyBatch(stored);
        const record = this.openRecord(stored);
        yield record === undefined ? { record, code: ErrorCode.CannotDecryptData } : { record, code: 0 };
      }
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      yield { record: undefined, code: damageCode(error) };
    }
  }

  private openRecord(stored: Uint8Array): Uint8Array | undefined {
    const size = rewrittenBatchSize(stored, -SECTION_OVERHEAD);
    if (size === undefined) return undefined;
    const record = Buffer.allocUnsafeSlow(size);
    return rewriteBatch(stored, record, -SECTION_OVERHEAD, this.open) ? record : undefined;
  }
}

interface Opened {
  /** Undefined with a code. */
  readonly record: Uint8Array | undefined;
  readonly code: number;
}

const damageCode = ({ code }: WireError): number =>
  code === ErrorCode.InvalidMessageChecksum ? code : ErrorCode.InvalidBatchChecksum;

/** Of a stream whose key can't be had: nothing goes in or out. */
export const refusingCipher = (code: number): PartitionCipher => ({
  refusal: code,
  sealBatch: () => code,
  openRecords: () => code,
});
