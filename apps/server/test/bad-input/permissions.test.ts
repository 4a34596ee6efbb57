import {
  changePassword,
  createConsumerGroup,
  createPartitions,
  createPersonalAccessToken,
  createStream,
  createTopic,
  createUser,
  deleteConsumerGroup,
  deletePartitions,
  deleteSegments,
  deleteStream,
  deleteTopic,
  deleteUser,
  describeOptions,
  encodeBatch,
  fetchMessages,
  getClient,
  getClients,
  getClusterMetadata,
  getConsumerGroup,
  getConsumerGroups,
  getConsumerOffset,
  getMe,
  getMetadataChanges,
  getPartitionRoute,
  getPersonalAccessTokens,
  getSnapshot,
  getStats,
  getStream,
  getStreams,
  getTopic,
  getTopics,
  getUser,
  getUsers,
  joinConsumerGroup,
  leaveConsumerGroup,
  noPermissions,
  numericId,
  OptionScope,
  optionString,
  type Permissions,
  ping,
  pollMessages,
  sendMessages,
  storeConsumerOffset,
  deleteConsumerOffset,
  syncConsumerGroup,
  updatePermissions,
  updateResource,
} from "@iggy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { fixedPartitions, freshName, freshTopic, messages, type Overrides, RawSession } from "../raw-client/index.js";

// Every command is sent such that the right decides: who has it gets `allowed`, everybody else `denied`.

let server: RunningServer;
let admin: RawSession;
let bystander: { readonly username: string; readonly id: number };

beforeAll(async () => {
  server = await startServer();
  admin = await RawSession.open(server.port);
  bystander = await newUser(null);
  await admin.call(createStream, { name: "taken", options: [] });
});
afterAll(async () => {
  await admin.close();
  await server.close();
});

async function newUser(permissions: Permissions | null): Promise<{ readonly username: string; readonly id: number }> {
  const username = freshName("user");
  const request = { username, password: "s3cret", status: 1, permissions, options: [] };
  return { username, id: (await admin.call(createUser, request)).user.id };
}

/** What one user works on: nobody else touches it. */
interface Ground {
  readonly session: RawSession;
  readonly streamId: number;
  readonly topicId: number;
  readonly context: Overrides;
}

interface Trial {
  readonly right: string;
  readonly allowed: string;
  readonly denied: string;
  readonly ask: (ground: Ground) => Promise<string>;
}

const topicOf = ({ streamId, topicId }: Ground) => ({ streamId: numericId(streamId), topicId: numericId(topicId) });
const groupOf = (ground: Ground) => ({ ...topicOf(ground), groupId: numericId(0) });
const consumer = { kind: "consumer", id: numericId(1) } as const;
const partitionOf = (ground: Ground) => ({ ...topicOf(ground), consumer, partitionId: 0 });

const wholeLog = { start: { mode: "earliest" }, since: null, until: null, limit: 1, groups: [] } as const;
const fetchFields = {
  consumer,
  waitUs: 0n,
  requestTimeoutUs: 1_000_000n,
  minCount: 1,
  count: 1,
  maxBytes: 1000,
  autoCommit: false,
  targets: [
    {
      partitionId: 0,
      strategy: { kind: "offset", value: 0n },
      maxBytes: 1000,
      incarnation: 0n,
      ownerGeneration: 0n,
    },
  ],
} as const;

const READ = { allowed: "ok", denied: "status 41" };
const WRITE = { allowed: "ok", denied: "result 41" };

