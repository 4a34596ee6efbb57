import type { SparseIndex } from "./sparse-index.js";

/** What the header of a stored batch says about its place in the log. */
export interface BatchPlace {
  readonly baseOffset: number;
  readonly messagesCount: number;
  readonly timestampMicros: number;
  readonly bytes: number;
}

/** The facts of a segment that a checkpoint remembers. */
export interface SegmentFacts {
  readonly startOffset: number;
  /** One past the newest message; the start offset while there is none. */
  readonly nextOffset: number;
  readonly sizeBytes: number;
  readonly messagesCount: number;
  readonly newestTimestampMicros: number;
  /** Operation of the newest batch, 0 when none. */
  readonly lastOp: number;
}

/** One file of the log. Its numbers describe what is completely written, never a write that is under way. */
export class Segment implements SegmentFacts {
  readonly startOffset: number;
  nextOffset: number;
  sizeBytes = 0;
  messagesCount = 0;
  newestTimestampMicros = 0;
  lastOp = 0;
  /** Undefined while nobody needs it: sealed segments load it on demand. */
  index: SparseIndex | undefined;
  /** Leading entries of the index that its file is known to hold. */
  savedEntries = 0;

  constructor(startOffset: number) {
    this.startOffset = startOffset;
    this.nextOffset = startOffset;
  }

  static of(facts: SegmentFacts): Segment {
    const segment = new Segment(facts.startOffset);
    segment.reset(facts);
    return segment;
  }

  get isEmpty(): boolean {
    return this.sizeBytes === 0;
  }

  /** Takes in the batch that was written behind the others. `indexed` gives it an index entry wherever it lies. */
  admit(batch: BatchPlace, op: number, indexed: boolean): void {
    if (this.index !== undefined && (indexed || this.index.wants(this.sizeBytes))) {
      this.index.add(batch.baseOffset, batch.timestampMicros, this.sizeBytes);
    }
    this.nextOffset = batch.baseOffset + batch.messagesCount;
    this.sizeBytes += batch.bytes;
    this.messagesCount += batch.messagesCount;
    this.newestTimestampMicros = batch.timestampMicros;
    this.lastOp = op;
  }

  facts(): SegmentFacts {
    const { startOffset, nextOffset, sizeBytes, messagesCount, newestTimestampMicros, lastOp } = this;
    return { startOffset, nextOffset, sizeBytes, messagesCount, newestTimestampMicros, lastOp };
  }

  /** Goes back to earlier facts; index entries beyond them are forgotten. */
  reset(facts: SegmentFacts): void {
    this.nextOffset = facts.nextOffset;
    this.sizeBytes = facts.sizeBytes;
    this.messagesCount = facts.messagesCount;
    this.newestTimestampMicros = facts.newestTimestampMicros;
    this.lastOp = facts.lastOp;
    if (this.index !== undefined) {
      this.index.truncate(this.index.floorOfPosition(this.sizeBytes - 1) + 1);
      this.savedEntries = Math.min(this.savedEntries, this.index.length);
    }
  }
}
