import {
  createStream,
  createTopic,
  type MessageInput,
  numericId,
  type OptionEntry,
  optionString,
  optionU32,
  optionU64,
} from "@iggy/protocol";
import { RawPartition } from "./partition.js";
import type { RawSession } from "./session.js";

export interface TopicOptions {
  readonly partitions?: number;
  readonly options?: readonly OptionEntry[];
}

export interface RawTopic {
  readonly streamId: number;
  readonly topicId: number;
  readonly partitions: readonly RawPartition[];
}

let names = 0;

/** A name that no other resource of this test file has. */
export const freshName = (kind: string): string => `${kind}-${++names}`;

/** A stream of its own with one topic, and the routes to its partitions. */
export async function freshTopic(
  session: RawSession,
  { partitions = 1, options = [] }: TopicOptions = {},
): Promise<RawTopic> {
  const stream = await session.call(createStream, { name: freshName("stream"), options: [] });
  const { topic } = await session.call(createTopic, {
    streamId: numericId(stream.id),
    partitionsCount: partitions,
    name: freshName("topic"),
    options,
  });
  const routes: RawPartition[] = [];
  for (let partitionId = 0; partitionId < partitions; partitionId++) {
    routes.push(await RawPartition.of(session, numericId(stream.id), numericId(topic.id), partitionId));
  }
  return { streamId: stream.id, topicId: topic.id, partitions: routes };
}

export async function freshPartition(session: RawSession, options?: TopicOptions): Promise<RawPartition> {
  const { partitions } = await freshTopic(session, options);
  const [partition] = partitions;
  if (partition === undefined) throw new Error("a topic without partitions has none to give");
  return partition;
}

export const message = (text: string, originTimestamp = 1_772_000_000_000_000n): MessageInput => ({
  payload: Buffer.from(text),
  originTimestamp,
});

export const messages = (count: number, label = "message"): MessageInput[] =>
  Array.from({ length: count }, (_, index) => message(`${label} ${index}`));

export const textOf = ({ payload }: { readonly payload: Uint8Array }): string => Buffer.from(payload).toString();

export const segmentSize = (bytes: number): OptionEntry => optionU64("segment_size", BigInt(bytes));
export const expiry = (micros: number): OptionEntry => optionU64("message_expiry", BigInt(micros));
export const maxTopicSize = (bytes: number): OptionEntry => optionU64("max_topic_size", BigInt(bytes));
export const persisted: readonly OptionEntry[] = [
  optionString("durability", "persisted"),
  optionString("consumer_offset_durability", "persisted"),
];
/** Nothing is flushed before this many messages. */
export const flushAfter = (messagesCount: number): OptionEntry => optionU32("messages_required_to_save", messagesCount);
export const fixedPartitions = optionString("partition_resize_policy", "fixed");
