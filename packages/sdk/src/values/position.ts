import type { PartitionContext } from "@iggy/protocol";

/**
 * The fences of a partition history: `incarnation` changes when a partition is deleted and created again,
 * `ownerGeneration` when a group gives it to another member (0 without a group).
 */
export type { PartitionContext } from "@iggy/protocol";

/**
 * A position to commit: one delivered message and the history it came from. It stays valid for that history only.
 * `JSON.stringify` shows it; there is no way back.
 */
export class Checkpoint {
  readonly partitionId: number;
  readonly offset: bigint;
  readonly context: PartitionContext;

  constructor(partitionId: number, offset: bigint, context: PartitionContext) {
    this.partitionId = partitionId;
    this.offset = offset;
    this.context = context;
  }

  toJSON(): Record<string, unknown> {
    return {
      partitionId: this.partitionId,
      offset: String(this.offset),
      context: contextJson(this.context),
    };
  }
}

export const contextJson = (context: PartitionContext): Record<string, string> => ({
  incarnation: String(context.incarnation),
  ownerGeneration: String(context.ownerGeneration),
  metadataOp: String(context.metadataOp),
});

/** Whether a served read named no history at all, as a node does that could not serve it. */
export const isZeroContext = (context: PartitionContext): boolean =>
  context.incarnation === 0n && context.ownerGeneration === 0n && context.metadataOp === 0n;
