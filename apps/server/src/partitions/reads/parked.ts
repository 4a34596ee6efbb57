import type { SessionParking } from "../environment.js";
import type { PartitionShard } from "../shard.js";
import type { Wait } from "../waits.js";

/** The place of a read that waits: one of the shard's slots, one of its session's, and the end of its wait. */
export class ParkingPlace {
  private readonly shard: PartitionShard;
  private readonly client: bigint;
  private readonly sessions: SessionParking | undefined;
  private readonly deadline: Wait;
  private isHeld = true;

  private constructor(shard: PartitionShard, client: bigint, sessions: SessionParking | undefined, deadline: Wait) {
    this.shard = shard;
    this.client = client;
    this.sessions = sessions;
    this.deadline = deadline;
  }

  /**
   * Undefined when the shard or the session has as many waiting reads as it may have. A part of a read that waits on several
   * shards does not count for the session: the whole does, where it came in.
   */
  static take(
    shard: PartitionShard,
    client: bigint,
    isPart: boolean,
    dueMillis: number,
    expire: () => void,
  ): ParkingPlace | undefined {
    const sessions = isPart ? undefined : shard.environment.sessionParking;
    if (!shard.parking.take(client)) return undefined;
    if (sessions?.take(client) === false) {
      shard.parking.release(client);
      return undefined;
    }
    return new ParkingPlace(shard, client, sessions, shard.waits.at(dueMillis, expire));
  }

  leave(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.shard.parking.release(this.client);
    this.sessions?.release(this.client);
    this.shard.waits.cancel(this.deadline);
  }
}
