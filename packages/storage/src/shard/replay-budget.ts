/** A partition with so little above its checkpoint is left alone, however many partitions there are. */
const SHARE_BYTES_MIN = 4 * 1024 * 1024;
/** No partition gathers more, however few there are. */
const SHARE_BYTES_MAX = 1024 * 1024 * 1024;

/**
 * Bytes of batches above the last checkpoints of one shard. Recovery verifies them all, so they bound how long a start
 * takes after a kill. Partitions that have any share the budget evenly: whoever reaches its share takes a checkpoint.
 */
export class ReplayBudget {
  readonly bytesMax: number;
  private debtors = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get shareBytes(): number {
    const share = this.bytesMax / Math.max(1, this.debtors);
    return Math.min(SHARE_BYTES_MAX, Math.max(SHARE_BYTES_MIN, share));
  }

  /** For one partition. */
  open(bytes: number): ReplayDebt {
    return new ReplayDebt(this, bytes, (change) => (this.debtors += change));
  }
}

/** What recovery of one partition would have to verify. */
export class ReplayDebt {
  private readonly budget: ReplayBudget;
  private readonly count: (change: 1 | -1) => void;
  private bytes = 0;

  constructor(budget: ReplayBudget, bytes: number, count: (change: 1 | -1) => void) {
    this.budget = budget;
    this.count = count;
    this.add(bytes);
  }

  get isDue(): boolean {
    return this.bytes >= this.budget.shareBytes;
  }

  add(bytes: number): void {
    if (bytes === 0) return;
    if (this.bytes === 0) this.count(1);
    this.bytes += bytes;
  }

  /** A checkpoint covers everything so far, or the partition is closed. */
  clear(): void {
    if (this.bytes > 0) this.count(-1);
    this.bytes = 0;
  }
}