/** In this order: what removes something comes last. */
const trials: Readonly<Record<string, Trial>> = {
  GetStats: { right: "read servers", ...READ, ask: ({ session }) => session.try(getStats, {}) },
  GetClients: { right: "read servers", ...READ, ask: ({ session }) => session.try(getClients, {}) },
  GetClient: { right: "read servers", ...READ, ask: ({ session }) => session.try(getClient, { clientId: 1 }) },
  GetSnapshot: {
    right: "manage servers",
    ...READ,
    ask: ({ session }) => session.try(getSnapshot, { compression: 1, snapshotTypes: [3] }),
  },
  GetMetadataChanges: {
    right: "manage servers",
    ...READ,
    ask: ({ session }) => session.try(getMetadataChanges, wholeLog),
  },
  GetUsers: { right: "read users", ...READ, ask: ({ session }) => session.try(getUsers, {}) },
  GetUser: {
    right: "read users",
    ...READ,
    ask: ({ session }) => session.try(getUser, { userId: numericId(bystander.id) }),
  },
  CreateUser: {
    right: "manage users",
    allowed: "status 46",
    denied: "status 41",
    ask: ({ session }) => {
      const request = { username: bystander.username, password: "s3cret", status: 1, permissions: null, options: [] };
      return session.try(createUser, request);
    },
  },
  DeleteUser: {
    right: "manage users",
    allowed: "result 48",
    denied: "result 41",
    ask: ({ session }) => session.try(deleteUser, { userId: numericId(0) }),
  },
  UpdatePermissions: {
    right: "manage users",
    ...WRITE,
    ask: ({ session }) => session.try(updatePermissions, { userId: numericId(bystander.id), permissions: null }),
  },
  "ChangePassword of another": {
    right: "manage users",
    allowed: "result 42",
    denied: "result 41",
    ask: ({ session }) => {
      const request = { userId: numericId(bystander.id), currentPassword: "wrong", newPassword: "other" };
      return session.try(changePassword, request);
    },
  },
  "UpdateResource of a user": {
    right: "manage users",
    ...WRITE,
    ask: ({ session }) => {
      const target = { scope: OptionScope.user, userId: numericId(bystander.id) };
      return session.try(updateResource, {
        target,
        reset: [],
        options: [optionString("username", bystander.username)],
      });
    },
  },
  GetStreams: { right: "list streams", ...READ, ask: ({ session }) => session.try(getStreams, {}) },
  GetStream: { right: "read stream", ...READ, ask: (ground) => ground.session.try(getStream, topicOf(ground)) },
  CreateStream: {
    right: "create stream",
    allowed: "result 1012",
    denied: "result 41",
    ask: ({ session }) => session.try(createStream, { name: "taken", options: [] }),
  },
  "UpdateResource of a stream": {
    right: "manage stream",
    ...WRITE,
    ask: ({ session, streamId }) => {
      const target = { scope: OptionScope.stream, streamId: numericId(streamId) };
      return session.try(updateResource, { target, reset: [], options: [optionString("name", freshName("renamed"))] });
    },
  },
  GetTopics: { right: "list topics", ...READ, ask: (ground) => ground.session.try(getTopics, topicOf(ground)) },
  GetTopic: { right: "read topic", ...READ, ask: (ground) => ground.session.try(getTopic, topicOf(ground)) },
  GetConsumerGroup: {
    right: "read topic",
    ...READ,
    ask: (ground) => ground.session.try(getConsumerGroup, groupOf(ground)),
  },
  GetConsumerGroups: {
    right: "read topic",
    ...READ,
    ask: (ground) => ground.session.try(getConsumerGroups, topicOf(ground)),
  },
  CreateConsumerGroup: {
    right: "read topic",
    allowed: "result 5004",
    denied: "result 41",
    ask: (ground) => ground.session.try(createConsumerGroup, { ...topicOf(ground), name: "group" }),
  },
  JoinConsumerGroup: {
    right: "read topic",
    ...WRITE,
    ask: (ground) => ground.session.try(joinConsumerGroup, groupOf(ground)),
  },
  LeaveConsumerGroup: {
    right: "read topic",
    ...WRITE,
    ask: (ground) => ground.session.try(leaveConsumerGroup, groupOf(ground)),
  },
  CreateTopic: {
    right: "create topic",
    allowed: "result 2013",
    denied: "result 41",
    ask: ({ session, streamId }) => {
      const request = { streamId: numericId(streamId), partitionsCount: 1, name: "taken", options: [] };
      return session.try(createTopic, request);
    },
  },
  "UpdateResource of a topic": {
    right: "manage topic",
    ...WRITE,
    ask: (ground) => {
      const target = { scope: OptionScope.topic, ...topicOf(ground) };
      const options = [optionString("name", freshName("renamed"))];
      return ground.session.try(updateResource, { target, reset: [], options });
    },
  },
  CreatePartitions: {
    right: "manage topic",
    allowed: "status 2023",
    denied: "result 41",
    ask: (ground) => ground.session.try(createPartitions, { ...topicOf(ground), partitionsCount: 1 }),
  },
  DeletePartitions: {
    right: "manage topic",
    allowed: "result 2023",
    denied: "result 41",
    ask: (ground) => ground.session.try(deletePartitions, { ...topicOf(ground), partitionsCount: 1 }),
  },
  DeleteSegments: {
    right: "manage topic",
    allowed: "ok",
    denied: "status 41",
    ask: (ground) => ground.session.try(deleteSegments, { ...topicOf(ground), partitionId: 0, segmentsCount: 1 }),
  },
  SendMessages: {
    right: "send",
    ...READ,
    ask: (ground) => {
      const partitioning = { kind: "partition_id", partitionId: 0 } as const;
      const request = { ...topicOf(ground), partitioning, messagesCount: 1, batch: encodeBatch(messages(1)) };
      return ground.session.try(sendMessages, request, ground.context);
    },
  },
  PollMessages: {
    right: "poll",
    ...READ,
    ask: (ground) => {
      const strategy = { kind: "first", value: 0n } as const;
      const request = { ...partitionOf(ground), strategy, count: 1, autoCommit: false };
      return ground.session.try(pollMessages, request, ground.context);
    },
  },
  FetchMessages: {
    right: "poll",
    ...READ,
    ask: (ground) => ground.session.try(fetchMessages, { ...topicOf(ground), ...fetchFields }),
  },
  GetConsumerOffset: {
    right: "poll",
    ...READ,
    ask: (ground) => ground.session.try(getConsumerOffset, partitionOf(ground), ground.context),
  },
  StoreConsumerOffset: {
    right: "poll",
    ...READ,
    ask: (ground) =>
      ground.session.try(storeConsumerOffset, { ...partitionOf(ground), offset: 0n, ack: "quorum" }, ground.context),
  },
  DeleteConsumerOffset: {
    right: "poll",
    ...READ,
    ask: (ground) =>
      ground.session.try(deleteConsumerOffset, { ...partitionOf(ground), ack: "quorum" }, ground.context),
  },
  GetPartitionRoute: {
    right: "poll or send",
    ...READ,
    ask: (ground) => ground.session.try(getPartitionRoute, { ...topicOf(ground), partitionId: 0 }),
  },
  DeleteConsumerGroup: {
    right: "read topic",
    ...WRITE,
    ask: (ground) => ground.session.try(deleteConsumerGroup, groupOf(ground)),
  },
  DeleteTopic: { right: "manage topic", ...WRITE, ask: (ground) => ground.session.try(deleteTopic, topicOf(ground)) },
  DeleteStream: {
    right: "manage stream",
    ...WRITE,
    ask: (ground) => ground.session.try(deleteStream, topicOf(ground)),
  },
};

