import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isGranted, noPermissions, permissions, type Permissions, type Right, rightNames } from "../../src/index.js";
import { samples } from "../random-sample.js";

const granting = (level: "global" | "stream" | "topic", flag: string): Permissions => {
  const stream = {
    streamId: 1,
    manageStream: false,
    readStream: false,
    manageTopics: false,
    readTopics: false,
    pollMessages: false,
    sendMessages: false,
  };
  const topic = { topicId: 2, manageTopic: false, readTopic: false, pollMessages: false, sendMessages: false };
  return {
    global: { ...noPermissions.global, ...(level === "global" ? { [flag]: true } : {}) },
    streams: [
      {
        ...stream,
        ...(level === "stream" ? { [flag]: true } : {}),
        topics: [{ ...topic, ...(level === "topic" ? { [flag]: true } : {}) }],
      },
    ],
  };
};

/** The rights that each single flag gives, on stream 1 and its topic 2. */
const rightsOf: Readonly<Record<string, readonly Right[]>> = {
  "global manageServers": ["readServers", "manageServers"],
  "global readServers": ["readServers"],
  "global manageUsers": ["readUsers", "manageUsers"],
  "global readUsers": ["readUsers"],
  "global manageStreams": [
    "listStreams",
    "readStream",
    "createStream",
    "manageStream",
    "listTopics",
    "readTopic",
    "createTopic",
    "manageTopic",
    "poll",
    "send",
  ],
  "global readStreams": ["listStreams", "readStream", "listTopics", "readTopic", "poll"],
  "global manageTopics": ["listTopics", "readTopic", "createTopic", "manageTopic", "poll", "send"],
  "global readTopics": ["listTopics", "readTopic", "poll"],
  "global pollMessages": ["poll"],
  "global sendMessages": ["send"],
  "stream manageStream": [
    "readStream",
    "manageStream",
    "listTopics",
    "readTopic",
    "createTopic",
    "manageTopic",
    "poll",
    "send",
  ],
  "stream readStream": ["readStream", "listTopics", "readTopic", "poll"],
  "stream manageTopics": ["listTopics", "readTopic", "createTopic", "manageTopic", "poll", "send"],
  "stream readTopics": ["listTopics", "readTopic", "poll"],
  "stream pollMessages": ["poll"],
  "stream sendMessages": ["send"],
  "topic manageTopic": ["readTopic", "manageTopic", "poll", "send"],
  "topic readTopic": ["readTopic", "poll"],
  "topic pollMessages": ["poll"],
  "topic sendMessages": ["send"],
};

describe("permission rules", () => {
  it.each(Object.entries(rightsOf))("%s gives its rights and no other", (flag, rights) => {
    const [level, name] = flag.split(" ") as ["global" | "stream" | "topic", string];
    const given = granting(level, name);
    expect(rightNames.filter((right) => isGranted(given, right, 1, 2))).toEqual(rights);
    // A grant on a stream or topic says nothing about another.
    const elsewhere = rightNames.filter((right) => isGranted(given, right, 3, 4));
    expect(elsewhere).toEqual(level === "global" ? rights : []);
  });

  it("gives nothing without permissions", () => {
    for (const right of rightNames) {
      expect(isGranted(null, right, 1, 2)).toBe(false);
      expect(isGranted(noPermissions, right, 1, 2)).toBe(false);
    }
  });

  it("never takes a right away when a flag is added", () => {
    fc.assert(
      fc.property(samples, (source) => {
        const some = permissions.sample(source);
        const more = { ...some, global: { ...some.global, manageTopics: true } };
        for (const right of rightNames) {
          if (isGranted(some, right, 0, 0)) expect(isGranted(more, right, 0, 0)).toBe(true);
        }
      }),
    );
  });
});
