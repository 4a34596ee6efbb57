import { keysOf } from "../codec/keys.js";
import type { GlobalPermissions, Permissions, StreamPermissions, TopicPermissions } from "./permissions.js";

type Flag<T> = { [K in keyof T]: T[K] extends boolean ? K : never }[keyof T];

interface Rule {
  readonly global: readonly Flag<GlobalPermissions>[];
  readonly stream?: readonly Flag<StreamPermissions>[];
  readonly topic?: readonly Flag<TopicPermissions>[];
}

/** What each right is granted by: any one of the flags, on the level named. Reading alone never grants sending. */
const rules = {
  readServers: { global: ["manageServers", "readServers"] },
  /** Snapshots and metadata changes too. */
  manageServers: { global: ["manageServers"] },
  /** A user may always read its own record. */
  readUsers: { global: ["manageUsers", "readUsers"] },
  /** A user may always change its own password. */
  manageUsers: { global: ["manageUsers"] },
  listStreams: { global: ["manageStreams", "readStreams"] },
  readStream: { global: ["manageStreams", "readStreams"], stream: ["manageStream", "readStream"] },
  createStream: { global: ["manageStreams"] },
  /** Update and delete. */
  manageStream: { global: ["manageStreams"], stream: ["manageStream"] },
  listTopics: {
    global: ["manageStreams", "readStreams", "manageTopics", "readTopics"],
    stream: ["manageStream", "readStream", "manageTopics", "readTopics"],
  },
  /** Every consumer group command too. */
  readTopic: {
    global: ["manageStreams", "readStreams", "manageTopics", "readTopics"],
    stream: ["manageStream", "readStream", "manageTopics", "readTopics"],
    topic: ["manageTopic", "readTopic"],
  },
  createTopic: { global: ["manageStreams", "manageTopics"], stream: ["manageStream", "manageTopics"] },
  /** Update and delete, partitions and segments too. */
  manageTopic: {
    global: ["manageStreams", "manageTopics"],
    stream: ["manageStream", "manageTopics"],
    topic: ["manageTopic"],
  },
  /** Consumer offsets too. */
  poll: {
    global: ["pollMessages", "manageStreams", "readStreams", "manageTopics", "readTopics"],
    stream: ["manageStream", "readStream", "manageTopics", "readTopics", "pollMessages"],
    topic: ["manageTopic", "readTopic", "pollMessages"],
  },
  send: {
    global: ["sendMessages", "manageStreams", "manageTopics"],
    stream: ["sendMessages", "manageStream", "manageTopics"],
    topic: ["sendMessages", "manageTopic"],
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type Right = keyof typeof rules;

export const rightNames: readonly Right[] = keysOf(rules);

/**
 * Whether permissions grant a right, on a stream or a topic where the right has one. A user without permissions has
 * none. The root user may do everything, and that is for the caller to know.
 */
export function isGranted(permissions: Permissions | null, right: Right, streamId?: number, topicId?: number): boolean {
  if (permissions === null) return false;
  const rule: Rule = rules[right];
  if (rule.global.some((flag) => permissions.global[flag])) return true;
  if (streamId === undefined || rule.stream === undefined) return false;
  const stream = permissions.streams.find((entry) => entry.streamId === streamId);
  if (stream === undefined) return false;
  if (rule.stream.some((flag) => stream[flag])) return true;
  if (topicId === undefined || rule.topic === undefined) return false;
  const topic = stream.topics.find((entry) => entry.topicId === topicId);
  return topic !== undefined && rule.topic.some((flag) => topic[flag]);
}
