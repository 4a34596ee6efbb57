import type { MetadataEffect, PartitionKey } from "@iggy/engine";
import { partitionGroup } from "@iggy/protocol";
import type { PartitionStats } from "../partitions/index.js";
import type { Placement } from "./placement.js";

/** Partitions of one shard whose figures other shards see; those beyond count as empty there. */
const SLOTS_MAX = 2 ** 18;

/** Per slot, f64 each: incarnation (0: nothing to see), messages, bytes, segments, current offset, free. */
const SLOT_WORDS = 6;

export const createBoards = (shardCount: number): readonly SharedArrayBuffer[] =>
  Array.from({ length: shardCount }, () => new SharedArrayBuffer(SLOTS_MAX * SLOT_WORDS * 8));

/** The places of one shard's partitions on its board. Given out and taken back in the order of the metadata log. */
class SlotTable {
  private readonly slots = new Map<number, number>();
  private readonly free: number[] = [];
  private used = 0;

  get(partition: number): number | undefined {
    return this.slots.get(partition);
  }

  add(partition: number): void {
    if (this.slots.has(partition)) return;
    const slot = this.free.pop() ?? (this.used < SLOTS_MAX ? this.used++ : undefined);
    if (slot !== undefined) this.slots.set(partition, slot);
  }

  remove(partition: number): number | undefined {
    const slot = this.slots.get(partition);
    if (slot === undefined) return undefined;
    this.slots.delete(partition);
    this.free.push(slot);
    return slot;
  }
}

/**
 * Figures of all partitions in memory that every shard reads and the owner of a partition writes. Which place belongs to a
 * partition follows from the log of metadata alone, so every shard that applied the same operations knows the same; a place
 * names its incarnation, by which a reader that is ahead or behind sees that it is not meant.
 */
export class CountersBoard {
  private readonly shard: number;
  private readonly placement: Placement;
  private readonly boards: readonly Float64Array[];
  private readonly tables: readonly SlotTable[];

  /** `partitions` are those of the metadata that this shard starts from. */
  constructor(
    shard: number,
    placement: Placement,
    boards: readonly SharedArrayBuffer[],
    partitions: Iterable<PartitionKey>,
  ) {
    this.shard = shard;
    this.placement = placement;
    this.boards = boards.map((memory) => new Float64Array(memory));
    this.tables = boards.map(() => new SlotTable());
    for (const partition of partitions) this.tableOf(partition)?.add(partitionGroup(partition));
  }

  /** Follows an applied operation, before anything else is done about it. */
  follow(effects: readonly MetadataEffect[]): void {
    for (const effect of effects) {
      if (effect.kind === "partition-created") this.tableOf(effect)?.add(partitionGroup(effect));
      else if (effect.kind === "partition-deleted") this.clear(effect);
    }
  }

  /** Shows the figures of a partition of this shard. */
  publish(partition: PartitionKey, stats: PartitionStats): void {
    const slot = this.tables[this.shard]?.get(partitionGroup(partition));
    const board = this.boards[this.shard];
    if (slot === undefined || board === undefined) return;
    const at = slot * SLOT_WORDS;
    board[at + 1] = stats.messagesCount;
    board[at + 2] = stats.sizeBytes;
    board[at + 3] = stats.segmentsCount;
    board[at + 4] = stats.currentOffset;
    board[at] = partition.incarnation;
  }

  /** The figures of a partition of any shard; undefined when its owner shows none. */
  read(partition: PartitionKey): PartitionStats | undefined {
    const owner = this.placement.shardOf(partition);
    const slot = this.tables[owner]?.get(partitionGroup(partition));
    const board = this.boards[owner];
    if (slot === undefined || board?.[slot * SLOT_WORDS] !== partition.incarnation) return undefined;
    const at = slot * SLOT_WORDS;
    return {
      messagesCount: board[at + 1] ?? 0,
      sizeBytes: board[at + 2] ?? 0,
      segmentsCount: board[at + 3] ?? 0,
      currentOffset: board[at + 4] ?? 0,
    };
  }

  private clear(partition: PartitionKey): void {
    const slot = this.tableOf(partition)?.remove(partitionGroup(partition));
    const board = this.boards[this.shard];
    const isOwn = this.placement.shardOf(partition) === this.shard;
    if (slot !== undefined && board !== undefined && isOwn) board[slot * SLOT_WORDS] = 0;
  }

  private tableOf(partition: PartitionKey): SlotTable | undefined {
    return this.tables[this.placement.shardOf(partition)];
  }
}
