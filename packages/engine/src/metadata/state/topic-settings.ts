import { IggyError, type OptionEntry, optionSpec, type OptionValue, readOptionValue, U64_MAX } from "@iggy/protocol";

export type Durability = "replicated" | "persisted";

/** The options of a topic as the data plane needs them. */
export interface TopicSettings {
  /** µs; undefined = messages never expire. Above 2^53 (285 years) it is rounded. */
  readonly messageExpiryMicros: number | undefined;
  /** Bytes; undefined = unlimited. Above 2^53 (9 PB) it is rounded. */
  readonly maxTopicSizeBytes: number | undefined;
  readonly segmentSizeBytes: number;
  readonly durability: Durability;
  readonly consumerOffsetDurability: Durability;
  /** Whether partitions may be added and deleted. */
  readonly isResizable: boolean;
  readonly messagesRequiredToSave: number;
  readonly sizeOfMessagesRequiredToSaveBytes: number;
  readonly preallocateSegments: boolean;
  readonly replicationFactor: number;
}

/** Every topic stores a value for each key; for one that is missing or that this node can't read, the default counts. */
export function topicSettings(entries: readonly OptionEntry[]): TopicSettings {
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const value = (key: string): OptionValue["value"] | undefined =>
    valueOf(byKey.get(key)) ?? valueOf(optionSpec("topic", key)?.default ?? undefined);
  const limit = (key: string): number | undefined => {
    const size = value(key);
    return size === U64_MAX ? undefined : Number(size);
  };
  const durability = (key: string): Durability => (value(key) === "persisted" ? "persisted" : "replicated");
  return {
    messageExpiryMicros: limit("message_expiry"),
    maxTopicSizeBytes: limit("max_topic_size"),
    segmentSizeBytes: Number(value("segment_size")),
    durability: durability("durability"),
    consumerOffsetDurability: durability("consumer_offset_durability"),
    isResizable: value("partition_resize_policy") !== "fixed",
    messagesRequiredToSave: Number(value("messages_required_to_save")),
    sizeOfMessagesRequiredToSaveBytes: Number(value("size_of_messages_required_to_save")),
    preallocateSegments: value("preallocate_segments") === true,
    replicationFactor: Number(value("replication_factor") ?? 1),
  };
}

function valueOf(entry: OptionEntry | undefined): OptionValue["value"] | undefined {
  if (entry === undefined) return undefined;
  try {
    return readOptionValue(entry)?.value;
  } catch (error) {
    if (error instanceof IggyError) return undefined;
    throw error;
  }
}

/** The exact value of a key that holds a u64; its default when it is missing or unreadable. */
export function optionU64Of(entries: readonly OptionEntry[], key: string): bigint {
  const own = valueOf(entries.find((entry) => entry.key === key));
  const value = own ?? valueOf(optionSpec("topic", key)?.default ?? undefined);
  return typeof value === "bigint" ? value : 0n;
}
