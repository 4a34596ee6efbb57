import { asError } from "../as-error.js";
import type { Prepare, Proposal, Replica } from "@iggy/consensus";
import { type MetadataStore, WriteFailed } from "@iggy/storage";
import type { Clock } from "../request.js";

/** A disk without room for a checkpoint is asked again after this long. */
const RETRY_MILLIS = 1_000;

export interface MetadataGroupDeps<Applied> {
  readonly replica: Replica;
  readonly store: MetadataStore;
  readonly clock: Clock;
  /** Applies a committed operation. Must not throw for anything that a client can send. */
  readonly apply: (prepare: Prepare) => Applied;
  /** State of everything applied so far, for a checkpoint. */
  readonly snapshot: () => Uint8Array;
  /** Operations that may wait behind a full pipeline. */
  readonly requestQueueDepth: number;
  /** The journal can't be written: the node must stop, since what it promised can't be kept. */
  readonly onFatal: (error: Error) => void;
  readonly log: { warn(fields: object, message: string): void };
}

export interface CommittedOperation<Applied> {
  readonly prepare: Prepare;
  readonly applied: Applied;
}

/** Undefined when the disk was full: nothing was stored, and the same operation may be proposed again. */
type Done<Applied> = (committed: CommittedOperation<Applied> | undefined) => void;

interface Queued<Applied> {
  readonly proposal: Proposal;
  readonly done: Done<Applied>;
}

/**
 * The metadata group on this node: orders proposals, journals them, applies what is committed, and takes checkpoints.
 * It knows nothing of what the operations mean.
 */
export class MetadataGroup<Applied> {
  private readonly deps: MetadataGroupDeps<Applied>;
  private readonly waiting = new Map<number, Done<Applied>>();
  private readonly queue: Queued<Applied>[] = [];
  private readonly idle: (() => void)[] = [];
  private checkpoint: Promise<void> | undefined;
  private checkpointNotBeforeMillis = 0;
  private appliedChecksum: bigint;
  private failed = false;
  private closing = false;

  /** `headChecksum` is the identity of the last recovered operation. */
  constructor(deps: MetadataGroupDeps<Applied>, headChecksum: bigint) {
    this.deps = deps;
    this.appliedChecksum = headChecksum;
  }

  /** Which node leads, as the number of its view. */
  get viewNumber(): number {
    return this.deps.replica.view;
  }

  /** Whether `propose` takes one more operation now. */
  get hasRoom(): boolean {
    return !this.failed && !this.closing && this.queue.length < this.deps.requestQueueDepth;
  }

  /** Orders an operation, now or behind others. `done` runs after it was applied. Ask `hasRoom` first. */
  propose(proposal: Proposal, done: Done<Applied>): void {
    this.queue.push({ proposal, done });
    this.promote();
  }

  /**
   * Takes nothing more, waits for what is under way, and writes a snapshot so that the next start replays nothing. Without
   * the snapshot it rejects, with the store closed; the journal holds everything all the same.
   */
  async close(): Promise<void> {
    this.closing = true;
    if (this.waiting.size + this.queue.length > 0 && !this.failed) {
      await new Promise<void>((resolve) => this.idle.push(resolve));
    }
    await this.checkpoint;
    try {
      if (!this.failed && this.deps.replica.appliedOp > 0) await this.takeCheckpoint();
    } finally {
      await this.deps.store.close();
    }
  }

  private promote(): void {
    const { replica, store, clock } = this.deps;
    while (!this.failed && replica.admission() === "admit") {
      if (store.freeSlots <= 0) {
        this.awaitSlots();
        return;
      }
      const next = this.queue.shift();
      if (next === undefined) return;
      const prepare = replica.propose(next.proposal, replica.nextTimestamp(clock.nowMicros()));
      this.waiting.set(prepare.op, next.done);
      this.journal(prepare);
    }
  }

  /** A checkpoint frees slots of the journal; when none can be taken now, there is no room for what waits. */
  private awaitSlots(): void {
    this.checkpointWhenDue();
    if (this.checkpoint === undefined) this.refuseQueue();
  }

  private journal(prepare: Prepare): void {
    this.deps.store
      .append({ op: prepare.op, header: prepare.header, body: prepare.body })
      .then(
        () => {
          this.deps.replica.journaled(prepare.op);
          this.applyCommitted();
          this.promote();
        },
        (error: unknown) => {
          if (isFull(error)) this.handBack(prepare.op);
          else this.fail(error);
        },
      )
      .catch((error: unknown) => this.fail(error))
      .finally(() => this.reportIdle());
  }

  private applyCommitted(): void {
    for (let prepare = this.deps.replica.nextCommitted(); prepare; prepare = this.deps.replica.nextCommitted()) {
      const applied = this.deps.apply(prepare);
      this.appliedChecksum = prepare.checksum;
      this.finish(prepare.op, { prepare, applied });
    }
    this.checkpointWhenDue();
  }

  private checkpointWhenDue(): void {
    const { store, clock } = this.deps;
    if (!store.checkpointDue || this.checkpoint !== undefined || this.closing) return;
    if (clock.monotonicMillis() < this.checkpointNotBeforeMillis) return;
    this.checkpoint = this.takeCheckpoint()
      .catch((error: unknown) => this.checkpointFailed(error))
      .finally(() => {
        this.checkpoint = undefined;
        this.promote();
        this.reportIdle();
      });
  }

  /** The journal goes on without a checkpoint as long as it has slots. */
  private checkpointFailed(error: unknown): void {
    if (!isFull(error)) {
      this.fail(error);
      return;
    }
    this.checkpointNotBeforeMillis = this.deps.clock.monotonicMillis() + RETRY_MILLIS;
    this.deps.log.warn({ err: error }, "no room on the disk for a checkpoint of the metadata");
  }

  /** The disk is full: the operation and those behind it were not stored and nobody else has seen them. */
  private handBack(fromOp: number): void {
    if (!this.waiting.has(fromOp)) return;
    this.deps.replica.handBack(fromOp);
    for (const op of [...this.waiting.keys()].filter((waiting) => waiting >= fromOp)) this.finish(op, undefined);
    // What waits in the queue would meet the same disk.
    this.refuseQueue();
  }

  /** There is no room; the senders try again later. */
  private refuseQueue(): void {
    for (const { done } of this.queue.splice(0)) done(undefined);
  }

  private finish(op: number, committed: CommittedOperation<Applied> | undefined): void {
    const done = this.waiting.get(op);
    this.waiting.delete(op);
    done?.(committed);
  }

  private takeCheckpoint(): Promise<void> {
    return this.deps.store.checkpoint(this.deps.replica.appliedOp, this.appliedChecksum, this.deps.snapshot());
  }

  private reportIdle(): void {
    if (this.waiting.size + this.queue.length > 0 && !this.failed) return;
    for (const resolve of this.idle.splice(0)) resolve();
  }

  private fail(error: unknown): void {
    if (this.failed) return;
    this.failed = true;
    this.deps.onFatal(asError(error));
  }
}

const isFull = (error: unknown): boolean => error instanceof WriteFailed && error.outOfSpace;
