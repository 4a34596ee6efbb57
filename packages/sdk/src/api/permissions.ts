import type { Permissions } from "@iggy/protocol";
import { u32 } from "../values/check.js";

export interface GlobalPermissions {
  readonly manageServers: boolean;
  readonly readServers: boolean;
  readonly manageUsers: boolean;
  readonly readUsers: boolean;
  readonly manageStreams: boolean;
  readonly readStreams: boolean;
  readonly manageTopics: boolean;
  readonly readTopics: boolean;
  readonly pollMessages: boolean;
  readonly sendMessages: boolean;
}

export interface TopicPermissions {
  readonly topicId: number;
  readonly manageTopic: boolean;
  readonly readTopic: boolean;
  readonly pollMessages: boolean;
  readonly sendMessages: boolean;
}

export interface StreamPermissions {
  readonly streamId: number;
  readonly manageStream: boolean;
  readonly readStream: boolean;
  readonly manageTopics: boolean;
  readonly readTopics: boolean;
  readonly pollMessages: boolean;
  readonly sendMessages: boolean;
  readonly topics: readonly TopicPermissions[];
}

/** What a user may do. */
export interface UserPermissions {
  readonly global: GlobalPermissions;
  readonly streams: readonly StreamPermissions[];
}

/** Flags that are left out are false. The spellings of earlier clients (`ManageServers`, `manage`, `read`) work too. */
export interface UserPermissionsInput {
  readonly global?: Flags;
  readonly streams?: readonly (Flags & {
    readonly streamId: number;
    readonly topics?: readonly (Flags & { readonly topicId: number })[];
  })[];
}

type Flags = Readonly<Record<string, unknown>>;

/** A flag under its name, in lower or upper camel case, or under the short name of earlier clients. */
function flag(flags: Flags | undefined, name: string, short?: string): boolean {
  if (flags === undefined) return false;
  const names = [name, name.charAt(0).toUpperCase() + name.slice(1), ...(short === undefined ? [] : [short])];
  for (const key of names) {
    const value = flags[key];
    if (value === undefined) continue;
    if (typeof value !== "boolean") throw new TypeError(`permissions.${key} takes a boolean`);
    return value;
  }
  return false;
}

export function toPermissions(input: UserPermissionsInput): Permissions {
  const { global, streams = [] } = input;
  return {
    global: {
      manageServers: flag(global, "manageServers"),
      readServers: flag(global, "readServers"),
      manageUsers: flag(global, "manageUsers"),
      readUsers: flag(global, "readUsers"),
      manageStreams: flag(global, "manageStreams"),
      readStreams: flag(global, "readStreams"),
      manageTopics: flag(global, "manageTopics"),
      readTopics: flag(global, "readTopics"),
      pollMessages: flag(global, "pollMessages"),
      sendMessages: flag(global, "sendMessages"),
    },
    streams: streams.map((stream) => ({
      streamId: u32("permissions.streamId", stream.streamId),
      manageStream: flag(stream, "manageStream", "manage"),
      readStream: flag(stream, "readStream", "read"),
      manageTopics: flag(stream, "manageTopics"),
      readTopics: flag(stream, "readTopics"),
      pollMessages: flag(stream, "pollMessages"),
      sendMessages: flag(stream, "sendMessages"),
      topics: (stream.topics ?? []).map((topic) => ({
        topicId: u32("permissions.topicId", topic.topicId),
        manageTopic: flag(topic, "manageTopic", "manage"),
        readTopic: flag(topic, "readTopic", "read"),
        pollMessages: flag(topic, "pollMessages"),
        sendMessages: flag(topic, "sendMessages"),
      })),
    })),
  };
}
