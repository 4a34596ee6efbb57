import type { JsonObject, PartitionContext } from "@iggy/protocol";
import { mapped, object } from "./compounds.js";
import { u64 } from "./scalars.js";
import type { Shape } from "./shape.js";

/** The fences of a partition request, as a client got them from an answer and sends them back. */
export const partitionContextShape: Shape<PartitionContext> = mapped(
  object({ incarnation: u64, owner_generation: u64, metadata_op: u64 }),
  (context) => ({
    incarnation: context.incarnation,
    ownerGeneration: context.owner_generation,
    metadataOp: context.metadata_op,
  }),
);

export const partitionContextJson = (context: PartitionContext): JsonObject => ({
  incarnation: context.incarnation,
  owner_generation: context.ownerGeneration,
  metadata_op: context.metadataOp,
});
