export { describeAddress, type PartitionAddress } from "./address.js";
export type {
  DeleteOffsetCommand,
  FetchCommand,
  FetchTarget,
  GetOffsetCommand,
  OffsetKey,
  PollCommand,
  ReadWait,
  SendCommand,
  StoreOffsetCommand,
} from "./commands.js";
export type {
  CountedPartition,
  GroupOwnerDecision,
  PartitionCatalog,
  PartitionDescription,
  PartitionEnvironment,
  PartitionEvents,
  PartitionLimits,
  PartitionLog,
  SessionParking,
  Timers,
  TopicPolicy,
} from "./environment.js";
export type { TopicChange } from "./lifecycle/partition-table.js";
export type { OpenedRecords, PartitionCipher } from "./partition-cipher.js";
export { openPartitionPlane, type PartitionPlaneOptions } from "./local-plane.js";
export { type FetchProbe, readFetchProbe } from "./reads/probe-reply.js";
export type {
  EndedSession,
  PartitionPlane,
  PartitionRequests,
  PartitionRouteFact,
  PartitionStats,
  PartitionTotals,
  SegmentResolution,
} from "./plane.js";
