import { IggyError } from "@iggy/protocol";
import type { ReadRequest, ReadResult } from "../contracts.js";
import { DamagedBatch, ReadFailed } from "../errors.js";
import { asError } from "../io/os-error.js";
import type { Checksums } from "../shard/checksums.js";
import type { ReadMemory } from "../shard/storage-shard.js";
import { CHUNK_BYTES, RecordScanner } from "./record-scanner.js";
import type { ResidentTail } from "./resident-tail.js";
import type { Segment } from "./segment.js";
import type { SegmentFiles } from "./segment-files.js";
import type { SegmentIndexes } from "./segment-indexes.js";
import type { SegmentLog } from "./segment-log.js";
import { EMPTY_RESULT, Selection } from "./selection.js";
import { INDEX_INTERVAL_BYTES, type SparseIndex } from "./sparse-index.js";
import { checkRecord } from "./verify-record.js";

const CHUNK_BYTES_MIN = 64 * 1024;
/** Share by which messages of one read are expected to exceed the average. */
const SPREAD = 1 / 16;

export interface ReaderParts {
  readonly log: SegmentLog;
  readonly resident: ResidentTail;
  readonly files: SegmentFiles;
  readonly indexes: SegmentIndexes;
  readonly partitionId: number;
  /** Undefined: stored checksums are trusted. */
  readonly checksums: Checksums | undefined;
  readonly memory: ReadMemory | undefined;
  /** Runs before files are used. */
  readonly onFilesUsed: () => void;
}

/** Reads of a partition: from the resident tail when it reaches back far enough, else from the files up to it. */
export class PartitionReader {
  private readonly parts: ReaderParts;

  constructor(parts: ReaderParts) {
    this.parts = parts;
  }

  read(request: ReadRequest): ReadResult | Promise<ReadResult> {
    const { log, resident } = this.parts;
    const startOffset = Math.max(request.startOffset, log.startOffset);
    const ceilingOffset = Math.min(request.ceilingOffset, log.nextOffset - 1);
    if (startOffset > ceilingOffset || request.count <= 0) return EMPTY_RESULT;
    const selection = new Selection({ startOffset, ceilingOffset, count: request.count, maxBytes: request.maxBytes });
    if (startOffset < resident.firstOffset) {
      this.parts.onFilesUsed();
      if (!this.readNow(selection)) return this.readFiles(selection);
    } else resident.offerTo(selection);
    return selection.result();
  }

  /**
   * Reads as far as files are open, indexes loaded and bytes in the operating system's memory. False when the selection
   * needs more than that: the slower way goes on where this one ended. It also meets, judges and reports whatever is
   * wrong with the log.
   */
  private readNow(selection: Selection): boolean {
    const { log, resident } = this.parts;
    while (!selection.isFull) {
      const wanted = selection.nextOffset;
      if (wanted >= resident.firstOffset) {
        resident.offerTo(selection);
        return true;
      }
      const segment = log.locate(wanted);
      if (segment === undefined || segment.startOffset > wanted) return false;
      const outcome = this.readSegmentNow(segment, selection);
      if (outcome !== "ended" || selection.nextOffset === wanted) return outcome === "stopped";
    }
    return true;
  }

  private readSegmentNow(segment: Segment, selection: Selection): "ended" | "stopped" | "incomplete" {
    const { files, indexes, partitionId, memory, checksums } = this.parts;
    const file = files.openedNow(segment.startOffset);
    if (file?.readNow === undefined) return "incomplete";
    const index = indexes.inMemory(segment);
    const entry = index?.floorOfOffset(selection.nextOffset) ?? -1;
    if (index === undefined || entry < 0) return "incomplete";
    const chunkBytes = chunkFor(segment, selection);
    const scanner = new RecordScanner(
      file,
      partitionId,
      index.positionAt(entry),
      segment.sizeBytes,
      chunkBytes,
      memory,
    );
    let nextOffset = index.offsetAt(entry);
    try {
      for (;;) {
        const step = scanner.next();
        if (step === "end") return "ended";
        if (step === "more" && scanner.fillNow()) continue;
        const { head, record } = scanner;
        if (step !== "record" || head.baseOffset !== nextOffset) return "incomplete";
        nextOffset += head.messageCount;
        if (nextOffset <= selection.nextOffset) continue;
        checkRecord(record, checksums, "", scanner.recordPosition);
        if (!selection.offer(record, head.baseOffset, head.messageCount, scanner.memory)) return "stopped";
      }
    } catch {
      // Met again, and reported, on the way that takes its time.
      return "incomplete";
    } finally {
      scanner.close();
    }
  }

  async offsetAt(timestampMicros: number, ceilingOffset: number): Promise<number | undefined> {
    const { resident } = this.parts;
    // Times never fall along the log, so everything before the tail is at or before the tail's first.
    const offset =
      timestampMicros > resident.firstTimestampMicros
        ? resident.offsetAt(timestampMicros)
        : await this.findTimestamp(timestampMicros);
    return offset !== undefined && offset <= ceilingOffset ? offset : undefined;
  }

  private async readFiles(selection: Selection): Promise<ReadResult> {
    const { log, resident } = this.parts;
    try {
      while (!selection.isFull) {
        const wanted = selection.nextOffset;
        if (wanted >= resident.firstOffset) {
          resident.offerTo(selection);
          break;
        }
        const segment = log.locate(wanted);
        if (segment === undefined || (segment.startOffset > wanted && this.isCutOff(selection))) break;
        const outcome = await this.readSegment(segment, selection);
        if (outcome === "removed" && selection.isEmpty) selection.nextOffset = Math.max(wanted, log.startOffset);
        else if (outcome !== "ended" || selection.nextOffset === wanted) break;
      }
    } catch (error) {
      // What precedes a fault is served; the next read meets the fault itself.
      if (selection.isEmpty) throw error;
    }
    return selection.result();
  }

