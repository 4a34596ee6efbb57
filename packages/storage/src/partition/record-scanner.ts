import { BATCH_HEADER_SIZE, BatchView } from "@iggy/protocol";
import type { Memory } from "../contracts.js";
import type { IoFile } from "../io/io.js";
import type { ReadMemory } from "../shard/storage-shard.js";

/** A longer record is no record: the widest frame that any admission accepts. */
export const RECORD_BYTES_MAX = 268_435_456;

export const CHUNK_BYTES = 1024 * 1024;

/**
 * `record`: one is ready. `more`: call `fill`, then ask again. `end`: the range ends here. `cut`: the range ends inside
 * a record. `implausible`: the bytes are no record of this partition.
 */
export type Step = "record" | "more" | "end" | "cut" | "implausible";

/**
 * Walks the records of a segment from a record's start, chunk by chunk. Asking is synchronous, so that small records
 * cost no promise each. Records are views of the chunks. A chunk of pooled memory is given back when the next one is read,
 * and by `close`: whoever keeps a record retains `memory`. Other chunks are never reused.
 */
export class RecordScanner {
  /** Header of the record. */
  readonly head = new BatchView();
  /** The record, after a step that says so. */
  record: Uint8Array = EMPTY;
  /** Where the record starts in the file. */
  recordPosition = 0;
  private readonly file: IoFile;
  private readonly partitionId: number;
  private readonly chunkBytes: number;
  private readonly pool: ReadMemory | undefined;
  private held: Memory | undefined;
  private end: number;
  private position: number;
  private chunk: Uint8Array = EMPTY;
  private chunkStart = 0;
  private needed = BATCH_HEADER_SIZE;

  constructor(
    file: IoFile,
    partitionId: number,
    position: number,
    end: number,
    chunkBytes = CHUNK_BYTES,
    pool?: ReadMemory,
  ) {
    this.file = file;
    this.partitionId = partitionId;
    this.position = position;
    this.end = end;
    this.chunkBytes = chunkBytes;
    this.pool = pool;
  }

  /** What the record lies in, when that is pooled. */
  get memory(): Memory | undefined {
    return this.held;
  }

  /** Where the next record starts, or would. */
  get nextPosition(): number {
    return this.position;
  }

  next(): Step {
    const left = this.end - this.position;
    if (left === 0) return "end";
    if (left < BATCH_HEADER_SIZE) return "cut";
    const at = this.position - this.chunkStart;
    const available = this.chunk.length - at;
    if (available < BATCH_HEADER_SIZE) return this.need(BATCH_HEADER_SIZE);
    this.head.at(this.chunk, at);
    const length = this.head.batchLength;
    if (!isPlausible(this.head, this.partitionId)) return "implausible";
    if (length > left) return "cut";
    if (available < length) return this.need(length);
    this.record = this.chunk.subarray(at, at + length);
    this.recordPosition = this.position;
    this.position += length;
    return "record";
  }

  /** Reads what the last step missed. A file that is shorter than the range ends the range there. */
  async fill(): Promise<void> {
    const chunk = this.room();
    const count = await this.file.read(chunk, this.position);
    if (count < chunk.length) this.end = this.position + count;
    this.use(chunk, count);
  }

  /** The same at once; false when that is not possible now. */
  fillNow(): boolean {
    if (this.file.readNow === undefined) return false;
    const chunk = this.room();
    const count = this.file.readNow(chunk, this.position);
    // What it gives is a part of what there is; where the file really ends is for `fill` to find out.
    if (count === undefined || count < Math.min(this.needed, chunk.length)) return false;
    this.use(chunk, count);
    return true;
  }

  close(): void {
    this.chunk = EMPTY;
    this.held?.release();
    this.held = undefined;
  }

  private room(): Uint8Array {
    this.close();
    const size = Math.min(Math.max(this.needed, this.chunkBytes), this.end - this.position);
    this.held = this.pool?.allocate(size);
    return this.held === undefined ? Buffer.allocUnsafeSlow(size) : this.held.bytes.subarray(0, size);
  }

  private use(chunk: Uint8Array, count: number): void {
    this.chunk = chunk.subarray(0, count);
    this.chunkStart = this.position;
  }

  private need(bytes: number): Step {
    this.needed = bytes;
    return "more";
  }
}

const EMPTY = new Uint8Array(0);

function isPlausible(head: BatchView, partitionId: number): boolean {
  const length = head.batchLength;
  return (
    length > BATCH_HEADER_SIZE &&
    length <= RECORD_BYTES_MAX &&
    head.messageCount > 0 &&
    head.partitionId === partitionId &&
    Number.isSafeInteger(head.baseOffset + head.messageCount) &&
    Number.isSafeInteger(head.baseTimestamp)
  );
}
