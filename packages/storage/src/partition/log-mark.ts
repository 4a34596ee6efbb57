import type { LogOperation } from "./log-operation.js";
import type { JournalMark } from "./prepare-journal.js";
import { Segment, type SegmentFacts } from "./segment.js";
import { ChainEnd } from "./chain-end.js";

/** The ends of segments and journal right behind an operation. Moves from one operation to the next. */
export class LogMark {
  op: number;
  nextOffset: number;
  timestampMicros: number;
  private segmentEnd: Segment;
  private journalFile: number;
  private journalEnd: number;
  private readonly chain: ChainEnd;

  constructor(op: number, nextOffset: number, timestampMicros: number, segment: SegmentFacts, journal: JournalMark) {
    this.op = op;
    this.nextOffset = nextOffset;
    this.timestampMicros = timestampMicros;
    this.segmentEnd = Segment.of(segment);
    this.journalFile = journal.firstOp;
    this.journalEnd = journal.sizeBytes;
    this.chain = ChainEnd.of(journal.chain);
  }

  get segment(): SegmentFacts {
    return this.segmentEnd.facts();
  }

  get journal(): JournalMark {
    return {
      firstOp: this.journalFile,
      sizeBytes: this.journalEnd,
      lastOp: this.op,
      chain: this.chain.checksum,
    };
  }

  copy(): LogMark {
    return new LogMark(this.op, this.nextOffset, this.timestampMicros, this.segmentEnd, this.journal);
  }

  /** Moves behind the next operation, which is written. */
  advance(operation: LogOperation): void {
    this.op = operation.op;
    this.timestampMicros = Math.max(this.timestampMicros, operation.preparedMicros);
    this.journalFile = operation.journalFile;
    this.journalEnd = operation.journalEnd;
    this.chain.low = operation.chainLow;
    this.chain.high = operation.chainHigh;
    if (!operation.isBatch) return;
    if (operation.segmentStart !== this.segmentEnd.startOffset) this.segmentEnd = new Segment(operation.segmentStart);
    this.segmentEnd.admit(operation, operation.op, false);
    this.nextOffset = operation.baseOffset + operation.messagesCount;
  }
}
