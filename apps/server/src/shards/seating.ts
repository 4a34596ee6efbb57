import type { Seating } from "../net/ring-tcp-listener.js";
import { type Mesh } from "./lanes/mesh.js";
import { MainKind } from "./messages/kinds.js";

const CONNECTION_BYTES = 8;

export interface ConnectionSeatsDeps {
  readonly mesh: Mesh;
  /** The shard that accepts leaves connections to the others. */
  readonly skipsOwn: boolean;
  readonly log: { warn(fields: object, message: string): void };
}

/**
 * Deals accepted sockets out to the shards in turn. A descriptor is a number that the whole process knows: it belongs to
 * the shard that it was sent to once its record is in the lane, and to this one before.
 */
export class ConnectionSeats {
  private readonly deps: ConnectionSeatsDeps;
  private readonly shards: number[];
  private turn = 0;

  constructor(deps: ConnectionSeatsDeps) {
    const { mesh, skipsOwn } = deps;
    this.deps = deps;
    this.shards = [...(skipsOwn ? [] : [mesh.shard]), ...mesh.others];
  }

  /** Sends the socket to the next shard that has room in its lane. */
  seat(descriptor: number): Seating {
    const { mesh, log } = this.deps;
    for (let tried = 0; tried < this.shards.length; tried++) {
      const shard = this.shards[this.turn++ % this.shards.length] ?? mesh.shard;
      if (shard === mesh.shard) return "here";
      const outbox = mesh.main(shard);
      const record = outbox.offer(CONNECTION_BYTES);
      if (record === undefined) continue;
      record.u8(MainKind.connection);
      record.u32(descriptor);
      outbox.commit();
      return "elsewhere";
    }
    log.warn({}, "a connection was closed: every shard is too far behind to take it");
    return "refused";
  }

  /** A shard ended: it gets no more. */
  remove(shard: number): void {
    const at = this.shards.indexOf(shard);
    if (at !== -1) this.shards.splice(at, 1);
  }
}
