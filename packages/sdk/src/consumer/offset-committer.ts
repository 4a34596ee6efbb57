import { ErrorCode, type PartitionContext } from "@iggy/protocol";
import { IggyError } from "../errors/index.js";
import { unref } from "../time/timers.js";
import type { Checkpoint } from "../values/position.js";

export interface CommitterSettings {
  /** ms between stores; null stores by count only. */
  readonly intervalMs: number | null;
  /** Counted messages between stores; null stores by time only. */
  readonly everyMessages: number | null;
  readonly store: (
    partitionId: number,
    offset: bigint,
    context: PartitionContext,
    signal?: AbortSignal,
  ) => Promise<void>;
  readonly onStored: (partitionId: number, offset: bigint) => void;
  readonly onError: (partitionId: number, error: unknown) => void;
}

interface PartitionOffsets {
  /** The last counted message. */
  counted: Checkpoint | undefined;
  /** Messages counted since the last store. */
  open: number;
  stored: Checkpoint | undefined;
  storing: Promise<void> | undefined;
}

/** Stores the positions that a consumer counts: every so many messages, every so often, and when it is asked to. */
export class OffsetCommitter {
  readonly #settings: CommitterSettings;
  readonly #partitions = new Map<number, PartitionOffsets>();
  readonly #timer: ReturnType<typeof setInterval> | undefined;

  constructor(settings: CommitterSettings) {
    this.#settings = settings;
    if (settings.intervalMs !== null) {
      this.#timer = setInterval(() => void this.flush(), settings.intervalMs);
      unref(this.#timer);
    }
  }

  /** A message counts as consumed. */
  count(checkpoint: Checkpoint): void {
    const partition = this.#of(checkpoint.partitionId);
    if (partition.counted !== undefined && isBehind(checkpoint, partition.counted)) return;
    partition.counted = checkpoint;
    partition.open++;
    const { everyMessages } = this.#settings;
    if (everyMessages !== null && partition.open >= everyMessages) void this.#store(checkpoint.partitionId, partition);
  }

  /** Stores what is counted, of one partition or of all. Errors go to `onError`. */
  async flush(partitionId?: number, signal?: AbortSignal): Promise<void> {
    const wanted = [...this.#partitions].filter(([id]) => partitionId === undefined || id === partitionId);
    await Promise.all(wanted.map(([id, partition]) => this.#store(id, partition, signal)));
  }

  /** Drops a partition's positions: it belongs to somebody else, or starts over. */
  forget(partitionId: number): void {
    this.#partitions.delete(partitionId);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #of(partitionId: number): PartitionOffsets {
    const known = this.#partitions.get(partitionId);
    if (known !== undefined) return known;
    const fresh: PartitionOffsets = { counted: undefined, open: 0, stored: undefined, storing: undefined };
    this.#partitions.set(partitionId, fresh);
    return fresh;
  }

  /** One store per partition at a time; what is counted meanwhile goes into the next. */
  async #store(partitionId: number, partition: PartitionOffsets, signal?: AbortSignal): Promise<void> {
    if (partition.storing !== undefined) await partition.storing;
    const { counted } = partition;
    if (counted === undefined || counted === partition.stored || partition.storing !== undefined) return;
    partition.open = 0;
    partition.storing = this.#storeNow(partitionId, partition, counted, signal);
    await partition.storing;
    partition.storing = undefined;
  }

  async #storeNow(
    partitionId: number,
    partition: PartitionOffsets,
    counted: Checkpoint,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await this.#settings.store(partitionId, counted.offset, counted.context, signal);
      partition.stored = counted;
      this.#settings.onStored(partitionId, counted.offset);
    } catch (error) {
      // Another member owns the partition, or another history does: these positions mean nothing any more.
      if (isOwnershipLost(error) && partition.counted === counted) partition.counted = undefined;
      this.#settings.onError(partitionId, error);
    }
  }
}

const isOwnershipLost = (error: unknown): boolean =>
  IggyError.is(error, ErrorCode.ConsumerGroupPartitionNotOwned) || IggyError.is(error, ErrorCode.HistoryUnavailable);

/** Whether a position lies at or behind another one of the same history. */
export const isBehind = (position: Checkpoint, other: Checkpoint): boolean =>
  sameHistory(position.context, other.context) && position.offset <= other.offset;

export const sameHistory = (a: PartitionContext, b: PartitionContext): boolean =>
  a.incarnation === b.incarnation && a.ownerGeneration === b.ownerGeneration;
