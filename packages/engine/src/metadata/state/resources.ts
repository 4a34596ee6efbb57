import { idLimits } from "@iggy/protocol";
import type { ConsumerGroup } from "./consumer-group.js";
import type { PartitionKey } from "../effects.js";
import type { ResourceOptions } from "./resource-options.js";
import { Slab } from "./slab.js";
import { type StreamEncryption, streamEncryption } from "./stream-encryption.js";
import { type TopicSettings, topicSettings } from "./topic-settings.js";

export interface StreamFields {
  readonly id: number;
  /** Op that created it; tells it from an earlier stream of the same id. */
  readonly createdOp: number;
  readonly createdAtMicros: number;
  readonly name: string;
  readonly options: ResourceOptions;
}

export class Stream {
  readonly id: number;
  readonly createdOp: number;
  readonly createdAtMicros: number;
  name: string;
  private optionMap: ResourceOptions;
  private parsedEncryption: StreamEncryption;
  readonly topics = new Slab<Topic>(idLimits.topicsPerStream);
  readonly topicsByName = new Map<string, Topic>();

  constructor(fields: StreamFields) {
    this.id = fields.id;
    this.createdOp = fields.createdOp;
    this.createdAtMicros = fields.createdAtMicros;
    this.name = fields.name;
    this.optionMap = fields.options;
    this.parsedEncryption = streamEncryption(fields.options);
  }

  get options(): ResourceOptions {
    return this.optionMap;
  }

  set options(options: ResourceOptions) {
    this.optionMap = options;
    this.parsedEncryption = streamEncryption(options);
  }

  get encryption(): StreamEncryption {
    return this.parsedEncryption;
  }

  addTopic(topic: Topic): void {
    this.topics.insert(topic.id, topic);
    this.topicsByName.set(topic.name, topic);
  }

  removeTopic(topic: Topic): void {
    this.topics.remove(topic.id);
    this.topicsByName.delete(topic.name);
  }

  renameTopic(topic: Topic, name: string): void {
    this.topicsByName.delete(topic.name);
    topic.name = name;
    this.topicsByName.set(name, topic);
  }
}

export interface TopicFields extends StreamFields {
  readonly stream: Stream;
}

export class Topic {
  readonly stream: Stream;
  readonly id: number;
  readonly createdOp: number;
  readonly createdAtMicros: number;
  name: string;
  private optionMap: ResourceOptions;
  private parsed: TopicSettings;
  /** By id: partitions are added behind the last and removed from the end. */
  readonly partitions: Partition[] = [];
  /** By id, ascending, since ids only grow. */
  readonly groups = new Map<number, ConsumerGroup>();
  readonly groupsByName = new Map<string, ConsumerGroup>();
  /** Ids below it are or were in use. */
  nextGroupId = 0;

  constructor(fields: TopicFields) {
    this.stream = fields.stream;
    this.id = fields.id;
    this.createdOp = fields.createdOp;
    this.createdAtMicros = fields.createdAtMicros;
    this.name = fields.name;
    this.optionMap = fields.options;
    this.parsed = topicSettings(fields.options.all);
  }

  get options(): ResourceOptions {
    return this.optionMap;
  }

  set options(options: ResourceOptions) {
    this.optionMap = options;
    this.parsed = topicSettings(options.all);
  }

  get settings(): TopicSettings {
    return this.parsed;
  }

  addGroup(group: ConsumerGroup): void {
    this.groups.set(group.id, group);
    this.groupsByName.set(group.name, group);
  }

  removeGroup(group: ConsumerGroup): void {
    this.groups.delete(group.id);
    this.groupsByName.delete(group.name);
  }
}

export interface PartitionFields {
  readonly topic: Topic;
  readonly id: number;
  readonly incarnation: number;
  readonly createdAtMicros: number;
  readonly createdView: number;
  readonly members: readonly number[];
}

export class Partition implements PartitionKey {
  readonly topic: Topic;
  readonly partitionId: number;
  /** Metadata op that created it. */
  readonly incarnation: number;
  readonly createdAtMicros: number;
  /** View in which its group starts. */
  readonly createdView: number;
  /** Node ids that store it, in member order; empty = every node. */
  readonly members: readonly number[];
  /** Sealed segments wholly below this offset were deleted on request; never moves back. */
  truncatedBelow = 0;

  constructor(fields: PartitionFields) {
    this.topic = fields.topic;
    this.partitionId = fields.id;
    this.incarnation = fields.incarnation;
    this.createdAtMicros = fields.createdAtMicros;
    this.createdView = fields.createdView;
    this.members = fields.members;
  }

  get topicId(): number {
    return this.topic.id;
  }

  get streamId(): number {
    return this.topic.stream.id;
  }

  get key(): PartitionKey {
    const { streamId, topicId, partitionId, incarnation } = this;
    return { streamId, topicId, partitionId, incarnation };
  }
}
