import type { Io, IoFile } from "../io/io.js";
import { loadIndex } from "./index-file.js";
import { RecordScanner } from "./record-scanner.js";
import type { Segment } from "./segment.js";
import type { SegmentFiles } from "./segment-files.js";
import type { SegmentLog } from "./segment-log.js";
import { SparseIndex } from "./sparse-index.js";

/** Indexes of sealed segments kept in memory by one partition: readers of old data are few and move on. */
const CACHED_MAX = 2;

/** Gives the index of any segment: the active one has its own, a sealed one loads it, a lost one is built again. */
export class SegmentIndexes {
  private readonly io: Io;
  private readonly log: SegmentLog;
  private readonly files: SegmentFiles;
  private readonly partitionId: number;
  private readonly onWarning: (message: string) => void;
  /** In order of last use. */
  private readonly cached = new Map<number, SparseIndex>();

  constructor(io: Io, log: SegmentLog, files: SegmentFiles, partitionId: number, onWarning: (message: string) => void) {
    this.io = io;
    this.log = log;
    this.files = files;
    this.partitionId = partitionId;
    this.onWarning = onWarning;
  }

  /** The index, when it is in memory. */
  inMemory(segment: Segment): SparseIndex | undefined {
    return segment.index ?? this.cached.get(segment.startOffset);
  }

  async of(segment: Segment): Promise<SparseIndex> {
    if (segment.index !== undefined) return segment.index;
    const cached = this.cached.get(segment.startOffset) ?? (await this.load(segment));
    this.cached.delete(segment.startOffset);
    this.cached.set(segment.startOffset, cached);
    for (const [startOffset] of this.cached) {
      if (this.cached.size <= CACHED_MAX) break;
      this.cached.delete(startOffset);
    }
    return cached;
  }

  /** The log contradicts the index: builds another one from the log, for the file too. */
  async rebuild(segment: Segment): Promise<SparseIndex> {
    this.onWarning(`${this.log.indexPathOf(segment)}: index does not fit its log and is built again`);
    const { sizeBytes } = segment;
    const index = await this.files.use(segment.startOffset, (file) => buildIndex(file, this.partitionId, sizeBytes));
    if (segment.index !== undefined) {
      segment.index = index;
      segment.savedEntries = 0;
    } else this.cached.set(segment.startOffset, index);
    return index;
  }

  forget(startOffset: number): void {
    this.cached.delete(startOffset);
  }

  private async load(segment: Segment): Promise<SparseIndex> {
    const path = this.log.indexPathOf(segment);
    return (await loadIndex(this.io, path, segment.startOffset, segment.sizeBytes)) ?? (await this.rebuild(segment));
  }
}

/** Walks the headers of a segment's records, up to the first that is none: what lies behind it is for readers to report. */
export async function buildIndex(file: IoFile, partitionId: number, sizeBytes: number): Promise<SparseIndex> {
  const index = new SparseIndex();
  const scanner = new RecordScanner(file, partitionId, 0, sizeBytes);
  for (let step = scanner.next(); step === "record" || step === "more"; step = scanner.next()) {
    if (step === "more") await scanner.fill();
    else if (index.wants(scanner.recordPosition)) {
      index.add(scanner.head.baseOffset, scanner.head.baseTimestamp, scanner.recordPosition);
    }
  }
  return index;
}
