import { checked, list, struct, u32, u64, type ValueOf } from "../codec/index.js";

// Keys carry the op or time of creation beside the id: ids are used again, keys are not.

/** `[stream_id u32][stream_created_op u64]` */
export const streamKey = struct("stream key", { streamId: u32, streamCreatedOp: u64 });
export type StreamKey = ValueOf<typeof streamKey>;

/** `[stream key][topic_id u32][topic_created_op u64]`, 24 bytes */
export const topicKey = struct("topic key", { stream: streamKey, topicId: u32, topicCreatedOp: u64 });
export type TopicKey = ValueOf<typeof topicKey>;

/** `[user_id u32][user_created_at u64]` */
export const userKey = struct("user key", { userId: u32, userCreatedAt: u64 });
export type UserKey = ValueOf<typeof userKey>;

/** `[count u32][id u32 × count]`, strictly ascending */
export const ascendingIds = checked(
  list(u32, u32),
  (ids) => (ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? 0)) ? undefined : "ids are not strictly ascending"),
  (s) => Array.from({ length: s.integer(3) }, (_, index) => index * 5 + s.integer(4)),
);