  /** Retention took what comes next, so what was gathered can't be continued without a gap. */
  private isCutOff(selection: Selection): boolean {
    return !selection.isEmpty && this.parts.log.startOffset > selection.nextOffset;
  }

  /** Offers the records of one segment. */
  private readSegment(segment: Segment, selection: Selection): Promise<Outcome> {
    const path = this.parts.log.pathOf(segment);
    const chunkBytes = chunkFor(segment, selection);
    return this.walk(
      segment,
      (index) => index.floorOfOffset(selection.nextOffset),
      chunkBytes,
      ({ head, record, recordPosition, memory }) => {
        const { baseOffset, messageCount } = head;
        if (baseOffset + messageCount <= selection.nextOffset) return true;
        checkRecord(record, this.parts.checksums, path, recordPosition);
        return selection.offer(record, baseOffset, messageCount, memory);
      },
    );
  }

  private async findTimestamp(timestampMicros: number): Promise<number | undefined> {
    this.parts.onFilesUsed();
    let found: number | undefined;
    let outcome: Outcome = "removed";
    while (outcome === "removed") {
      const segment = this.parts.log.locateTimestamp(timestampMicros);
      if (segment === undefined) return undefined;
      outcome = await this.walk(
        segment,
        (index) => index.floorBeforeTimestamp(timestampMicros),
        CHUNK_BYTES_MIN,
        ({ head }) => {
          if (head.baseTimestamp >= timestampMicros) found = head.baseOffset;
          return found === undefined;
        },
      );
    }
    return found;
  }

  /** Visits records from an index entry on. */
  private async walk(
    segment: Segment,
    entryOf: (index: SparseIndex) => number,
    chunkBytes: number,
    visit: (scanner: RecordScanner) => boolean,
  ): Promise<Outcome> {
    try {
      return await this.walkIndexed(segment, entryOf, chunkBytes, visit);
    } catch (error) {
      if (!this.parts.log.holds(segment)) return "removed";
      throw error instanceof IggyError ? error : new ReadFailed(this.parts.log.directory, asError(error));
    }
  }

  private async walkIndexed(
    segment: Segment,
    entryOf: (index: SparseIndex) => number,
    chunkBytes: number,
    visit: (scanner: RecordScanner) => boolean,
  ): Promise<Outcome> {
    const { files, indexes } = this.parts;
    const attempt = (index: SparseIndex): Promise<Walk> =>
      files.use(segment.startOffset, async (file) => {
        const entry = entryOf(index);
        const position = entry < 0 ? 0 : index.positionAt(entry);
        const { partitionId, memory } = this.parts;
        const scanner = new RecordScanner(file, partitionId, position, segment.sizeBytes, chunkBytes, memory);
        try {
          const begin =
            entry < 0
              ? { offset: segment.startOffset, timestampMicros: undefined }
              : { offset: index.offsetAt(entry), timestampMicros: index.timestampAt(entry) };
          return await this.walkFrom(segment, scanner, begin, visit);
        } finally {
          scanner.close();
        }
      });
    let outcome = await attempt(await indexes.of(segment));
    if (outcome === "misled") outcome = await attempt(await indexes.rebuild(segment));
    if (outcome === "misled") throw this.damage(segment, 0, "no record where the log says one begins");
    return outcome;
  }

  /** `begin`: what the index says of the first record. Its time counts too: a wrong one would hide what lies before. */
  private async walkFrom(
    segment: Segment,
    scanner: RecordScanner,
    begin: { readonly offset: number; readonly timestampMicros: number | undefined },
    visit: (scanner: RecordScanner) => boolean,
  ): Promise<Walk> {
    let nextOffset = begin.offset;
    let isFirst = true;
    for (;;) {
      const step = scanner.next();
      if (step === "more") await scanner.fill();
      else if (step === "end") return "ended";
      else if (
        isFirst &&
        step === "record" &&
        begin.timestampMicros !== undefined &&
        scanner.head.baseTimestamp !== begin.timestampMicros
      ) {
        return "misled";
      } else if (step === "record" && scanner.head.baseOffset === nextOffset) {
        isFirst = false;
        nextOffset += scanner.head.messageCount;
        if (!visit(scanner)) return "stopped";
      } else if (isFirst) return "misled";
      else throw this.damage(segment, scanner.nextPosition, "no record of this log");
    }
  }

  private damage(segment: Segment, position: number, fault: string): DamagedBatch {
    return new DamagedBatch(this.parts.log.pathOf(segment), position, "batch", fault);
  }
}

/**
 * What the selection probably takes, at the average message of the segment, and the way to it from an index entry. A read
 * of 250 messages from the middle of a long log takes a quarter of what a whole chunk would.
 */
function chunkFor(segment: Segment, selection: Selection): number {
  const perMessage = segment.sizeBytes / Math.max(1, segment.messagesCount);
  const likely = Math.ceil(selection.messagesLeft * perMessage * (1 + SPREAD));
  return Math.max(CHUNK_BYTES_MIN, Math.min(likely, selection.bytesLeft, CHUNK_BYTES) + INDEX_INTERVAL_BYTES);
}

/** `ended`: at the end of the segment. `stopped`: by the visitor. `removed`: retention took the segment meanwhile. */
type Outcome = "ended" | "stopped" | "removed";
/** `misled`: the place that the index named holds no such record. */
type Walk = "ended" | "stopped" | "misled";
