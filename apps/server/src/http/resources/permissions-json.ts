import type { Permissions, StreamPermissions, TopicPermissions } from "@iggy/protocol";
import { flag, mapped, nullable, object, optional, type Shape, type ShapeValue } from "../json/index.js";
import { mapOf } from "./map-of.js";

const isId = (text: string): boolean => /^[0-9]{1,10}$/.test(text) && Number(text) <= 0xffff_ffff;

const topicGrants = object({ manage_topic: flag, read_topic: flag, poll_messages: flag, send_messages: flag });

const streamGrants = object({
  manage_stream: flag,
  read_stream: flag,
  manage_topics: flag,
  read_topics: flag,
  poll_messages: flag,
  send_messages: flag,
  topics: optional(nullable(mapOf(topicGrants, "Grants on topics, by id.", isId)), null),
});

/** Grants of a user as JSON has them. */
export const permissionsShape = object({
  global: object({
    manage_servers: flag,
    read_servers: flag,
    manage_users: flag,
    read_users: flag,
    manage_streams: flag,
    read_streams: flag,
    manage_topics: flag,
    read_topics: flag,
    poll_messages: flag,
    send_messages: flag,
  }),
  streams: optional(nullable(mapOf(streamGrants, "Grants on streams, by id.", isId)), null),
});
export type PermissionsJson = ShapeValue<typeof permissionsShape>;

/** Grants that a body gives. */
export const grantedPermissions: Shape<Permissions> = mapped(permissionsShape, ({ global, streams }) => ({
  global: {
    manageServers: global.manage_servers,
    readServers: global.read_servers,
    manageUsers: global.manage_users,
    readUsers: global.read_users,
    manageStreams: global.manage_streams,
    readStreams: global.read_streams,
    manageTopics: global.manage_topics,
    readTopics: global.read_topics,
    pollMessages: global.poll_messages,
    sendMessages: global.send_messages,
  },
  streams: Object.entries(streams ?? {}).map(([id, grants]): StreamPermissions => ({
    streamId: Number(id),
    manageStream: grants.manage_stream,
    readStream: grants.read_stream,
    manageTopics: grants.manage_topics,
    readTopics: grants.read_topics,
    pollMessages: grants.poll_messages,
    sendMessages: grants.send_messages,
    topics: Object.entries(grants.topics ?? {}).map(([topicId, topic]): TopicPermissions => ({
      topicId: Number(topicId),
      manageTopic: topic.manage_topic,
      readTopic: topic.read_topic,
      pollMessages: topic.poll_messages,
      sendMessages: topic.send_messages,
    })),
  })),
}));

export const permissionsJson = ({ global, streams }: Permissions): PermissionsJson => ({
  global: {
    manage_servers: global.manageServers,
    read_servers: global.readServers,
    manage_users: global.manageUsers,
    read_users: global.readUsers,
    manage_streams: global.manageStreams,
    read_streams: global.readStreams,
    manage_topics: global.manageTopics,
    read_topics: global.readTopics,
    poll_messages: global.pollMessages,
    send_messages: global.sendMessages,
  },
  streams: byId(streams, ({ streamId }) => streamId, streamGrantsJson),
});

const streamGrantsJson = (grants: StreamPermissions): ShapeValue<typeof streamGrants> => ({
  manage_stream: grants.manageStream,
  read_stream: grants.readStream,
  manage_topics: grants.manageTopics,
  read_topics: grants.readTopics,
  poll_messages: grants.pollMessages,
  send_messages: grants.sendMessages,
  topics: byId(grants.topics, ({ topicId }) => topicId, topicGrantsJson),
});

const topicGrantsJson = (grants: TopicPermissions): ShapeValue<typeof topicGrants> => ({
  manage_topic: grants.manageTopic,
  read_topic: grants.readTopic,
  poll_messages: grants.pollMessages,
  send_messages: grants.sendMessages,
});

/** No grants of a level are null, as an absent list reads. */
function byId<T, J>(items: readonly T[], idOf: (item: T) => number, json: (item: T) => J): Record<string, J> | null {
  return items.length === 0 ? null : Object.fromEntries(items.map((item) => [String(idOf(item)), json(item)]));
}
