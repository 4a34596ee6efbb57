import { exactly, list, struct, u128, u32, u64, type ValueOf } from "../codec/index.js";
import { identifier } from "../primitives/index.js";

/** Drops a client from every group: `[client_id u128]` */
export const removeConsumerGroupMember = exactly(struct("RemoveConsumerGroupMember", { clientId: u128 }));
export type RemoveConsumerGroupMember = ValueOf<typeof removeConsumerGroupMember>;

/**
 * Ends the handover of one partition. A handover that is gone makes it do nothing.
 *
 *   stream_id · topic_id · group_id u64 · source_client_id u128 · partition_id u32
 */
export const completeConsumerGroupRevocation = exactly(
  struct("CompleteConsumerGroupRevocation", {
    streamId: identifier,
    topicId: identifier,
    groupId: u64,
    sourceClientId: u128,
    partitionId: u32,
  }),
);
export type CompleteConsumerGroupRevocation = ValueOf<typeof completeConsumerGroupRevocation>;

const member = { streamId: identifier, topicId: identifier, groupId: identifier, clientId: u128 } as const;

/**
 * A join as the log holds it: with the client, and the partitions that hold polled messages which nobody committed.
 *
 *   stream_id · topic_id · group_id · client_id u128 · in_flight [u32 count][partition id u32 × count]
 */
export const preparedJoinConsumerGroup = exactly(
  struct("prepared JoinConsumerGroup", { ...member, inFlightPartitionIds: list(u32, u32) }),
);
export type PreparedJoinConsumerGroup = ValueOf<typeof preparedJoinConsumerGroup>;

/** A leave as the log holds it: stream_id · topic_id · group_id · client_id u128 */
export const preparedLeaveConsumerGroup = exactly(struct("prepared LeaveConsumerGroup", member));
export type PreparedLeaveConsumerGroup = ValueOf<typeof preparedLeaveConsumerGroup>;
