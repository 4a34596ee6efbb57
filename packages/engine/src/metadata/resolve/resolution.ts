import type { GroupProgress } from "../housekeeping.js";
import type { PartitionPlacement } from "../apply/partition-changes.js";
import type { PartitionKey } from "../effects.js";
import type { Secrets } from "../login/secrets.js";

/** An operation as a client sent it, with the identity that its connection is bound to. */
export interface ClientRequest {
  readonly operation: number;
  readonly client: bigint;
  readonly userId: number;
  readonly body: Uint8Array;
}

export type Resolution =
  | {
      readonly kind: "propose";
      /** Operation that the log will hold; a retry is still known by the client's own. */
      readonly operation: number;
      readonly body: Uint8Array;
      /** Payload of the reply to this node's client when it succeeds, in place of the applied one. Never stored. */
      readonly payloadOverride?: Uint8Array;
    }
  /** Refused before it is ordered: answered as a status, and not remembered. */
  | { readonly kind: "deny"; readonly code: number };

/** Puts new partitions on nodes. Its outcome goes into the log, so it may depend on anything. */
export interface Placement {
  place(count: number, replicationFactor: number): readonly PartitionPlacement[];
}

/** Every node stores every partition and the first one starts as primary: the placement of a roster of one. */
export const everyNode: Placement = {
  place: (count) => Array.from({ length: count }, () => ({ initialView: 0, members: [] })),
};

/** What an operation needs from outside the metadata before it can be ordered. */
export interface ResolveInputs {
  readonly secrets: Secrets;
  readonly placement: Placement;
  /** What a group was served in these partitions, at a moment after the request came. */
  progressOf(partitions: readonly PartitionKey[], groupId: number): GroupProgress | Promise<GroupProgress>;
  /**
   * Last offset of the oldest `segmentsCount` sealed segments that may go, undefined when none may, or "unavailable"
   * while the partition can't tell.
   */
  deletableThrough(partition: PartitionKey, segmentsCount: number): DeletableThrough | Promise<DeletableThrough>;
}

export type DeletableThrough = number | undefined | "unavailable";
