/** A partition that has files open. */
export interface FileHolder {
  /** Sweep in which the files were used last. Written by `OpenFiles` only. */
  usedInSweep: number;
  /** Closes what is not in use now. They are opened again when they are needed. */
  closeFiles(): void;
}

/**
 * Which partitions of a shard have files open. Their number is bounded, and a partition that is not used from one sweep
 * to the next gives its files back.
 */
export class OpenFiles {
  private readonly partitionsMax: number;
  /** In order of their last sweep, roughly of their last use. */
  private readonly holders = new Set<FileHolder>();
  private sweepNumber = 1;

  constructor(partitionsMax: number) {
    this.partitionsMax = partitionsMax;
  }

  get partitionsCount(): number {
    return this.holders.size;
  }

  /** The holder uses its files, or is about to open them. */
  use(holder: FileHolder): void {
    if (holder.usedInSweep === this.sweepNumber) return;
    holder.usedInSweep = this.sweepNumber;
    this.holders.delete(holder);
    this.holders.add(holder);
    if (this.holders.size > this.partitionsMax) this.closeOldest();
  }

  /** The holder has closed its files for good. */
  forget(holder: FileHolder): void {
    this.holders.delete(holder);
    holder.usedInSweep = 0;
  }

  /** Closes the files of every partition that was not used since the sweep before. */
  sweep(): void {
    for (const holder of this.holders) {
      if (holder.usedInSweep === this.sweepNumber) break;
      this.close(holder);
    }
    this.sweepNumber++;
  }

  private closeOldest(): void {
    for (const holder of this.holders) {
      this.close(holder);
      return;
    }
  }

  private close(holder: FileHolder): void {
    this.forget(holder);
    holder.closeFiles();
  }
}