/** What each flag opens, and nothing else. */
const opens: Readonly<Record<Level, Readonly<Record<string, readonly string[]>>>> = {
  global: {
    manageServers: ["read servers", "manage servers"],
    readServers: ["read servers"],
    manageUsers: ["read users", "manage users"],
    readUsers: ["read users"],
    manageStreams: [
      "list streams",
      "read stream",
      "create stream",
      "manage stream",
      "list topics",
      "read topic",
      "create topic",
      "manage topic",
      "poll",
      "send",
    ],
    readStreams: ["list streams", "read stream", "list topics", "read topic", "poll"],
    manageTopics: ["list topics", "read topic", "create topic", "manage topic", "poll", "send"],
    readTopics: ["list topics", "read topic", "poll"],
    pollMessages: ["poll"],
    sendMessages: ["send"],
  },
  stream: {
    manageStream: [
      "read stream",
      "manage stream",
      "list topics",
      "read topic",
      "create topic",
      "manage topic",
      "poll",
      "send",
    ],
    readStream: ["read stream", "list topics", "read topic", "poll"],
    manageTopics: ["list topics", "read topic", "create topic", "manage topic", "poll", "send"],
    readTopics: ["list topics", "read topic", "poll"],
    pollMessages: ["poll"],
    sendMessages: ["send"],
  },
  topic: {
    manageTopic: ["read topic", "manage topic", "poll", "send"],
    readTopic: ["read topic", "poll"],
    pollMessages: ["poll"],
    sendMessages: ["send"],
  },
};
type Level = "global" | "stream" | "topic";

const has = (rights: readonly string[], right: string): boolean =>
  right === "poll or send" ? rights.includes("poll") || rights.includes("send") : rights.includes(right);

async function outcomesOf(ground: Ground): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  for (const [title, { ask }] of Object.entries(trials)) outcomes[title] = await ask(ground);
  return outcomes;
}

const expected = (rights: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(trials).map(([title, { right, allowed, denied }]) => [title, has(rights, right) ? allowed : denied]),
  );

/** A stream with a topic in it, made for one user. */
async function freshGround(permissionsFor: (ids: Ids) => Permissions | null): Promise<Ground> {
  const { streamId, topicId, partitions } = await freshTopic(admin, { options: [fixedPartitions] });
  const place = { streamId: numericId(streamId), topicId: numericId(topicId) };
  await admin.call(createTopic, { ...place, partitionsCount: 1, name: "taken", options: [] });
  await admin.call(createConsumerGroup, { ...place, name: "group" });
  await partitions[0]!.send(messages(1));
  const user = await newUser(permissionsFor({ streamId, topicId }));
  const session = await RawSession.open(server.port, { username: user.username, password: "s3cret" });
  return { session, streamId, topicId, context: partitions[0]!.context };
}

