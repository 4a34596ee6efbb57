import type { PartitionKey } from "../effects.js";

/** What the primary of a partition last reported. */
export interface PartitionCounters {
  readonly messagesCount: number;
  readonly sizeBytes: number;
  readonly segmentsCount: number;
  /** Offset of the last message; 0 when there is none. */
  readonly currentOffset: number;
  /** Node ids of the members that hold the committed log now and are up. */
  readonly inSync: readonly number[];
}

/** Figures of partitions, which are no part of the metadata. Undefined for a partition that has reported nothing yet. */
export interface PartitionStats {
  countersOf(partition: PartitionKey): PartitionCounters | undefined;
}

/** Of partitions that exist in the metadata only, as in the reply of their creation. */
export const noStats: PartitionStats = { countersOf: () => undefined };

export interface StatsTotals {
  readonly messagesCount: number;
  readonly sizeBytes: number;
  /** A committed partition counts as at least one segment. */
  readonly segmentsCount: number;
}

export function sumOf(partitions: Iterable<PartitionKey>, stats: PartitionStats): StatsTotals {
  let messagesCount = 0;
  let sizeBytes = 0;
  let segmentsCount = 0;
  for (const partition of partitions) {
    const counters = stats.countersOf(partition);
    messagesCount += counters?.messagesCount ?? 0;
    sizeBytes += counters?.sizeBytes ?? 0;
    segmentsCount += Math.max(1, counters?.segmentsCount ?? 1);
  }
  return { messagesCount, sizeBytes, segmentsCount };
}
