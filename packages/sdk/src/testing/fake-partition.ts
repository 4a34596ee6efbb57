import { encodeBatch, MessageCursor, type PollingStrategy, stampBatch } from "@iggy/protocol";

interface StoredRecord {
  /** A batch of this one message, as readers get it. */
  readonly bytes: Uint8Array;
  readonly timestampMicros: number;
}

/** What one read takes out of a partition. */
export interface FakeRead {
  readonly records: Uint8Array;
  readonly count: number;
  /** Offset behind the last message of the read. */
  readonly next: number;
}

/** Answers of writes that a repetition gets again. The oldest go when there are more. */
const maxReceipts = 1024;

/** Messages and offsets of one partition history, in memory. */
export class FakePartition {
  readonly partitionId: number;
  readonly #records: StoredRecord[] = [];
  /** Stored offsets, by consumer. */
  readonly offsets = new Map<string, number>();
  /** Last offset that was handed to a group. */
  readonly delivered = new Map<number, number>();
  /** Answered writes, by client and request number. */
  readonly #receipts = new Map<string, Uint8Array>();
  #sizeBytes = 0;

  constructor(partitionId: number) {
    this.partitionId = partitionId;
  }

  get count(): number {
    return this.#records.length;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Offset of the last message; 0 when there is none. */
  get currentOffset(): number {
    return Math.max(0, this.#records.length - 1);
  }

  /** Stores a batch message by message, so that a read can begin and end at each of them. Returns the first offset. */
  append(batch: Uint8Array, nowMicros: number): number {
    const base = this.#records.length;
    const cursor = new MessageCursor().records(batch);
    while (cursor.next()) {
      const { id, payload, userHeaders, originTimestamp } = cursor;
      const bytes = encodeBatch([
        {
          id,
          payload,
          originTimestamp,
          ...(userHeaders.length === 0 ? {} : { userHeaders: new Uint8Array(userHeaders) }),
        },
      ]);
      const baseOffset = this.#records.length;
      stampBatch(bytes, 0, { partitionId: this.partitionId, baseOffset, baseTimestamp: nowMicros });
      this.#records.push({ bytes, timestampMicros: nowMicros });
      this.#sizeBytes += bytes.length;
    }
    return base;
  }

  startOf({ kind, value }: PollingStrategy, count: number, stored: number | undefined): number {
    switch (kind) {
      case "offset":
        return Number(value);
      case "timestamp": {
        const found = this.#records.findIndex(({ timestampMicros }) => timestampMicros >= Number(value));
        return found === -1 ? this.#records.length : found;
      }
      case "first":
        return 0;
      case "last":
        return Math.max(0, this.#records.length - count);
      case "next":
        return stored === undefined ? 0 : stored + 1;
    }
  }

  /** Messages that are there, up to a number and a size. The first one comes whatever its size. */
  read(from: number, count: number, maxBytes: number): FakeRead {
    const chosen: Uint8Array[] = [];
    let size = 0;
    for (const { bytes } of this.#records.slice(from, from + count)) {
      if (chosen.length > 0 && size + bytes.length > maxBytes) break;
      chosen.push(bytes);
      size += bytes.length;
    }
    const records = new Uint8Array(size);
    let at = 0;
    for (const bytes of chosen) {
      records.set(bytes, at);
      at += bytes.length;
    }
    return { records, count: chosen.length, next: from + chosen.length };
  }

  receipt(key: string): Uint8Array | undefined {
    return this.#receipts.get(key);
  }

  remember(key: string, reply: Uint8Array): void {
    this.#receipts.set(key, reply);
    for (const oldest of this.#receipts.keys()) {
      if (this.#receipts.size <= maxReceipts) break;
      this.#receipts.delete(oldest);
    }
  }
}
