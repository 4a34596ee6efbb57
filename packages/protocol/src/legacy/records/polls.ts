import { codeOf, looseBool, restBytes, struct, u32, u64, u8, type ValueOf } from "../../codec/index.js";
import { identifier, pollingStrategy } from "../../primitives/index.js";
import { optionalPartition } from "../../primitives/partition-choice.js";

/** A consumer of 0.11: external groups are new since then. */
const legacyConsumer = struct("consumer of 0.11", {
  kind: codeOf("consumer kind", u8, { consumer: 1, consumer_group: 2 }),
  id: identifier,
});

/** Who reads, and which partition: the body of GetConsumerOffset. */
export const legacyConsumerTarget = struct("consumer target of 0.11", {
  consumer: legacyConsumer,
  streamId: identifier,
  topicId: identifier,
  partitionId: optionalPartition,
});

/** The body of PollMessages, which 103 and 104 take too. */
export const legacyPollRequest = struct("poll of 0.11", {
  consumer: legacyConsumer,
  streamId: identifier,
  topicId: identifier,
  partitionId: optionalPartition,
  strategy: pollingStrategy,
  count: u32,
  autoCommit: looseBool,
});
export type LegacyPollRequest = ValueOf<typeof legacyPollRequest>;

/**
 * A poll reply of 0.11: no context. Batches in it must not hold a producer section.
 *
 *    0  partition_id u32 · 4 current_offset u64 · 12 messages_count u32
 *   16  records      to end
 */
export const legacyPollReply = struct("poll reply of 0.11", {
  partitionId: u32,
  currentOffset: u64,
  messagesCount: u32,
  records: restBytes,
});
export type LegacyPollReply = ValueOf<typeof legacyPollReply>;
