import { type Codec, looseBool, type Reader, struct, u32, type ValueOf, type Writer } from "../codec/index.js";

// Every flag is one byte, written 0 or 1; any byte but 0 reads as granted.
const globalFlags = struct("global permissions", {
  manageServers: looseBool,
  readServers: looseBool,
  manageUsers: looseBool,
  readUsers: looseBool,
  manageStreams: looseBool,
  readStreams: looseBool,
  manageTopics: looseBool,
  readTopics: looseBool,
  pollMessages: looseBool,
  sendMessages: looseBool,
});

const streamFlags = struct("stream permissions", {
  streamId: u32,
  manageStream: looseBool,
  readStream: looseBool,
  manageTopics: looseBool,
  readTopics: looseBool,
  pollMessages: looseBool,
  sendMessages: looseBool,
});

const topicPermissions = struct("topic permissions", {
  topicId: u32,
  manageTopic: looseBool,
  readTopic: looseBool,
  pollMessages: looseBool,
  sendMessages: looseBool,
});

export type GlobalPermissions = ValueOf<typeof globalFlags>;
export type TopicPermissions = ValueOf<typeof topicPermissions>;
export type StreamPermissions = ValueOf<typeof streamFlags> & { readonly topics: readonly TopicPermissions[] };

/** Grants of a user. An empty list means no grants of that level; it reads and writes like an absent one. */
export interface Permissions {
  readonly global: GlobalPermissions;
  readonly streams: readonly StreamPermissions[];
}

export const noPermissions: Permissions = {
  global: {
    manageServers: false,
    readServers: false,
    manageUsers: false,
    readUsers: false,
    manageStreams: false,
    readStreams: false,
    manageTopics: false,
    readTopics: false,
    pollMessages: false,
    sendMessages: false,
  },
  streams: [],
};

/**
 * Lists are chains: a flag byte says whether there is a first entry, and each entry ends with one that says whether
 * another follows. They are written in ascending order of the ids.
 *
 *   global flags u8 × 10 · has_streams u8 · stream entry …
 *   stream entry = stream_id u32 · flags u8 × 6 · has_topics u8 · topic entry … · has_next_stream u8
 *   topic entry  = topic_id u32 · flags u8 × 4 · has_next_topic u8
 */
export const permissions: Codec<Permissions> = {
  type: "permissions",
  minSize: 11,
  size: ({ streams }) => streams.reduce((sum, stream) => sum + 12 + 9 * stream.topics.length, 11),
  write: (w, value) => {
    globalFlags.write(w, value.global);
    writeChain(
      w,
      byId(value.streams, (stream) => stream.streamId),
      (stream) => {
        streamFlags.write(w, stream);
        writeChain(
          w,
          byId(stream.topics, (topic) => topic.topicId),
          (topic) => topicPermissions.write(w, topic),
        );
      },
    );
  },
  read: (r) => ({
    global: globalFlags.read(r),
    streams: readChain(r, () => ({
      ...streamFlags.read(r),
      topics: readChain(r, () => topicPermissions.read(r)),
    })),
  }),
  sample: (s) => ({
    global: globalFlags.sample(s),
    streams: Array.from({ length: s.integer(3) }, (_, streamId) => ({
      ...streamFlags.sample(s),
      streamId: streamId * 3,
      topics: Array.from({ length: s.integer(2) }, (_unused, topicId) => ({
        ...topicPermissions.sample(s),
        topicId: topicId * 7,
      })),
    })),
  }),
};

const byId = <T>(items: readonly T[], idOf: (item: T) => number): T[] =>
  [...items].sort((left, right) => idOf(left) - idOf(right));

function writeChain<T>(w: Writer, items: readonly T[], writeItem: (item: T) => void): void {
  looseBool.write(w, items.length > 0);
  items.forEach((item, index) => {
    writeItem(item);
    looseBool.write(w, index + 1 < items.length);
  });
}

function readChain<T>(r: Reader, readItem: () => T): T[] {
  const items: T[] = [];
  while (looseBool.read(r)) items.push(readItem());
  return items;
}
