/** How the reading of one partition stands. */
export interface PartitionFigures {
  readonly partitionId: number;
  /** `stopped`: not read until it is sought, since nobody can read on from where it is. */
  readonly state: "reading" | "paused" | "stopped";
  /** Offset of the last message that was handed over, or handled where `handle` runs. */
  readonly lastOffset: bigint | undefined;
  /** Offset that the next message of the partition gets, as of the last answer. */
  readonly end: bigint | undefined;
  /** Messages that exist behind `lastOffset`; undefined before the first answer. */
  readonly lagMessages: bigint | undefined;
  /** Age of the oldest of them as far as it was read, else of the message at `lastOffset`; 0 without any. */
  readonly lagMs: number | undefined;
  /** When a server answered last for this partition. One that is read and not answered for is stuck. */
  readonly answeredAt: Date | undefined;
}
