import { ErrorCode } from "@iggy/protocol";
import type { FetchCommand, PartitionRequests } from "../partitions/index.js";
import type { ClientRequest } from "../request.js";
import type { Calls } from "./calls.js";
import type { Mesh } from "./lanes/mesh.js";
import type { Placement } from "./placement.js";

export interface SpreadFetchesDeps {
  readonly mesh: Mesh;
  readonly calls: Calls;
  readonly placement: Placement;
  readonly own: PartitionRequests;
  readonly appliedOp: () => number;
}

/** Fetches whose partitions belong to several shards. */
export class SpreadFetches {
  constructor(_deps: SpreadFetchesDeps) {
    // Being built.
  }

  start(request: ClientRequest, _command: FetchCommand): void {
    request.deny(ErrorCode.TransientNotAccepted);
  }
}
