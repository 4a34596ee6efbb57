import type { Calls } from "./calls.js";
import { closePartitions, deletableThrough, inFlight, retireSessions } from "./shard-calls.js";
import { deletableThrough as resolveHere } from "./sole-shard.js";
import type { PartitionPlane } from "../partitions/index.js";

/** Does for other shards what only the owner of a partition can do. */
export function servePartitions(calls: Calls, own: PartitionPlane): void {
  calls.serve(inFlight, (groups) => groups.map(({ address, groupId }) => own.isGroupInFlight(address, groupId)));
  calls.serve(deletableThrough, ({ address, incarnation, segmentsCount }) => {
    const through = resolveHere(own, { ...address, incarnation }, segmentsCount);
    return through === "unavailable"
      ? { isKnown: false, throughOffset: null }
      : { isKnown: true, throughOffset: through ?? null };
  });
  calls.serve(retireSessions, async (sessions) => {
    await own.retireSessions(sessions);
    return {};
  });
  calls.serve(closePartitions, async () => {
    await own.close();
    return {};
  });
}
