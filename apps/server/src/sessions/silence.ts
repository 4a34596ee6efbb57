import { EvictionReason } from "@iggy/protocol";
import type { Connection } from "../net/connection.js";
import { evictConnection } from "../net/evict.js";
import type { Clock } from "../request.js";
import type { ConnectionTable } from "./connection-table.js";
import type { SessionLeases } from "./lease.js";

/** A silent connection ends after this many heartbeat intervals, and so does a session that is silent on all of its own. */
const LEASE_INTERVALS = 1.2;

/** Listens to the connections of a shard, and ends those that have been silent for too long. */
export class Silence {
  readonly leaseMillis: number;
  private readonly connections: ConnectionTable;
  private readonly leases: SessionLeases;
  private readonly clock: Clock;
  private listenedMillis: number;

  constructor(connections: ConnectionTable, leases: SessionLeases, clock: Clock, heartbeatMillis: number) {
    this.connections = connections;
    this.leases = leases;
    this.clock = clock;
    this.leaseMillis = LEASE_INTERVALS * heartbeatMillis;
    this.listenedMillis = clock.monotonicMillis();
  }

  /** False when the process stood still for so long that what was said meanwhile is yet to be read. */
  endSilentConnections(): boolean {
    const now = this.clock.monotonicMillis();
    const hasSlept = now - this.listenedMillis > this.leaseMillis;
    this.listenedMillis = now;
    if (hasSlept) return false;
    for (const connection of [...this.connections.all()]) {
      this.leases.heardOn(connection);
      if (now - connection.heardMillis > this.leaseMillis) endStale(connection);
    }
    return true;
  }
}

/** Its peer may be long gone. The session of the connection may live on elsewhere. */
function endStale(connection: Connection): void {
  if (connection.binding === undefined) connection.end();
  else evictConnection(connection, connection.binding.client, EvictionReason.StaleClient);
}
