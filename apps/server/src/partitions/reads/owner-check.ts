import type { Caller, OffsetKey, PartitionMachine } from "@iggy/engine";
import { ErrorCode } from "@iggy/protocol";
import type { GroupOwnerDecision } from "../environment.js";

/** Whether a reader may read for its consumer, and under which owner generation. */
export type OwnerCheck =
  | { readonly kind: "allowed"; readonly generation: number }
  /** Metadata has decided for the caller; the partition's log has not installed it yet. */
  | { readonly kind: "installing" }
  | { readonly kind: "refused"; readonly code: number };

const installing: OwnerCheck = { kind: "installing" };
const notOwned: OwnerCheck = { kind: "refused", code: ErrorCode.ConsumerGroupPartitionNotOwned };
const plain: OwnerCheck = { kind: "allowed", generation: 0 };

/**
 * A group's reader must be the owner that the log installed and still the one that metadata wants: a member that has to
 * give the partition up may commit, but no longer read. `generation` 0 binds to the installed owner, whichever it is.
 */
export function checkOwner(
  machine: PartitionMachine,
  decision: GroupOwnerDecision | undefined,
  key: OffsetKey,
  caller: Caller,
  generation: number,
): OwnerCheck {
  if (key.kind !== "consumer_group") return generation === 0 ? plain : notOwned;
  const isDecided = isCaller(decision, caller);
  if (!isDecided || decision.revoking) return notOwned;
  const owner = machine.owner(key.id);
  if (isCaller(owner, caller) && (generation === 0 || generation === owner.generation)) {
    // The caller was decided anew, as after leaving and joining: what it asks for now is the new ownership.
    if (generation === 0 && owner.generation < decision.generation) return installing;
    return { kind: "allowed", generation: owner.generation };
  }
  const isNewer = (owner?.generation ?? 0) < decision.generation;
  return isNewer && (generation === 0 || generation === decision.generation) ? installing : notOwned;
}

/** The same for a write of the group's offset: a member that has to give the partition up may still commit. */
export function isInstallPending(
  machine: PartitionMachine,
  decision: GroupOwnerDecision | undefined,
  key: OffsetKey,
  caller: Caller,
  generation: number,
): boolean {
  if (key.kind !== "consumer_group" || machine.ownerFence(key, caller, generation) === 0) return false;
  if (!isCaller(decision, caller)) return false;
  const installed = machine.owner(key.id)?.generation ?? 0;
  return installed < decision.generation && (generation === 0 || generation === decision.generation);
}

function isCaller<T extends Caller>(owner: T | undefined, caller: Caller): owner is T {
  return owner !== undefined && owner.client === caller.client && owner.session === caller.session;
}
