import { ErrorCode, type PartitionContext } from "@iggy/protocol";
import { IggyError } from "../errors/index.js";
import { unref } from "../time/timers.js";
import type { Checkpoint } from "../values/position.js";
import { isBehind, isOutdated } from "./history.js";

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
  /** Somebody waits for the partition: every position is stored as soon as it is counted. */
  isHurried: boolean;
}

/**
 * Stores the positions that a consumer counts: every so many messages, every so often, and when it is asked to. A
 * partition's positions only move forward within a history, and those of a history that was replaced are dropped.
 */
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

  /** A message counts as consumed, and with it those before it: `messages` since the last count. */
  count(checkpoint: Checkpoint, messages = 1): void {
    const partition = this.#of(checkpoint.partitionId);
    const { counted } = partition;
    if (counted !== undefined && (isBehind(checkpoint, counted) || isOutdated(checkpoint, counted))) return;
    partition.counted = checkpoint;
    partition.open += messages;
    const { everyMessages } = this.#settings;
    const isDue = partition.isHurried || (everyMessages !== null && partition.open >= everyMessages);
    if (isDue) void this.#store(checkpoint.partitionId, partition);
  }

  /** Another member waits for the partition: stores what is counted now, and from now on at once. */
  hurry(partitionId: number): void {
    const partition = this.#of(partitionId);
    if (partition.isHurried) return;
    partition.isHurried = true;
    void this.#store(partitionId, partition);
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
    const fresh: PartitionOffsets = {
      counted: undefined,
      open: 0,
      stored: undefined,
      storing: undefined,
      isHurried: false,
    };
    this.#partitions.set(partitionId, fresh);
    return fresh;
  }

  /** One store per partition at a time; what is counted meanwhile goes into the next. */
  async #store(partitionId: number, partition: PartitionOffsets, signal?: AbortSignal): Promise<void> {
    while (partition.storing !== undefined) await partition.storing;
    const { counted } = partition;
    if (counted === undefined || counted === partition.stored) return;
    const { open } = partition;
    partition.open = 0;
    partition.storing = this.#storeNow(partitionId, partition, counted, open, signal);
    await partition.storing;
    partition.storing = undefined;
    if (partition.isHurried && partition.open > 0) await this.#store(partitionId, partition, signal);
  }

  async #storeNow(
    partitionId: number,
    partition: PartitionOffsets,
    counted: Checkpoint,
    open: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await this.#settings.store(partitionId, counted.offset, counted.context, signal);
      partition.stored = counted;
      this.#settings.onStored(partitionId, counted.offset);
    } catch (error) {
      // Another member owns the partition, or another history does: these positions mean nothing any more.
      if (isOwnershipLost(error)) {
        if (partition.counted === counted) partition.counted = undefined;
      } else partition.open += open;
      this.#settings.onError(partitionId, error);
    }
  }
}

const isOwnershipLost = (error: unknown): boolean =>
  IggyError.is(error, ErrorCode.ConsumerGroupPartitionNotOwned) || IggyError.is(error, ErrorCode.HistoryUnavailable);
