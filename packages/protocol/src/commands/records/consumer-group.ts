import { headed, list, mapped, name, struct, u32, type ValueOf } from "../../codec/index.js";

/**
 * A consumer group. `partitionsCount` is that of the topic.
 *
 *    0  id               u32
 *    4  partitions_count u32
 *    8  members_count    u32
 *   12  name             name
 */
export const consumerGroup = struct("consumer group", {
  id: u32,
  partitionsCount: u32,
  membersCount: u32,
  name,
});
export type ConsumerGroup = ValueOf<typeof consumerGroup>;

export interface ConsumerGroupMember {
  /** Slot of the member, the lowest free one. */
  readonly id: number;
  readonly partitionsCount: number;
  readonly partitions: readonly number[];
}

/** `[id u32][partitions_count u32][partition_id u32 × count]` */
export const consumerGroupMember = mapped(
  struct("group member", { id: u32, partitions: list(u32, u32) }),
  ({ id, partitions }): ConsumerGroupMember => ({ id, partitionsCount: partitions.length, partitions }),
  ({ id, partitions }) => ({ id, partitions }),
);

/** A group, then its members. */
export const consumerGroupDetails = headed(
  "consumer group details",
  "group",
  consumerGroup,
  "membersCount",
  "members",
  consumerGroupMember,
);
export type ConsumerGroupDetails = ValueOf<typeof consumerGroupDetails>;
