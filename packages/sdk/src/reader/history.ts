import type { PartitionContext } from "@iggy/protocol";
import type { Checkpoint } from "../values/position.js";

export const sameHistory = (a: PartitionContext, b: PartitionContext): boolean =>
  a.incarnation === b.incarnation && a.ownerGeneration === b.ownerGeneration;

/** Whether a position lies at or behind another one of the same history. */
export const isBehind = (position: Checkpoint, other: Checkpoint): boolean =>
  sameHistory(position.context, other.context) && position.offset <= other.offset;

/** Whether a position belongs to a history that another one has replaced. */
export function isOutdated({ context: old }: Checkpoint, { context: known }: Checkpoint): boolean {
  if (old.incarnation !== known.incarnation) return old.incarnation < known.incarnation;
  return old.ownerGeneration < known.ownerGeneration;
}
