import type { PartitionShard } from "../shard.js";
import type { Wait } from "../waits.js";

/** The place of a read that waits: one of the shard's slots, and the end of its wait. */
export class ParkingPlace {
  private readonly shard: PartitionShard;
  private readonly client: bigint;
  private readonly deadline: Wait;
  private isHeld = true;

  private constructor(shard: PartitionShard, client: bigint, deadline: Wait) {
    this.shard = shard;
    this.client = client;
    this.deadline = deadline;
  }

  /** Undefined when the shard or the client has as many waiting reads as it may have. */
  static take(shard: PartitionShard, client: bigint, dueMillis: number, expire: () => void): ParkingPlace | undefined {
    if (!shard.parking.take(client)) return undefined;
    return new ParkingPlace(shard, client, shard.waits.at(dueMillis, expire));
  }

  leave(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.shard.parking.release(this.client);
    this.shard.waits.cancel(this.deadline);
  }
}
