import {
  type ChangeRecord,
  decodeChange,
  decodeItem,
  type MetadataChange,
  type MetadataItem,
  type StateItem,
  type TopicKey,
} from "@iggy/protocol";

interface MirroredTopic {
  readonly key: TopicKey;
  name: string;
  options: unknown;
  partitionsCount: number;
  readonly groups: Map<number, { name: string; readonly members: Map<number, MirroredMember> }>;
}

interface MirroredMember {
  readonly clientId: bigint;
  readonly partitions: Set<number>;
}

interface MirroredUser {
  username: string;
  status: number;
  permissions: unknown;
  options: unknown;
  readonly tokens: Map<string, bigint>;
}

const nameOfTopic = ({ stream, topicId }: TopicKey): string => `${String(stream.streamId)}/${String(topicId)}`;

/**
 * A copy of the metadata, as a consumer of the feed keeps one. It derives what records leave to it: a deleted stream
 * takes its topics along, a deleted user its tokens and sessions.
 *
 * Made of records alone from the beginning, it knows everything that a record refers to, and says so otherwise. Made of
 * a scan, it meets records of things that were gone before their page was read, and leaves those alone.
 */
export class Mirror {
  private readonly isFromBeginning: boolean;
  readonly streams = new Map<number, { name: string; options: unknown }>();
  readonly topics = new Map<string, MirroredTopic>();
  readonly users = new Map<number, MirroredUser>();
  readonly sessions = new Map<bigint, { userId: number; clientId: bigint }>();

  constructor(items?: readonly StateItem[]) {
    this.isFromBeginning = items === undefined;
    for (const item of items ?? []) this.follow(asChange(item));
  }

  followRecord(record: ChangeRecord): void {
    const change = decodeChange(record);
    if (change === undefined) throw new Error(`unknown change ${String(record.kind)}`);
    this.follow(change);
  }

  follow(change: MetadataChange): void {
    switch (change.kind) {
      case "stream_created":
      case "stream_updated":
        this.streams.set(change.body.key.streamId, { name: change.body.name, options: change.body.options });
        return;
      case "stream_deleted": {
        const { streamId } = change.body.key;
        this.streams.delete(streamId);
        for (const [key, topic] of this.topics) if (topic.key.stream.streamId === streamId) this.topics.delete(key);
        return;
      }
      case "topic_created":
        this.topics.set(nameOfTopic(change.body.key), { ...change.body, groups: new Map() });
        return;
      case "topic_updated":
        Object.assign(this.topic(change.body.key) ?? {}, {
          name: change.body.name,
          options: change.body.options,
          partitionsCount: change.body.partitionsCount,
        });
        return;
      case "topic_deleted":
        this.topics.delete(nameOfTopic(change.body.key));
        return;
      case "partitions_changed": {
        const topic = this.topic(change.body.topic);
        if (topic === undefined) return;
        topic.partitionsCount = change.body.partitionsCount;
        for (const { members } of topic.groups.values()) {
          for (const { partitions } of members.values()) {
            for (const id of change.body.removedPartitionIds) partitions.delete(id);
          }
        }
        return;
      }
      case "consumer_group_created":
        this.topic(change.body.topic)?.groups.set(change.body.groupId, { name: change.body.name, members: new Map() });
        return;
      case "consumer_group_deleted":
        this.topic(change.body.topic)?.groups.delete(change.body.groupId);
        return;
      case "consumer_group_member_joined":
        this.members(change.body)?.set(change.body.memberId, {
          clientId: change.body.clientId,
          partitions: new Set(change.body.partitionIds),
        });
        return;
      case "consumer_group_member_left":
        this.members(change.body)?.delete(change.body.memberId);
        return;
      case "consumer_group_partition_handed_over": {
        const { partitionId, memberId } = change.body;
        const members = this.members(change.body);
        for (const { partitions } of members?.values() ?? []) partitions.delete(partitionId);
        if (memberId !== null) members?.get(memberId)?.partitions.add(partitionId);
        return;
      }
      case "user_created":
        this.users.set(change.body.key.userId, { ...change.body, tokens: new Map() });
        return;
      case "user_updated": {
        const { username, status, permissions, options } = change.body;
        Object.assign(this.user(change.body.key.userId) ?? {}, { username, status, permissions, options });
        return;
      }
      case "user_deleted":
        this.users.delete(change.body.key.userId);
        for (const [epoch, session] of this.sessions) {
          if (session.userId === change.body.key.userId) this.sessions.delete(epoch);
        }
        return;
      case "user_password_changed":
        return;
      case "user_permissions_updated":
        Object.assign(this.user(change.body.key.userId) ?? {}, { permissions: change.body.permissions });
        return;
      case "personal_access_token_created":
        this.user(change.body.user.userId)?.tokens.set(change.body.name, change.body.expiry);
        return;
      case "personal_access_token_deleted":
        this.user(change.body.user.userId)?.tokens.delete(change.body.name);
        return;
      case "session_registered":
        this.sessions.set(change.body.session, {
          userId: change.body.user.userId,
          clientId: change.body.clientId,
        });
        return;
      case "session_closed":
        this.sessions.delete(change.body.session);
    }
  }

