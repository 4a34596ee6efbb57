import { UserStatus } from "@iggy/protocol";
import type { MetadataChange, MetadataItem } from "../api/metadata-changes.js";
import { dateOfMicros } from "../values/duration.js";

export interface MirroredGroup {
  readonly id: number;
  readonly name: string;
}

export interface MirroredTopic {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
  readonly partitionsCount: number;
  readonly groups: ReadonlyMap<number, MirroredGroup>;
}

export interface MirroredStream {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
  readonly topics: ReadonlyMap<number, MirroredTopic>;
}

export interface MirroredUser {
  readonly id: number;
  readonly username: string;
  readonly status: "active" | "inactive";
}

type Body<Kind extends MetadataChange["kind"]> = Extract<MetadataChange, { readonly kind: Kind }>["body"];
type StreamBody = Body<"stream_created">;
type TopicKey = Body<"topic_created">["key"];
type UserBody = Body<"user_created">;
type UserKey = UserBody["key"];

interface Topic {
  createdOp: bigint;
  id: number;
  name: string;
  createdAt: Date;
  partitionsCount: number;
  readonly groups: Map<number, MirroredGroup>;
}

interface Stream {
  createdOp: bigint;
  id: number;
  name: string;
  createdAt: Date;
  readonly topics: Map<number, Topic>;
}

interface User {
  createdAt: bigint;
  id: number;
  username: string;
  status: "active" | "inactive";
}

/**
 * Streams, topics, groups and users as a feed tells them. Ids are used again, so what a change is about is told by its
 * creation as well: a change of something older than what is known by that id concerns nothing here.
 */
export class MirroredState {
  readonly #streams = new Map<number, Stream>();
  readonly #users = new Map<number, User>();

  get streams(): ReadonlyMap<number, MirroredStream> {
    return this.#streams;
  }

  get users(): ReadonlyMap<number, MirroredUser> {
    return this.#users;
  }

  addItem(item: MetadataItem): void {
    switch (item.group) {
      case "streams":
        this.#putStream(item.body);
        return;
      case "topics":
        this.#putTopic(item.body.key, item.body.name, item.body.createdAt, undefined);
        return;
      case "partitions":
        this.#setPartitions(item.body.topic, item.body.partitionsCount);
        return;
      case "consumer_groups":
        this.#putGroup(item.body.topic, item.body.groupId, item.body.name);
        return;
      case "users":
        this.#putUser(item.body);
        return;
      default:
        return;
    }
  }

  apply(change: MetadataChange): void {
    switch (change.kind) {
      case "stream_created":
      case "stream_updated":
        this.#putStream(change.body);
        return;
      case "stream_deleted": {
        const { streamId, streamCreatedOp } = change.body.key;
        if (this.#streams.get(streamId)?.createdOp === streamCreatedOp) this.#streams.delete(streamId);
        return;
      }
      case "topic_created":
      case "topic_updated": {
        const { key, name, createdAt, partitionsCount } = change.body;
        this.#putTopic(key, name, createdAt, partitionsCount);
        return;
      }
      case "topic_deleted": {
        const { key } = change.body;
        if (this.#topicOf(key) !== undefined) this.#streamOf(key)?.topics.delete(key.topicId);
        return;
      }
      case "partitions_changed":
        this.#setPartitions(change.body.topic, change.body.partitionsCount);
        return;
      case "consumer_group_created":
        this.#putGroup(change.body.topic, change.body.groupId, change.body.name);
        return;
      case "consumer_group_deleted":
        this.#topicOf(change.body.topic)?.groups.delete(change.body.groupId);
        return;
      case "user_created":
      case "user_updated":
        this.#putUser(change.body);
        return;
      case "user_deleted":
        if (this.#isUser(change.body.key)) this.#users.delete(change.body.key.userId);
        return;
      default:
        return;
    }
  }

  #putStream({ key, name, createdAt }: StreamBody): void {
    const known = this.#streams.get(key.streamId);
    if (known !== undefined && known.createdOp > key.streamCreatedOp) return;
    if (known?.createdOp === key.streamCreatedOp) known.name = name;
    else {
      this.#streams.set(key.streamId, {
        createdOp: key.streamCreatedOp,
        id: key.streamId,
        name,
        createdAt: dateOfMicros(createdAt),
        topics: new Map(),
      });
    }
  }

  #putTopic(key: TopicKey, name: string, createdAt: bigint, partitionsCount: number | undefined): void {
    const stream = this.#streamOf(key);
    if (stream === undefined) return;
    const known = stream.topics.get(key.topicId);
    if (known !== undefined && known.createdOp > key.topicCreatedOp) return;
    if (known?.createdOp === key.topicCreatedOp) {
      known.name = name;
      known.partitionsCount = partitionsCount ?? known.partitionsCount;
      return;
    }
    stream.topics.set(key.topicId, {
      createdOp: key.topicCreatedOp,
      id: key.topicId,
      name,
      createdAt: dateOfMicros(createdAt),
      partitionsCount: partitionsCount ?? 0,
      groups: new Map(),
    });
  }

  #setPartitions(key: TopicKey, partitionsCount: number): void {
    const topic = this.#topicOf(key);
    if (topic !== undefined) topic.partitionsCount = partitionsCount;
  }

  #putGroup(key: TopicKey, id: number, name: string): void {
    this.#topicOf(key)?.groups.set(id, { id, name });
  }

  #putUser({ key, username, status }: UserBody): void {
    const known = this.#users.get(key.userId);
    if (known !== undefined && known.createdAt > key.userCreatedAt) return;
    this.#users.set(key.userId, {
      createdAt: key.userCreatedAt,
      id: key.userId,
      username,
      status: status === UserStatus.active ? "active" : "inactive",
    });
  }

  #streamOf({ stream: { streamId, streamCreatedOp } }: TopicKey): Stream | undefined {
    const stream = this.#streams.get(streamId);
    return stream?.createdOp === streamCreatedOp ? stream : undefined;
  }

  #topicOf(key: TopicKey): Topic | undefined {
    const topic = this.#streamOf(key)?.topics.get(key.topicId);
    return topic?.createdOp === key.topicCreatedOp ? topic : undefined;
  }

  #isUser({ userId, userCreatedAt }: UserKey): boolean {
    return this.#users.get(userId)?.createdAt === userCreatedAt;
  }
}
