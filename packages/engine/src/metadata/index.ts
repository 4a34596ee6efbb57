export { type AccessToken, type User } from "./state/accounts.js";
export type { PartitionPlacement } from "./apply/partition-changes.js";
export { bindVerifier } from "./login/bind.js";
export { bootstrap } from "./bootstrap.js";
export { defaultMetadataConfig, type MetadataConfig } from "./config.js";
export type { ConsumerGroup, Member } from "./state/consumer-group.js";
export type { MetadataEffect, PartitionKey, SessionEndReason } from "./effects.js";
export { type GroupProgress, type Handover, type ServerOperation, streamKeyRewrap } from "./housekeeping.js";
export {
  type Account,
  type Authentication,
  loginEviction,
  type LoginRefusal,
  type Registration,
  registration,
  registrationEviction,
} from "./login/login.js";
export { type GroupMembership, MetadataMachine, type MetadataTotals, type ReadResult } from "./machine.js";
export type { GroupOwner } from "./state/owner.js";
export { noStats, type PartitionCounters, type PartitionStats } from "./replies/partition-stats.js";
export type { MetadataApplied, MetadataPrepare } from "./prepare.js";
export { Refusal } from "./refusal.js";
export type { RequestCheck, RequestIdentity, StoredReply } from "./request-check.js";
export {
  type ClientRequest,
  type DeletableThrough,
  everyNode,
  type Placement,
  type Resolution,
  type ResolveInputs,
} from "./resolve/resolution.js";
export type { Partition, Stream, Topic } from "./state/resources.js";
export { type Secrets, type StreamKeys, tokenHash } from "./login/secrets.js";
export type { Session } from "./state/session.js";
export { SNAPSHOT_FORMAT } from "./snapshot/layout.js";
export type { StreamEncryption } from "./state/stream-encryption.js";
export type { Durability, TopicSettings } from "./state/topic-settings.js";
