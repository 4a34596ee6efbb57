import { BatchView, ErrorCode, MessageCursor, rewrittenBatchSize, verifyBatch, WireError } from "@iggy/protocol";
import type { OpenedRecords, PartitionCipher } from "../partitions/index.js";
import { type BatchCipher, SECTION_OVERHEAD } from "./batch-cipher.js";
import { recordsOf } from "./record-pieces.js";

/** Largest record that a log holds: what is longer is taken for damage when a log is read again. */
const RECORD_BYTES_MAX = 256 * 1024 * 1024;

const header = new BatchView();
const cursor = new MessageCursor();

/** Keeps the messages of a partition sealed: what is stored, and what is read of it. */
export class SealingCipher implements PartitionCipher {
  readonly refusal = 0;
  private readonly cipher: BatchCipher;

  constructor(cipher: BatchCipher) {
    this.cipher = cipher;
  }

  sealBatch(batch: Uint8Array): Uint8Array | number {
    if (!fitsWhenSealed(batch)) return ErrorCode.InvalidSizeBytes;
    return this.cipher.seal(batch) ?? ErrorCode.CannotEncryptData;
  }

  openRecords(pieces: readonly Uint8Array[]): OpenedRecords | number {
    const opened: Uint8Array[] = [];
    let [bytes, messagesCount, lastOffset] = [0, 0, 0];
    for (const record of this.opened(pieces)) {
      if (typeof record === "number") {
        // What precedes a fault is served; the next read meets the fault itself.
        if (opened.length === 0) return record;
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

  /** Each record opened, or the code of what is wrong with it. */
  private *opened(pieces: readonly Uint8Array[]): Generator<Uint8Array | number> {
    try {
      for (const stored of recordsOf(pieces)) {
        // No tag covers the headers, and the new checksums would hide damage to them.
        verifyBatch(stored);
        yield this.cipher.open(stored) ?? ErrorCode.CannotDecryptData;
      }
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      yield damageCode(error);
    }
  }
}

function fitsWhenSealed(batch: Uint8Array): boolean {
  const sectionsMax = 2 * header.at(batch).messageCount;
  if (batch.length + sectionsMax * SECTION_OVERHEAD <= RECORD_BYTES_MAX) return true;
  return (rewrittenBatchSize(batch, SECTION_OVERHEAD) ?? Infinity) <= RECORD_BYTES_MAX;
}

const damageCode = ({ code }: WireError): number =>
  code === ErrorCode.InvalidMessageChecksum ? code : ErrorCode.InvalidBatchChecksum;

/** Of a stream whose key can't be had: nothing goes in or out. */
export const refusingCipher = (code: number): PartitionCipher => ({
  refusal: code,
  sealBatch: () => code,
  openRecords: () => code,
});
