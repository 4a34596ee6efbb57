import type { PartitionMachine } from "@iggy/engine";
import { type PartitionStore, WriteFailed } from "@iggy/storage";
import type { PartitionLog } from "../environment.js";
import type { PartitionShard } from "../shard.js";

/** A disk without room is asked again after this long. */
const RETRY_MILLIS = 1_000;

/** Takes the checkpoints of one partition, one at a time. */
export class Checkpoints {
  private readonly machine: PartitionMachine;
  private readonly store: PartitionStore;
  private readonly shard: PartitionShard;
  private readonly log: PartitionLog;
  private running: Promise<void> | undefined;
  private notBeforeMillis = 0;
  private takenOp: number;

  constructor(
    machine: PartitionMachine,
    store: PartitionStore,
    shard: PartitionShard,
    log: PartitionLog,
    takenOp: number,
  ) {
    this.machine = machine;
    this.store = store;
    this.shard = shard;
    this.log = log;
    this.takenOp = takenOp;
  }

  /** Takes one when the log has grown enough, or when the journal has no room. */
  takeWhenDue(isForced = false): void {
    if (this.running !== undefined || !(isForced || this.store.checkpointDue)) return;
    if (this.shard.waits.nowMillis < this.notBeforeMillis) return;
    void this.take();
  }

  /** Takes one now, behind one that is running. Never rejects: a failure is logged, and the log keeps its entries. */
  async take(): Promise<void> {
    while (this.running !== undefined) await this.running;
    this.running = this.shard.fileTasks.run(() => this.write());
    await this.running;
    this.running = undefined;
  }

  /** Resolves when none is running. */
  async settled(): Promise<void> {
    await this.running;
  }

  private async write(): Promise<void> {
    const { appliedOp, checksum } = this.machine;
    if (appliedOp === 0 || (appliedOp === this.takenOp && !this.store.checkpointDue)) return;
    try {
      await this.store.checkpoint(appliedOp, checksum, this.machine.checkpoint());
      this.takenOp = appliedOp;
    } catch (error) {
      this.notBeforeMillis = this.shard.waits.nowMillis + RETRY_MILLIS;
      const isFull = error instanceof WriteFailed && error.outOfSpace;
      this.log.warn({ err: error }, isFull ? "no room on the disk for a checkpoint" : "a checkpoint failed");
    }
  }
}