  private topic(key: TopicKey): MirroredTopic | undefined {
    const topic = this.topics.get(nameOfTopic(key));
    return this.known("topic", topic?.key.topicCreatedOp === key.topicCreatedOp ? topic : undefined);
  }

  private members({ topic, groupId }: { topic: TopicKey; groupId: number }): Map<number, MirroredMember> | undefined {
    return this.known("group", this.topic(topic)?.groups.get(groupId)?.members);
  }

  private user(userId: number): MirroredUser | undefined {
    return this.known("user", this.users.get(userId));
  }

  private known<T>(what: string, thing: T | undefined): T | undefined {
    if (thing === undefined && this.isFromBeginning) throw new Error(`a change of an unknown ${what}`);
    return thing;
  }

  /** What a scan of the current state would show, one line a thing. */
  lines(): string[] {
    const lines: string[] = [];
    for (const [streamId, { name, options }] of this.streams) lines.push(line("stream", streamId, name, options));
    for (const topic of this.topics.values()) {
      const key = nameOfTopic(topic.key);
      lines.push(line("topic", key, topic.name, topic.options), line("partitions", key, topic.partitionsCount));
      for (const [groupId, { name, members }] of topic.groups) {
        lines.push(line("group", key, groupId, name));
        for (const [slot, { clientId, partitions }] of members) {
          lines.push(line("member", key, groupId, slot, clientId, ascending(partitions)));
        }
      }
    }
    for (const [userId, { username, status, permissions, options, tokens }] of this.users) {
      lines.push(line("user", userId, username, status, permissions, options));
      for (const [name, expiry] of tokens) lines.push(line("token", userId, name, expiry));
    }
    for (const [epoch, { userId, clientId }] of this.sessions) lines.push(line("session", epoch, userId, clientId));
    return lines.sort();
  }
}

/** A thing of a scan as the change that would have made it. */
function asChange(item: StateItem): MetadataChange {
  const decoded = decodeItem(item);
  switch (decoded?.group) {
    case "streams":
      return { kind: "stream_created", body: decoded.body };
    case "topics":
      return { kind: "topic_created", body: { ...decoded.body, partitionsCount: 0 } };
    case "partitions":
      return {
        kind: "partitions_changed",
        body: { ...decoded.body, removedPartitionIds: [], requestedOp: null },
      };
    case "consumer_groups":
      return { kind: "consumer_group_created", body: { ...decoded.body, consumerGroupsCount: 0 } };
    case "consumer_group_members":
      return { kind: "consumer_group_member_joined", body: { ...decoded.body, membersCount: 0 } };
    case "users":
      return { kind: "user_created", body: decoded.body };
    case "personal_access_tokens":
      return { kind: "personal_access_token_created", body: decoded.body };
    case "sessions":
      return { kind: "session_registered", body: decoded.body };
    case undefined:
      throw new Error(`unknown group ${String(item.group)}`);
  }
}

/** The same lines of a scan. */
export const linesOf = (items: readonly StateItem[]): string[] =>
  items
    .map((item) => {
      const decoded = decodeItem(item);
      if (decoded === undefined) throw new Error(`unknown group ${String(item.group)}`);
      return lineOf(decoded);
    })
    .sort();

function lineOf(item: MetadataItem): string {
  switch (item.group) {
    case "streams":
      return line("stream", item.body.key.streamId, item.body.name, item.body.options);
    case "topics":
      return line("topic", nameOfTopic(item.body.key), item.body.name, item.body.options);
    case "partitions":
      return line("partitions", nameOfTopic(item.body.topic), item.body.partitionsCount);
    case "consumer_groups":
      return line("group", nameOfTopic(item.body.topic), item.body.groupId, item.body.name);
    case "consumer_group_members": {
      const { topic, groupId, memberId, clientId, partitionIds } = item.body;
      return line("member", nameOfTopic(topic), groupId, memberId, clientId, partitionIds);
    }
    case "users": {
      const { key, username, status, permissions, options } = item.body;
      return line("user", key.userId, username, status, permissions, options);
    }
    case "personal_access_tokens":
      return line("token", item.body.user.userId, item.body.name, item.body.expiry);
    case "sessions":
      return line("session", item.body.session, item.body.user.userId, item.body.clientId);
  }
}

const ascending = (ids: Iterable<number>): number[] => [...ids].sort((left, right) => left - right);

const line = (...parts: readonly unknown[]): string =>
  parts
    .map((part) =>
      JSON.stringify(part, (_key, value: unknown) => (typeof value === "bigint" ? `${String(value)}n` : value)),
    )
    .join(" ");
