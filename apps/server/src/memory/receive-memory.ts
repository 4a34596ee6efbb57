import type { Memory } from "@iggy/storage";

/** Where blocks come from. */
export interface BlockPool<Block extends Memory> {
  /** A block of at least so many bytes, held once; undefined when the pool is used up. */
  allocate(bytes: number): Block | undefined;
}

export interface ReceiveMemoryDeps<Block extends Memory> {
  readonly pool: BlockPool<Block>;
  /** Lets recent batches that are kept for readers go, so many bytes if it can; gives what it let go. */
  readonly evict: (bytes: number) => number;
  /** Runs once after so long; gives how to cancel. */
  readonly after: (delayMillis: number, run: () => void) => () => void;
}

/** Who waits for memory is asked again this often. */
const RETRY_MILLIS = 5;
/**
 * Whoever waited this long without anybody getting memory gives up: all of it is held by frames that are incomplete, which
 * may never end.
 */
const PATIENCE_MILLIS = 10_000;

/** A stream that waits for memory to receive into. */
export interface MemoryWaiter {
  /** Tries again; true when it got what it waited for, or wants it no more. */
  retry(): boolean;
  /** No memory came for so long that others must be helped: lets go of everything. */
  giveUp(): void;
}

/**
 * The pooled memory that connections of this thread receive into. When it is used up, recent batches leave memory before
 * anybody waits; whoever has to wait is not read from, which its peer notices as backpressure.
 */
export class ReceiveMemory<Block extends Memory> {
  private readonly deps: ReceiveMemoryDeps<Block>;
  private readonly waiters = new Set<MemoryWaiter>();
  private waitedMillis = 0;
  private stopRetrying: (() => void) | undefined;

  constructor(deps: ReceiveMemoryDeps<Block>) {
    this.deps = deps;
  }

  get waiting(): number {
    return this.waiters.size;
  }

  allocate(bytes: number): Block | undefined {
    const { pool, evict } = this.deps;
    const block = pool.allocate(bytes);
    if (block !== undefined || evict(bytes) === 0) return block;
    return pool.allocate(bytes);
  }

  wait(waiter: MemoryWaiter): void {
    this.waiters.add(waiter);
    this.arm();
  }

  forget(waiter: MemoryWaiter): void {
    this.waiters.delete(waiter);
  }

  private arm(): void {
    if (this.stopRetrying !== undefined || this.waiters.size === 0) return;
    this.stopRetrying = this.deps.after(RETRY_MILLIS, () => {
      this.stopRetrying = undefined;
      this.retry();
      this.arm();
    });
  }

  private retry(): void {
    let served = 0;
    for (const waiter of [...this.waiters]) {
      if (!waiter.retry()) break;
      this.waiters.delete(waiter);
      served++;
    }
    this.waitedMillis = served > 0 || this.waiters.size === 0 ? 0 : this.waitedMillis + RETRY_MILLIS;
    if (this.waitedMillis < PATIENCE_MILLIS) return;
    this.waitedMillis = 0;
    for (const waiter of this.waiters) {
      this.waiters.delete(waiter);
      waiter.giveUp();
      break;
    }
  }
}
