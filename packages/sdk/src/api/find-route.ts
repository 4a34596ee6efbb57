import { ErrorCode, getPartitionRoute } from "@iggy/protocol";
import type { Call } from "../calls/call.js";
import { refusalOf, timeoutOf } from "../calls/call-errors.js";
import { Scope, ScopeEnded } from "../calls/scope.js";
import type { PartitionRoutes } from "../routing/partition-routes.js";
import type { Route } from "../routing/route-cache.js";
import type { PartitionName } from "../routing/spelling.js";
import { milliseconds } from "../values/duration.js";
import { type CallOptions, defaultTimeoutMs } from "./caller.js";

/** The route of a partition, within the time of a call. */
export async function findRoute(
  routes: PartitionRoutes,
  partition: PartitionName,
  options: CallOptions,
): Promise<Route> {
  const timeoutMs = milliseconds("timeout", options.timeout ?? defaultTimeoutMs, 0, Infinity);
  const call: Call = {
    command: getPartitionRoute,
    effect: "read",
    target: { kind: "partition", partition },
    frame: new Uint8Array(0),
    about: {
      streamId: partition.streamId.value,
      topicId: partition.topicId.value,
      partitionId: partition.partitionId,
    },
    timeoutMs,
  };
  const scope = new Scope(timeoutMs, options.signal);
  try {
    const found = await routes.findInTime(partition, scope);
    if (found.kind === "refused") throw refusalOf(call, found.code);
    return found.route;
  } catch (error) {
    if (!(error instanceof ScopeEnded)) throw error;
    options.signal?.throwIfAborted();
    throw timeoutOf(call, ErrorCode.TransientNotAccepted);
  } finally {
    scope.dispose();
  }
}
