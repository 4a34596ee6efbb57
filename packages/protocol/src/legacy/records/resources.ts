import { checked, headed, name, struct, u32, u64, u8, type ValueOf } from "../../codec/index.js";
import { topic } from "../../commands/records/topic.js";
import { userStatus } from "../../commands/records/user.js";
import { CompressionAlgorithm } from "../../enums/index.js";
import { optionsPrefixed, partitionContext, permissions } from "../../primitives/index.js";
import { optionalPrefixedPadded } from "../../primitives/presence.js";

/**
 * A stream of 0.11: one option block.
 *
 *   id u32 · created_at u64 · topics_count u32 · size_bytes u64 · messages_count u64 · name · options [u32][block]
 */
export const legacyStream = struct("stream of 0.11", {
  id: u32,
  createdAt: u64,
  topicsCount: u32,
  sizeBytes: u64,
  messagesCount: u64,
  name,
  options: optionsPrefixed,
});
export type LegacyStream = ValueOf<typeof legacyStream>;

/**
 * A topic of 0.11: the effective values of three options stand in front of its counters. Expiry is µs, 2^64 - 1 for
 * never; a size of 2^64 - 1 means unlimited. A reader refuses any compression but 1 (none) and 2 (gzip).
 *
 *    0  id                    u32      25  max_topic_size  u64
 *    4  created_at            u64      33  size_bytes      u64
 *   12  partitions_count      u32      41  messages_count  u64
 *   16  message_expiry        u64      49  name            name
 *   24  compression_algorithm u8        …  options         [u32][block]
 *                                       …  derived_options [u32][block]
 */
const topicLayout = struct("topic of 0.11", {
  id: u32,
  createdAt: u64,
  partitionsCount: u32,
  messageExpiry: u64,
  compressionAlgorithm: u8,
  maxTopicSize: u64,
  sizeBytes: u64,
  messagesCount: u64,
  name,
  options: optionsPrefixed,
  derivedOptions: optionsPrefixed,
});

const compressionCodes: readonly number[] = Object.values(CompressionAlgorithm);

export const legacyTopic = checked(
  topicLayout,
  ({ compressionAlgorithm: code }) =>
    compressionCodes.includes(code) ? undefined : `${String(code)} is no compression algorithm`,
  (s) => ({ ...topicLayout.sample(s), compressionAlgorithm: CompressionAlgorithm.gzip }),
);
export type LegacyTopic = ValueOf<typeof legacyTopic>;

const partitionFields = {
  id: u32,
  createdAt: u64,
  segmentsCount: u32,
  currentOffset: u64,
  sizeBytes: u64,
  messagesCount: u64,
} as const;

/** A partition of 0.11, 40 bytes. */
export const legacyPartition = struct("partition of 0.11", partitionFields);
export type LegacyPartition = ValueOf<typeof legacyPartition>;

/** A partition of 0.12.0 and 0.12.1: the same and its context, 64 bytes. */
export const partition0120 = struct("partition of 0.12.0", { ...partitionFields, context: partitionContext });

export const legacyTopicDetails = headed(
  "topic details of 0.11",
  "topic",
  legacyTopic,
  "partitionsCount",
  "partitions",
  legacyPartition,
);
export type LegacyTopicDetails = ValueOf<typeof legacyTopicDetails>;

/** Topic details of 0.12.0 and 0.12.1: the topic of 0.12.2 without node lists behind its partitions. */
export const topicDetails0120 = headed(
  "topic details of 0.12.0",
  "topic",
  topic,
  "partitionsCount",
  "partitions",
  partition0120,
);

export const legacyStreamDetails = headed(
  "stream details of 0.11",
  "stream",
  legacyStream,
  "topicsCount",
  "topics",
  legacyTopic,
);
export type LegacyStreamDetails = ValueOf<typeof legacyStreamDetails>;

/** A user of 0.11: one option block. `id u32 · created_at u64 · status u8 · username · options [u32][block]` */
export const legacyUser = struct("user of 0.11", {
  id: u32,
  createdAt: u64,
  status: userStatus,
  username: name,
  options: optionsPrefixed,
});
export type LegacyUser = ValueOf<typeof legacyUser>;

export const legacyUserDetails = struct("user details of 0.11", {
  user: legacyUser,
  permissions: optionalPrefixedPadded(permissions),
});
export type LegacyUserDetails = ValueOf<typeof legacyUserDetails>;
