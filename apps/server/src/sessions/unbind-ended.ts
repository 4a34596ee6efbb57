import type { MetadataEffect } from "@iggy/engine";
import { ErrorCode } from "@iggy/protocol";
import type { ConnectionTable } from "./connection-table.js";
import type { SessionLeases } from "./lease.js";

/** Unbinds the connections of sessions that ended, and ends the reads that wait there. */
export function unbindEnded(
  effects: readonly MetadataEffect[],
  connections: ConnectionTable,
  leases: SessionLeases,
): void {
  for (const effect of effects) {
    if (effect.kind !== "session-ended") continue;
    for (const connection of connections.boundTo(effect.clientId)) {
      connections.unbind(connection);
      connection.endWaiting(ErrorCode.StaleClient);
    }
    leases.forget(effect.clientId);
  }
}
