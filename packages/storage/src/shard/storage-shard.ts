import type { Memory } from "../contracts.js";
import { type Checksums, portableChecksums } from "./checksums.js";
import { type StoreClock, systemClock } from "./group-commit.js";
import { OpenFiles } from "./open-files.js";
import { ReplayBudget } from "./replay-budget.js";
import { ResidentBudget } from "./resident-budget.js";
import { Staging, StagingPool } from "./staging.js";
import { TurnEnd } from "./turn-end.js";
import { WritePace } from "./write-pace.js";

/** Where reads from files put what they read. */
export interface ReadMemory {
  /** Memory that the caller holds, with `bytes` of at least this length. Undefined when there is none: the heap serves. */
  allocate(bytes: number): Memory | undefined;
}

export interface StorageShardOptions {
  /** Memory of recent batches, kept for readers, of all partitions together. */
  readonly residentBytesMax: number;
  /** Bytes of batches above the checkpoints of all partitions together: what a start after a kill has to verify. */
  readonly replayBytesMax?: number | undefined;
  /** Partitions that have files open at a time; each has up to four. */
  readonly openPartitionsMax?: number | undefined;
  readonly readMemory?: ReadMemory | undefined;
  readonly checksums?: Checksums | undefined;
  /** How long a group of operations that must be synced may wait for more of them, 0 to 10,000. */
  readonly groupCommitDelayMicros?: number | undefined;
  readonly clock?: StoreClock | undefined;
}

const OPEN_PARTITIONS_MAX = 2048;
/** Verified in about two seconds when the operating system still has them in memory. */
const REPLAY_BYTES_MAX = 2 * 1024 * 1024 * 1024;

/** What the partition stores of one shard share. */
export class StorageShard {
  readonly resident: ResidentBudget;
  readonly replay: ReplayBudget;
  readonly openFiles: OpenFiles;
  readonly readMemory: ReadMemory | undefined;
  readonly checksums: Checksums;
  readonly groupCommitDelayMicros: number;
  readonly clock: StoreClock;
  readonly turnEnd = new TurnEnd();
  readonly pace: WritePace;
  /** For journal entries that are written before anything else happens. */
  readonly staging: Staging;
  readonly stagingPool: StagingPool;
  /** Records of a write that is done before anything else happens. */
  readonly records: Uint8Array[] = [];

  constructor(options: StorageShardOptions) {
    this.resident = new ResidentBudget(options.residentBytesMax);
    this.replay = new ReplayBudget(options.replayBytesMax ?? REPLAY_BYTES_MAX);
    this.openFiles = new OpenFiles(options.openPartitionsMax ?? OPEN_PARTITIONS_MAX);
    this.readMemory = options.readMemory;
    this.checksums = options.checksums ?? portableChecksums;
    this.groupCommitDelayMicros = options.groupCommitDelayMicros ?? 0;
    this.clock = options.clock ?? systemClock;
    this.pace = new WritePace(this.clock);
    this.staging = new Staging(this.checksums);
    this.stagingPool = new StagingPool(this.checksums);
  }

  /** Gives back the files of partitions that were not used since the call before. To be called every minute or so. */
  closeIdleFiles(): void {
    this.openFiles.sweep();
  }
}
