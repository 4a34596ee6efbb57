import {
  createTopic,
  deleteTopic,
  ErrorCode,
  getTopic,
  getTopics,
  OptionScope,
  type Partition as WirePartition,
  type PartitionContext,
  type Topic as WireTopic,
  type TopicDetails as WireTopicDetails,
  updateResource,
} from "@iggy/protocol";
import { FeatureUnavailableError, ValidationError } from "../errors/index.js";
import { integer } from "../values/check.js";
import { dateOfMicros } from "../values/duration.js";
import { type Id, toIdentifier, toName } from "../values/id.js";
import { type OptionInputs, optionEntries, optionValues, type OptionValues, mergedEntries } from "../values/options.js";
import type { CallOptions, Calls } from "./caller.js";
import { getOrCreate } from "./get-or-create.js";
import {
  type ResolvedTopicOptions,
  resolvedOptions,
  type TopicOptionFields,
  topicOptionEntries,
} from "./topic-options.js";

export interface Partition {
  readonly id: number;
  readonly createdAt: Date;
  readonly segmentsCount: number;
  /** Offset of the last message; 0 also when it is empty. */
  readonly currentOffset: bigint;
  readonly sizeBytes: bigint;
  readonly messagesCount: bigint;
  readonly context: PartitionContext;
  /** Replica ids of the nodes that store the partition. */
  readonly members: readonly number[];
  /** Those that hold its whole log now. */
  readonly inSyncMembers: readonly number[];
}

export interface Topic {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
  readonly sizeBytes: bigint;
  readonly messagesCount: bigint;
  readonly partitionsCount: number;
  /** What its creator set. */
  readonly options: OptionValues;
  /** What the server filled in. */
  readonly derivedOptions: OptionValues;
  /** Both together, typed. */
  readonly resolved: ResolvedTopicOptions;
}

export interface TopicDetails extends Topic {
  readonly partitions: readonly Partition[];
}

export interface TopicTarget {
  readonly streamId: Id;
  readonly topicId: Id;
}

export interface CreateTopic extends TopicOptionFields {
  readonly streamId: Id;
  /** 1 to 255 bytes. */
  readonly name: string;
  /** 0 to 1000; 1 without it. */
  readonly partitionCount?: number;
  /** Options by key, also those that are newer than this client. A typed field wins. */
  readonly options?: OptionInputs;
}

export interface UpdateTopic
  extends TopicTarget, Pick<TopicOptionFields, "compressionAlgorithm" | "messageExpiry" | "maxTopicSize"> {
  readonly name?: string;
  readonly options?: OptionInputs;
  /** Keys that go back to their defaults, such as `message_expiry`. */
  readonly reset?: readonly string[];
}

export type EnsureTopic = CreateTopic;

export class TopicApi {
  readonly #caller: Calls;

  constructor(caller: Calls) {
    this.#caller = caller;
  }

  /** One topic with its partitions; null when it does not exist. */
  async get({ streamId, topicId }: TopicTarget, options?: CallOptions): Promise<TopicDetails | null> {
    const found = await this.#caller.read(getTopic, topicTarget(streamId, topicId), { streamId, topicId }, options);
    return found === null ? null : topicDetails(found);
  }

  /** The topics of a stream; none for a stream that does not exist. */
  async list({ streamId }: { readonly streamId: Id }, options?: CallOptions): Promise<Topic[]> {
    const request = { streamId: toIdentifier("streamId", streamId) };
    const { topics } = await this.#caller.read(getTopics, request, { streamId }, options);
    return topics.map(topicOf);
  }

