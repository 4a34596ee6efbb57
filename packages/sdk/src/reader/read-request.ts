import type { PartitionRead } from "./partition-read.js";

/**
 * Why a request is made. `wait` parks on the server until something comes; `join` is the second of that kind, for
 * partitions that became idle meanwhile, and gives way to a bigger one; `backlog` fetches what is known to be there;
 * `alone` reads one partition.
 */
export type ReadRole = "wait" | "join" | "backlog" | "alone";

/** One request of a scheduler, and the slot that it holds: from its start until its last batch was taken. */
export class ReadRequest {
  readonly role: ReadRole;
  /** Replica that it goes to; undefined for one partition alone. */
  readonly primary: number | undefined;
  readonly partitions: readonly PartitionRead[];
  readonly waitMs: number;
  readonly startedAt: number;
  readonly abort = new AbortController();
  isInFlight = true;
  /** The same request would follow an empty answer. */
  mayWait = true;
  /** Whether it is known what became of it. */
  outcome: "open" | "known" = "open";
  /** Batches of its reply that nobody took yet. */
  open = 0;
  #byId: ReadonlyMap<number, PartitionRead> | undefined;

  constructor(
    role: ReadRole,
    primary: number | undefined,
    partitions: readonly PartitionRead[],
    waitMs: number,
    startedAt: number,
  ) {
    this.role = role;
    this.primary = primary;
    this.partitions = partitions;
    this.waitMs = waitMs;
    this.startedAt = startedAt;
  }

  /** One of its partitions. */
  find(partitionId: number): PartitionRead | undefined {
    this.#byId ??= new Map(this.partitions.map((partition) => [partition.id, partition]));
    return this.#byId.get(partitionId);
  }

  get holdsSlot(): boolean {
    return this.isInFlight || this.open > 0;
  }

  /** Whether this request reads the partition still. */
  reads(partition: PartitionRead): boolean {
    return partition.request === this;
  }
}
