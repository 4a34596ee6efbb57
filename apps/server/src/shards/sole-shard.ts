import type { DeletableThrough, GroupProgress, PartitionKey } from "@iggy/engine";
import type { EndedSession, PartitionPlane, PartitionStats } from "../partitions/index.js";
import type { Shards } from "./shards.js";

/** Keeps the calling thread on its core, and gives how to undo it. */
export type PinSelf = () => Promise<() => void>;

/** A node of one shard: nothing travels, and nobody else has to be told. */
export class SoleShard implements Shards {
  readonly count = 1;
  readonly isBehind = false;
  readonly seat = undefined;
  readonly sessionParking = undefined;
  private readonly own: () => PartitionPlane;
  private readonly pinSelf: PinSelf | undefined;
  private unpin: (() => void) | undefined;

  /** The partitions may not be there yet when this is made. */
  constructor(own: () => PartitionPlane, pinSelf: PinSelf | undefined) {
    this.own = own;
    this.pinSelf = pinSelf;
  }

  get requests(): PartitionPlane {
    return this.own();
  }

  isOwn(): boolean {
    return true;
  }

  statsOf(partition: PartitionKey): PartitionStats | undefined {
    return this.own().stats(partition);
  }

  progressOf(): GroupProgress {
    return {
      isInFlight: (partition, groupId) => this.own().isGroupInFlight(partition, groupId),
    };
  }

  deletableThrough(partition: PartitionKey, segmentsCount: number): DeletableThrough {
    return deletableThrough(this.own(), partition, segmentsCount);
  }

  retireSessions(sessions: readonly EndedSession[]): Promise<void> {
    return this.own().retireSessions(sessions);
  }

  committed(): void {
    // Nobody follows.
  }

  counted(): void {
    // Whoever wants the figures asks the partition.
  }

  connections(): Promise<[]> {
    return Promise.resolve([]);
  }

  heardSessions(): Promise<[]> {
    return Promise.resolve([]);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  startPartitions(): Promise<void> {
    return Promise.resolve();
  }

  async pin(): Promise<void> {
    this.unpin = await this.pinSelf?.();
  }

  drain(): void {
    // The node drains itself.
  }

  requestsInFlight(): Promise<number> {
    return Promise.resolve(0);
  }

  endConnections(): void {
    // The node has them all.
  }

  closePartitions(): Promise<void> {
    return Promise.resolve();
  }

  closeConnections(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.unpin?.();
    return Promise.resolve();
  }
}

/** What a partition of this shard says about the deletion of so many segments. */
export function deletableThrough(
  own: PartitionPlane,
  partition: PartitionKey,
  segmentsCount: number,
): DeletableThrough {
  const resolution = own.resolveSegments(partition, partition.incarnation, segmentsCount);
  return resolution.kind === "truncate" ? resolution.throughOffset : "unavailable";
}
