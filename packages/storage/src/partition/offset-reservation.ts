import type { Superblock, SuperblockState } from "../records/superblock.js";

/**
 * Keeps a durable frontier ahead of the offsets that are given out. After a loss of power, which may take confirmed but
 * unsynced batches, the log goes on at the frontier, so that no confirmed offset is given to another message.
 */
export class OffsetReservation {
  private readonly superblock: Superblock;
  private readonly lease: number;
  private readonly facts: () => Partial<SuperblockState>;
  private renewal: Promise<void> | undefined;
  /** What recovery read may be in the operating system's memory only, until a sync or a write of ours. */
  private isFrontierDurable = false;

  /** `facts`: what else each write of the superblock brings up to date. */
  constructor(superblock: Superblock, lease: number, facts: () => Partial<SuperblockState>) {
    this.superblock = superblock;
    this.lease = lease;
    this.facts = facts;
  }

  /** Whether every offset below `nextOffset` is reserved already. */
  covers(nextOffset: number): boolean {
    return this.isFrontierDurable && nextOffset <= this.superblock.state.reservedOffset;
  }

  /** Resolves when every offset below `nextOffset` is reserved. */
  async cover(nextOffset: number): Promise<void> {
    if (nextOffset > this.superblock.state.reservedOffset) await this.renewal;
    if (nextOffset > this.superblock.state.reservedOffset) await this.renew(nextOffset);
    else if (!this.isFrontierDurable) await this.superblock.sync();
    this.isFrontierDurable = true;
  }

  /** Renews early, off the path of a write. When that fails, the write that needs it tries again and reports. */
  renewAhead(nextOffset: number): void {
    const left = this.superblock.state.reservedOffset - nextOffset;
    if (left * 2 >= this.lease || this.renewal !== undefined) return;
    this.renewal = this.renew(nextOffset)
      .catch(() => undefined)
      .finally(() => {
        this.renewal = undefined;
      });
  }

  private renew(nextOffset: number): Promise<void> {
    return this.superblock.update((state) => ({
      ...state,
      ...this.facts(),
      reservedOffset: Math.max(state.reservedOffset, nextOffset + this.lease),
    }));
  }
}
