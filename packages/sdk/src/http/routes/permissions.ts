import type { GlobalPermissions, JsonObject, Permissions, StreamPermissions, TopicPermissions } from "@iggy/protocol";
import type { Members } from "../members.js";

/** Grants as answers show them. */
export const permissionsOf = (permissions: Members): Permissions => ({
  global: globalOf(permissions.object("global")),
  streams: byId(permissions, "streams", streamOf),
});

const globalOf = (global: Members): GlobalPermissions => ({
  manageServers: global.flag("manage_servers"),
  readServers: global.flag("read_servers"),
  manageUsers: global.flag("manage_users"),
  readUsers: global.flag("read_users"),
  manageStreams: global.flag("manage_streams"),
  readStreams: global.flag("read_streams"),
  manageTopics: global.flag("manage_topics"),
  readTopics: global.flag("read_topics"),
  pollMessages: global.flag("poll_messages"),
  sendMessages: global.flag("send_messages"),
});

const streamOf = (streamId: number, stream: Members): StreamPermissions => ({
  streamId,
  manageStream: stream.flag("manage_stream"),
  readStream: stream.flag("read_stream"),
  manageTopics: stream.flag("manage_topics"),
  readTopics: stream.flag("read_topics"),
  pollMessages: stream.flag("poll_messages"),
  sendMessages: stream.flag("send_messages"),
  topics: byId(stream, "topics", topicOf),
});

const topicOf = (topicId: number, topic: Members): TopicPermissions => ({
  topicId,
  manageTopic: topic.flag("manage_topic"),
  readTopic: topic.flag("read_topic"),
  pollMessages: topic.flag("poll_messages"),
  sendMessages: topic.flag("send_messages"),
});

function byId<T>(parent: Members, name: string, read: (id: number, grants: Members) => T): readonly T[] {
  if (parent.isAbsent(name)) return [];
  const grants = parent.object(name);
  return grants.names.map((id) => read(Number(id), grants.object(id)));
}

/** Grants as bodies take them: names in snake case, lists as maps by id. */
export const permissionsJson = ({ global, streams }: Permissions): JsonObject => ({
  global: flagsJson(global),
  streams: mapJson(streams, ({ streamId, topics, ...flags }) => [
    streamId,
    {
      ...flagsJson(flags),
      topics: mapJson(topics, ({ topicId, ...topicFlags }) => [topicId, flagsJson(topicFlags)]),
    },
  ]),
});

const mapJson = <T>(items: readonly T[], entry: (item: T) => readonly [number, JsonObject]): JsonObject | null =>
  items.length === 0
    ? null
    : Object.fromEntries(
        items.map((item) => {
          const [id, grants] = entry(item);
          return [String(id), grants];
        }),
      );

const flagsJson = (flags: Readonly<Record<string, boolean>>): JsonObject =>
  Object.fromEntries(
    Object.entries(flags).map(([name, granted]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      granted,
    ]),
  );
