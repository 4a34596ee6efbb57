import { struct, u64, type ValueOf } from "../codec/index.js";

/**
 * The three fences of a partition request. `incarnation` is the metadata revision that created the partition and
 * changes when an id is reused; `ownerGeneration` is that of the installed group owner, 0 without a group;
 * `metadataOp` is the applied metadata op of the answering node.
 *
 * `[incarnation u64][owner_generation u64][metadata_op u64]`, 24 bytes
 */
export const partitionContext = struct("partition context", {
  incarnation: u64,
  ownerGeneration: u64,
  metadataOp: u64,
});
export type PartitionContext = ValueOf<typeof partitionContext>;
