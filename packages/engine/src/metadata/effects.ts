import type { GroupOwner } from "./state/owner.js";
import type { TopicSettings } from "./state/topic-settings.js";

/** Names one partition history: ids are used again, the incarnation is not. */
export interface PartitionKey {
  readonly streamId: number;
  readonly topicId: number;
  readonly partitionId: number;
  /** Metadata op that created the partition. */
  readonly incarnation: number;
}

/** Why a session ended. */
export type SessionEndReason = "logout" | "expired" | "revoked";

/** What an applied operation changed outside the metadata, for the node to carry out. */
export type MetadataEffect =
  | ({
      readonly kind: "partition-created";
      readonly view: number;
      /** Node ids that store it; empty = every node. */
      readonly members: readonly number[];
      readonly settings: TopicSettings;
    } & PartitionKey)
  /** The history is over: fence it, then remove its files. */
  | ({ readonly kind: "partition-deleted" } & PartitionKey)
  /** Sealed segments that end at or below the offset may go. */
  | ({ readonly kind: "partition-truncated"; readonly throughOffset: number } & PartitionKey)
  /** To be installed in the partition's log; only then may the owner commit for the group. */
  | ({ readonly kind: "owner-decided"; readonly groupId: number; readonly owner: GroupOwner } & PartitionKey)
  /** Every group id below `nextGroupId` that is not listed is gone for good, and its offsets in all partitions with it. */
  | {
      readonly kind: "groups-retired";
      readonly streamId: number;
      readonly topicId: number;
      readonly liveGroupIds: readonly number[];
      readonly nextGroupId: number;
    }
  | {
      readonly kind: "topic-settings-changed";
      readonly streamId: number;
      readonly topicId: number;
      readonly settings: TopicSettings;
    }
  | {
      readonly kind: "session-registered";
      readonly clientId: bigint;
      readonly session: number;
      readonly userId: number;
    }
  /** Unbind its connections, and retire its receipts in every partition. */
  | {
      readonly kind: "session-ended";
      readonly clientId: bigint;
      readonly session: number;
      readonly userId: number;
      readonly reason: SessionEndReason;
    };
