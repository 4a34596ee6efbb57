import type { JsonObject, PartitionContext } from "@iggy/protocol";
import type { Members } from "../members.js";

export const contextOf = (context: Members): PartitionContext => ({
  incarnation: context.u64("incarnation"),
  ownerGeneration: context.u64("owner_generation"),
  metadataOp: context.u64("metadata_op"),
});

export const contextJson = (context: PartitionContext): JsonObject => ({
  incarnation: context.incarnation,
  owner_generation: context.ownerGeneration,
  metadata_op: context.metadataOp,
});