interface Ids {
  readonly streamId: number;
  readonly topicId: number;
}

function permissionsWith(level: Level, flag: string, { streamId, topicId }: Ids): Permissions {
  if (level === "global") return { ...noPermissions, global: { ...noPermissions.global, [flag]: true } };
  const stream = {
    streamId,
    manageStream: false,
    readStream: false,
    manageTopics: false,
    readTopics: false,
    pollMessages: false,
    sendMessages: false,
    topics: [],
  };
  if (level === "stream") return { ...noPermissions, streams: [{ ...stream, [flag]: true }] };
  const topic = {
    topicId,
    manageTopic: false,
    readTopic: false,
    pollMessages: false,
    sendMessages: false,
    [flag]: true,
  };
  return { ...noPermissions, streams: [{ ...stream, topics: [topic] }] };
}

it.each([
  ["without permissions", null],
  ["with an empty set of permissions", noPermissions],
])("a user %s is denied everything that needs a right, and changes nothing", async (_what, permissions) => {
  const ground = await freshGround(() => permissions);
  expect(await outcomesOf(ground)).toEqual(expected([]));
  // What everyone may do who is signed in.
  const { session } = ground;
  expect(await session.try(ping, {})).toBe("ok");
  expect(await session.try(getMe, {})).toBe("ok");
  expect(await session.try(getClusterMetadata, {})).toBe("ok");
  expect(await session.try(describeOptions, { scope: OptionScope.topic })).toBe("ok");
  expect(await session.try(getUser, { userId: numericId(session.userId) })).toBe("ok");
  expect(await session.try(createPersonalAccessToken, { name: "own", expiry: 0n })).toBe("ok");
  expect((await session.call(getPersonalAccessTokens, {})).tokens).toHaveLength(1);
  expect((await admin.call(getPersonalAccessTokens, {})).tokens).toHaveLength(0);
  expect(await session.try(syncConsumerGroup, groupOf(ground))).toBe("ok");
  const change = { userId: numericId(session.userId), currentPassword: "s3cret", newPassword: "other" };
  expect(await session.try(changePassword, change)).toBe("ok");
  // The objects are still there.
  expect(await admin.call(getTopic, topicOf(ground))).not.toBeNull();
  await session.close();
});

describe.each(["global", "stream", "topic"] as const)("%s permissions", (level) => {
  it.each(Object.entries(opens[level]))("%s alone opens what it should and nothing else", async (flag, rights) => {
    const ground = await freshGround((ids) => permissionsWith(level, flag, ids));
    if (level !== "global") {
      // A grant on one stream, or one topic of it, says nothing about its neighbours.
      const elsewhere = await freshGround(() => null);
      const neighbour = { ...elsewhere, session: ground.session };
      expect(await outcomesOf(neighbour)).toEqual(expected([]));
      await elsewhere.session.close();
    }
    if (level === "topic") {
      const sibling = { ...ground, topicId: ground.topicId + 1 };
      expect(await trials["GetTopic"]!.ask(sibling)).toBe("status 41");
      expect(await trials["PollMessages"]!.ask(sibling)).toBe("status 41");
      expect(await trials["SendMessages"]!.ask(sibling)).toBe("status 41");
      expect(await trials["DeleteTopic"]!.ask(sibling)).toBe("result 41");
    }
    expect(await outcomesOf(ground)).toEqual(expected(rights));
    await ground.session.close();
  });
});

it("rights that are taken away are gone with the next request of every session", async () => {
  const ground = await freshGround((ids) => permissionsWith("global", "pollMessages", ids));
  const userId = numericId(ground.session.userId);
  const poll = trials["PollMessages"]!;
  expect(await poll.ask(ground)).toBe("ok");
  await admin.call(updatePermissions, { userId, permissions: null });
  expect(await poll.ask(ground)).toBe("status 41");
  await admin.call(updatePermissions, { userId, permissions: permissionsWith("stream", "pollMessages", ground) });
  expect(await poll.ask(ground)).toBe("ok");
  // A stream that is made again under its number has nothing of the old one's grants.
  await admin.call(deleteStream, topicOf(ground));
  const again = await freshTopic(admin);
  expect(again.streamId).toBe(ground.streamId);
  expect(await poll.ask({ ...ground, context: again.partitions[0]!.context })).toBe("status 41");
  await ground.session.close();
});
