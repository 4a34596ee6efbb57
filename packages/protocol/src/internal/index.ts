export {
  type CreatePartitionsWithAssignments,
  createPartitionsWithAssignments,
  type CreateTopicWithAssignments,
  createTopicWithAssignments,
  memberLists,
  type PartitionAssignment,
  partitionAssignmentRecord,
} from "./assignments.js";
export * from "./groups.js";
export * from "./owners.js";
export * from "./personal-access-tokens.js";
export * from "./prepared-offsets.js";
export * from "./resolved-updates.js";
export * from "./rewrap-stream-keys.js";
export * from "./sessions.js";
export * from "./truncate-partition.js";
