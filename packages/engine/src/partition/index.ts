export { type BatchFacts, readBatchFacts } from "./batch-facts.js";
export { type Deadline, DeadlineQueue } from "./deadlines.js";
export type { InstalledOwner } from "./group-owners.js";
export {
  type Admission,
  type Applied,
  type Caller,
  type CallerRequest,
  type CommitOnRead,
  type CommitOnReadDecision,
  type MachineLimits,
  type PartitionFacts,
  PartitionMachine,
} from "./machine.js";
export type { OffsetChange, OffsetKey } from "./offsets.js";
export {
  encodeGroupRetirement,
  encodeHistoryEnd,
  encodeOffsetWrite,
  encodeOwner,
  encodeSessionRetirement,
  type GroupRetirement,
  type OffsetWrite,
  type OwnerInstallation,
  type SessionRetirement,
} from "./operations.js";
export { ParkingSlots } from "./parking-slots.js";
export { type PollStart, resolveStart, type StartFacts } from "./poll-start.js";
export { commitOnReadClient, CorruptHistoryError, type PartitionPrepare, serverClient } from "./prepare.js";
export type { WrittenBatch } from "./producers.js";
export { sendReply } from "./replies.js";
export {
  planRetention,
  resolveSegmentCount,
  type RetainedSegment,
  type RetentionPlan,
  type RetentionRules,
  SEGMENTS_PER_PASS,
  sizeBudget,
} from "./retention.js";
export { type Watch, WatchList } from "./watches.js";
export type { Receipt } from "./writers.js";
