import {
  CompressionAlgorithm as Algorithm,
  ErrorCode,
  EXPIRY_NEVER,
  EXPIRY_SERVER_DEFAULT,
  nameOf,
  type OptionEntry,
  optionBool,
  optionString,
  optionU32,
  optionU64,
  parseExpiry,
  parseTopicSize,
  parseByteSize,
  TOPIC_SIZE_UNLIMITED,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { integer, u32, u64, wrongType } from "../values/check.js";
import { type Duration, milliseconds, toMicros } from "../values/duration.js";
import type { OptionValues } from "../values/options.js";

export type CompressionAlgorithm = "none" | "gzip";
/** Codes that earlier clients used. */
export const CompressionAlgorithm = { None: Algorithm.none, Gzip: Algorithm.gzip } as const;

export type Durability = "replicated" | "persisted";
/** Bytes, or text such as `15GB`. */
export type SizeInput = bigint | number | string;

/** Options of a topic as typed fields. An absent one leaves the choice to the server. */
export interface TopicOptionFields {
  /** A hint for clients: stored and reported, never applied. */
  readonly compressionAlgorithm?: CompressionAlgorithm | 1 | 2;
  /** Age from which sealed segments are deleted: ms, µs as a bigint, a duration text, `never` or `server_default`. */
  readonly messageExpiry?: Duration | bigint;
  /** Cap on the sealed data of the topic: bytes, a size text, `unlimited` or `server_default`. */
  readonly maxTopicSize?: SizeInput;
  /** Bytes after which a segment is sealed. */
  readonly segmentSize?: SizeInput;
  /** When a send completes; `replicated` without it. */
  readonly durability?: Durability;
  /** When the store of an offset completes; `replicated` without it. */
  readonly consumerOffsetDurability?: Durability;
  readonly partitionResizePolicy?: "mutable" | "fixed";
  readonly messagesRequiredToSave?: number;
  readonly sizeOfMessagesRequiredToSave?: SizeInput;
  readonly preallocateSegments?: boolean;
  /** Nodes that store each partition, 1 to 32. */
  readonly replicationFactor?: number;
}

/** What holds for a topic, with the values that the server filled in. */
export interface ResolvedTopicOptions {
  readonly compressionAlgorithm: CompressionAlgorithm;
  /** µs; undefined means never. */
  readonly messageExpiryMicros: bigint | undefined;
  /** Bytes; undefined means unlimited. */
  readonly maxTopicSize: bigint | undefined;
  readonly segmentSize: bigint | undefined;
  readonly durability: Durability;
  readonly consumerOffsetDurability: Durability;
  readonly partitionResizePolicy: "mutable" | "fixed";
  readonly messagesRequiredToSave: number | undefined;
  readonly sizeOfMessagesRequiredToSave: bigint | undefined;
  readonly preallocateSegments: boolean;
  readonly replicationFactor: number | undefined;
}

type Encode = (key: string, value: unknown) => OptionEntry | undefined;

/** How each typed field becomes an option. `undefined` from an encoder sends nothing. */
const encoders: Readonly<Record<keyof TopicOptionFields, readonly [key: string, encode: Encode]>> = {
  compressionAlgorithm: ["compression_algorithm", compression],
  messageExpiry: ["message_expiry", expiry],
  maxTopicSize: ["max_topic_size", topicSize],
  segmentSize: ["segment_size", byteSize],
  durability: ["durability", choice("replicated", "persisted")],
  consumerOffsetDurability: ["consumer_offset_durability", choice("replicated", "persisted")],
  partitionResizePolicy: ["partition_resize_policy", choice("mutable", "fixed")],
  messagesRequiredToSave: ["messages_required_to_save", (key, value) => optionU32(key, u32(key, value))],
  sizeOfMessagesRequiredToSave: ["size_of_messages_required_to_save", byteSize],
  preallocateSegments: ["preallocate_segments", flag],
  replicationFactor: ["replication_factor", (key, value) => optionU32(key, integer(key, value, 1, 32))],
};

export function topicOptionEntries(fields: TopicOptionFields): readonly OptionEntry[] {
  if ("enforceFsync" in fields) {
    throw new ValidationError(
      ErrorCode.UnsupportedOptionKey,
      'enforceFsync is gone: durability "persisted" makes a send wait for stable storage',
    );
  }
  const values = new Map<string, unknown>(Object.entries(fields));
  return Object.entries(encoders).flatMap(([field, [key, encode]]) => {
    const value = values.get(field);
    const entry = value === undefined ? undefined : encode(key, value);
    return entry === undefined ? [] : [entry];
  });
}

function compression(key: string, value: unknown): OptionEntry {
  const name = typeof value === "number" ? nameOf(Algorithm, value) : value;
  if (name === "none" || name === "gzip") return optionString(key, name);
  throw new ValidationError(ErrorCode.InvalidOptionValue, "compressionAlgorithm takes none or gzip");
}

function expiry(key: string, value: unknown): OptionEntry | undefined {
  const micros = expiryMicros(value);
  return micros === EXPIRY_SERVER_DEFAULT ? undefined : optionU64(key, micros);
}

/** µs of an expiry: a number is ms, a bigint µs. */
export function expiryMicros(value: unknown): bigint {
  if (value === "never") return EXPIRY_NEVER;
  if (typeof value === "bigint") return u64("messageExpiry", value);
  if (typeof value === "number") return toMicros(milliseconds("messageExpiry", value));
  if (typeof value !== "string") throw wrongType("messageExpiry", "a duration", value);
  return parsed("messageExpiry", value, parseExpiry);
}

function topicSize(key: string, value: unknown): OptionEntry | undefined {
  const size = typeof value === "string" ? parsed("maxTopicSize", value, parseTopicSize) : u64("maxTopicSize", value);
  return size === 0n ? undefined : optionU64(key, size);
}

function byteSize(key: string, value: unknown): OptionEntry {
  return optionU64(key, typeof value === "string" ? parsed(key, value, parseByteSize) : u64(key, value));
}

function parsed(argument: string, text: string, parse: (text: string) => bigint): bigint {
  try {
    return parse(text);
  } catch (cause) {
    throw new ValidationError(ErrorCode.InvalidOptionValue, `${argument} does not take ${JSON.stringify(text)}`, {
      cause,
      context: { argument },
    });
  }
}

function choice(...names: readonly string[]): Encode {
  return (key, value) => {
    if (typeof value === "string" && names.includes(value)) return optionString(key, value);
    throw new ValidationError(ErrorCode.InvalidOptionValue, `${key} takes ${names.join(" or ")}`);
  };
}

function flag(key: string, value: unknown): OptionEntry {
  if (typeof value !== "boolean") throw wrongType(key, "a boolean", value);
  return optionBool(key, value);
}

export function resolvedOptions(values: OptionValues): ResolvedTopicOptions {
  const big = (key: string): bigint | undefined => (typeof values[key] === "bigint" ? values[key] : undefined);
  const small = (key: string): number | undefined => (typeof values[key] === "number" ? values[key] : undefined);
  const expiryValue = big("message_expiry");
  const sizeValue = big("max_topic_size");
  return {
    compressionAlgorithm: values["compression_algorithm"] === "gzip" ? "gzip" : "none",
    messageExpiryMicros: expiryValue === EXPIRY_NEVER ? undefined : expiryValue,
    maxTopicSize: sizeValue === TOPIC_SIZE_UNLIMITED ? undefined : sizeValue,
    segmentSize: big("segment_size"),
    durability: values["durability"] === "persisted" ? "persisted" : "replicated",
    consumerOffsetDurability: values["consumer_offset_durability"] === "persisted" ? "persisted" : "replicated",
    partitionResizePolicy: values["partition_resize_policy"] === "fixed" ? "fixed" : "mutable",
    messagesRequiredToSave: small("messages_required_to_save"),
    sizeOfMessagesRequiredToSave: big("size_of_messages_required_to_save"),
    preallocateSegments: values["preallocate_segments"] === true,
    replicationFactor: small("replication_factor"),
  };
}
