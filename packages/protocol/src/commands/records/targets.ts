import { struct, type ValueOf } from "../../codec/index.js";
import { consumer, identifier } from "../../primitives/index.js";
import { optionalPartition } from "../../primitives/partition-choice.js";

/** `[stream_id identifier]` */
export const streamTarget = struct("stream target", { streamId: identifier });
export type StreamTarget = ValueOf<typeof streamTarget>;

/** `[stream_id identifier][topic_id identifier]` */
export const topicTarget = struct("topic target", { streamId: identifier, topicId: identifier });
export type TopicTarget = ValueOf<typeof topicTarget>;

/** `[stream_id identifier][topic_id identifier][group_id identifier]` */
export const groupTarget = struct("group target", { streamId: identifier, topicId: identifier, groupId: identifier });
export type GroupTarget = ValueOf<typeof groupTarget>;

/** `[user_id identifier]` */
export const userTarget = struct("user target", { userId: identifier });
export type UserTarget = ValueOf<typeof userTarget>;

/** Shared fields of the offset commands and polls: who reads, and which partition. */
export const consumerTargetFields = {
  consumer,
  streamId: identifier,
  topicId: identifier,
  partitionId: optionalPartition,
} as const;