  async create(topic: CreateTopic, options?: CallOptions): Promise<TopicDetails> {
    const { streamId, name } = topic;
    const request = {
      streamId: toIdentifier("streamId", streamId),
      partitionsCount: integer("partitionCount", topic.partitionCount ?? 1, 0, 1000),
      name: toName("name", name, ErrorCode.InvalidTopicName),
      options: mergedEntries(
        topicOptionEntries({ durability: "replicated", consumerOffsetDurability: "replicated", ...topic }),
        optionEntries("topic", topic.options),
      ),
    };
    return topicDetails(await this.#caller.write(createTopic, request, { streamId, name }, options));
  }

  async update(topic: UpdateTopic, options?: CallOptions): Promise<true> {
    const { streamId, topicId, name, reset = [] } = topic;
    const typed = [
      ...(name === undefined ? [] : optionEntries("topic", { name: toName("name", name, ErrorCode.InvalidTopicName) })),
      ...topicOptionEntries(topic),
    ];
    const patch = {
      target: { scope: OptionScope.topic, ...topicTarget(streamId, topicId) },
      reset: [...reset],
      options: mergedEntries(typed, optionEntries("topic", topic.options)),
    };
    if (patch.options.length === 0 && reset.length === 0) {
      throw new ValidationError(
        ErrorCode.InvalidCommand,
        "topic.update changes nothing: name a value to set or a key to reset",
      );
    }
    await this.#caller.write(updateResource, patch, { streamId, topicId }, options);
    return true;
  }

  async delete({ streamId, topicId }: TopicTarget, options?: CallOptions): Promise<true> {
    await this.#caller.write(deleteTopic, topicTarget(streamId, topicId), { streamId, topicId }, options);
    return true;
  }

  /** The topic, created when it is missing. */
  ensure(topic: EnsureTopic, options?: CallOptions): Promise<TopicDetails>;
  ensure(
    streamId: Id,
    name: string,
    partitionCount?: number,
    compression?: TopicOptionFields["compressionAlgorithm"],
  ): Promise<TopicDetails>;
  async ensure(
    first: EnsureTopic | Id,
    second?: CallOptions | string,
    partitionCount?: number,
    compressionAlgorithm?: TopicOptionFields["compressionAlgorithm"],
  ): Promise<TopicDetails> {
    const isObject = typeof first === "object";
    const topic: EnsureTopic = isObject
      ? first
      : {
          streamId: first,
          name: typeof second === "string" ? second : "",
          ...(partitionCount === undefined ? {} : { partitionCount }),
          ...(compressionAlgorithm === undefined ? {} : { compressionAlgorithm }),
        };
    const options = isObject && typeof second === "object" ? second : undefined;
    const target = { streamId: topic.streamId, topicId: topic.name };
    return getOrCreate(
      () => this.get(target, options),
      () => this.create(topic, options),
    );
  }

  /** Gone from the protocol: delete the topic and create it again. */
  purge(): Promise<never> {
    return Promise.reject(new FeatureUnavailableError("topic.purge is gone from the protocol"));
  }
}

export const topicTarget = (streamId: Id, topicId: Id) => ({
  streamId: toIdentifier("streamId", streamId),
  topicId: toIdentifier("topicId", topicId),
});

export function topicOf(topic: WireTopic): Topic {
  const options = optionValues(topic.options);
  const derivedOptions = optionValues(topic.derivedOptions);
  return {
    id: topic.id,
    name: topic.name,
    createdAt: dateOfMicros(topic.createdAt),
    sizeBytes: topic.sizeBytes,
    messagesCount: topic.messagesCount,
    partitionsCount: topic.partitionsCount,
    options,
    derivedOptions,
    resolved: resolvedOptions({ ...derivedOptions, ...options }),
  };
}

const topicDetails = (details: WireTopicDetails): TopicDetails => ({
  ...topicOf(details.topic),
  partitions: details.partitions.map(partitionOf),
});

const partitionOf = (partition: WirePartition): Partition => ({
  id: partition.id,
  createdAt: dateOfMicros(partition.createdAt),
  segmentsCount: partition.segmentsCount,
  currentOffset: partition.currentOffset,
  sizeBytes: partition.sizeBytes,
  messagesCount: partition.messagesCount,
  context: partition.context,
  members: partition.members,
  inSyncMembers: partition.inSyncMembers,
});
