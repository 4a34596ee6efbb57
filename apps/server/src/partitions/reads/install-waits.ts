import type { PartitionShard } from "../shard.js";
import type { Wait } from "../waits.js";

/** How long a request waits for its owner to be installed; then it is told to come again. */
const INSTALL_WAIT_MILLIS = 2_000;
/** Requests of one partition that may wait for an owner. */
const WAITING_MAX = 128;

export interface InstallWait {
  /** The request went away. */
  cancel(): void;
}

/** Requests whose owner metadata has decided and the partition's log has not installed yet. */
export class InstallWaits {
  private readonly waiting = new Set<() => void>();
  private readonly shard: PartitionShard;

  constructor(shard: PartitionShard) {
    this.shard = shard;
  }

  /**
   * Calls `retry` after the next installation, or `giveUp` when none comes in time. Undefined when too many wait already.
   */
  add(retry: () => void, giveUp: () => void): InstallWait | undefined {
    if (this.waiting.size >= WAITING_MAX) return undefined;
    const { waits } = this.shard;
    const wake = (): void => {
      waits.cancel(deadline);
      retry();
    };
    const deadline: Wait = waits.at(waits.nowMillis + INSTALL_WAIT_MILLIS, () => {
      this.waiting.delete(wake);
      giveUp();
    });
    this.waiting.add(wake);
    return {
      cancel: () => {
        if (this.waiting.delete(wake)) waits.cancel(deadline);
      },
    };
  }

  /** An owner was installed, or the partition ends: everybody looks again. */
  wake(): void {
    // What one of them does may cancel others.
    for (const wake of [...this.waiting]) if (this.waiting.delete(wake)) wake();
  }
}
