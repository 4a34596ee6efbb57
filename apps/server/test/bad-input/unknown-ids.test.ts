import {
  changePassword,
  createConsumerGroup,
  createPartitions,
  createTopic,
  deleteConsumerGroup,
  deleteConsumerOffset,
  deletePartitions,
  deletePersonalAccessToken,
  deleteSegments,
  deleteStream,
  deleteTopic,
  deleteUser,
  encodeBatch,
  fetchMessages,
  getClient,
  getConsumerGroup,
  getConsumerGroups,
  getConsumerOffset,
  getPartitionRoute,
  getStream,
  getTopic,
  getTopics,
  getUser,
  type Identifier,
  joinConsumerGroup,
  leaveConsumerGroup,
  namedId,
  numericId,
  OptionScope,
  optionString,
  pollMessages,
  pollMessagesDeferred,
  sendMessages,
  storeConsumerOffset,
  syncConsumerGroup,
  updatePermissions,
  updateResource,
} from "@iggy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  type Answer,
  freshTopic,
  group,
  messages,
  outcome,
  type RawPartition,
  RawSession,
  type RawTopic,
} from "../raw-client/index.js";

let server: RunningServer;
let session: RawSession;
let topic: RawTopic;
let partition: RawPartition;
/** Ids of what exists. */
let streamId: Identifier;
let topicId: Identifier;
const groupId = numericId(0);

beforeAll(async () => {
  server = await startServer();
  session = await RawSession.open(server.port);
  topic = await freshTopic(session);
  partition = topic.partitions[0]!;
  ({ streamId, topicId } = partition);
  await session.call(createConsumerGroup, { streamId, topicId, name: "group" });
  await partition.send(messages(3));
});
afterAll(async () => {
  await session.close();
  await server.close();
});

const missing = numericId(77);
const highest = numericId(0xffff_ffff);
const nameless = namedId("nobody");

/** The outcome, with `none` for the empty reply that says that there is no such object. */
const told = (answer: Answer): string =>
  answer.kind === "ok" && answer.payload.length === 0 && !answer.header.isCommitted ? "none" : outcome(answer);

interface Place {
  readonly streamId: Identifier;
  readonly topicId: Identifier;
}

/** What is missing, and where: a stream, or a topic of a stream that exists; by number and by name. */
const places = (): readonly (readonly [string, Place])[] => [
  ["stream by number", { streamId: missing, topicId }],
  ["stream by the highest number", { streamId: highest, topicId }],
  ["stream by name", { streamId: nameless, topicId }],
  ["topic by number", { streamId, topicId: missing }],
  ["topic by the highest number", { streamId, topicId: highest }],
  ["topic by name", { streamId, topicId: nameless }],
];

async function outcomesAt(ask: (place: Place) => Promise<Answer>): Promise<string[]> {
  const outcomes: string[] = [];
  for (const [, place] of places()) outcomes.push(told(await ask(place)));
  return outcomes;
}

describe("a stream or topic that does not exist", () => {
  /** Metadata tells numbers and names alike; the data plane tells them apart. */
  const asMetadata = (channel: string): string[] => [
    ...Array.from({ length: 3 }, () => `${channel} 1009`),
    ...Array.from({ length: 3 }, () => `${channel} 2010`),
  ];
  const asData = ["status 1009", "status 1009", "status 1010", "status 2010", "status 2010", "status 2011"];

  const metadata: readonly (readonly [string, string, (place: Place) => Promise<Answer>])[] = [
    ["DeleteTopic", "result", (place) => session.ask(deleteTopic, place)],
    ["CreatePartitions", "result", (place) => session.ask(createPartitions, { ...place, partitionsCount: 1 })],
    ["DeletePartitions", "result", (place) => session.ask(deletePartitions, { ...place, partitionsCount: 1 })],
    [
      "DeleteSegments",
      "status",
      (place) => session.ask(deleteSegments, { ...place, partitionId: 0, segmentsCount: 1 }),
    ],
    ["CreateConsumerGroup", "result", (place) => session.ask(createConsumerGroup, { ...place, name: "other" })],
    ["DeleteConsumerGroup", "result", (place) => session.ask(deleteConsumerGroup, { ...place, groupId })],
    ["JoinConsumerGroup", "result", (place) => session.ask(joinConsumerGroup, { ...place, groupId })],
    ["LeaveConsumerGroup", "result", (place) => session.ask(leaveConsumerGroup, { ...place, groupId })],
    ["GetConsumerGroup", "status", (place) => session.ask(getConsumerGroup, { ...place, groupId })],
    ["GetConsumerGroups", "status", (place) => session.ask(getConsumerGroups, place)],
    [
      "UpdateResource",
      "result",
      (place) =>
        session.ask(updateResource, {
          target: { scope: OptionScope.topic, ...place },
          reset: [],
          options: [optionString("name", "other")],
        }),
    ],
  ];
  it.each(metadata)("%s", async (_title, channel, ask) => {
    expect(await outcomesAt(ask)).toEqual(asMetadata(channel));
  });

  const consumerOf = (
    place: Place,
  ): { readonly partitionId: number } & Place & { readonly consumer: ReturnType<typeof group> } => ({
    ...place,
    consumer: { kind: "consumer", id: numericId(1) },
    partitionId: 0,
  });
  const pollOf = (place: Place) =>
    ({ ...consumerOf(place), strategy: { kind: "first", value: 0n }, count: 1, autoCommit: false }) as const;
  const data: readonly (readonly [string, (place: Place) => Promise<Answer>])[] = [
    ["GetPartitionRoute", (place) => session.ask(getPartitionRoute, { ...place, partitionId: 0 })],
    [
      "SendMessages",
      (place) =>
        session.ask(
          sendMessages,
          {
            ...place,
            partitioning: { kind: "partition_id", partitionId: 0 },
            messagesCount: 1,
            batch: encodeBatch(messages(1)),
          },
          partition.context,
        ),
    ],
    ["PollMessages", (place) => session.ask(pollMessages, pollOf(place), partition.context)],
    [
      "PollMessagesDeferred",
      (place) =>
        session.ask(
          pollMessagesDeferred,
          { poll: pollOf(place), waitUs: 0n, minCount: 1, maxBytes: 1000, requestTimeoutUs: 1_000_000n },
          partition.context,
        ),
    ],
    ["FetchMessages", (place) => session.ask(fetchMessages, fetchOf(place, 0))],
    ["GetConsumerOffset", (place) => session.ask(getConsumerOffset, consumerOf(place))],
    [
      "StoreConsumerOffset",
      (place) =>
        session.ask(storeConsumerOffset, { ...consumerOf(place), offset: 0n, ack: "quorum" }, partition.context),
    ],
    [
      "DeleteConsumerOffset",
      (place) => session.ask(deleteConsumerOffset, { ...consumerOf(place), ack: "quorum" }, partition.context),
    ],
  ];
  it.each(data)("%s", async (_title, ask) => {
    expect(await outcomesAt(ask)).toEqual(asData);
  });

  it("GetTopic has none, GetTopics an empty list, SyncConsumerGroup no assignment", async () => {
    expect(await outcomesAt((place) => session.ask(getTopic, place))).toEqual(Array.from({ length: 6 }, () => "none"));
    expect(await session.call(getTopics, { streamId: missing })).toEqual({ topics: [] });
    const sync = await outcomesAt((place) => session.ask(syncConsumerGroup, { ...place, groupId }));
    expect(sync).toEqual(Array.from({ length: 6 }, () => "none"));
  });

  it.each([missing, highest, nameless])("%o as a stream", async (id) => {
    expect(told(await session.ask(getStream, { streamId: id }))).toBe("none");
    expect(await session.try(deleteStream, { streamId: id })).toBe("result 1009");
    const topicOf = { streamId: id, partitionsCount: 1, name: "t", options: [] };
    expect(await session.try(createTopic, topicOf)).toBe("result 1009");
    const target = { scope: OptionScope.stream, streamId: id };
    expect(await session.try(updateResource, { target, reset: [], options: [optionString("name", "x")] })).toBe(
      "result 1009",
    );
  });
});

describe("a partition that does not exist", () => {
  it.each([1, 1000, 1_000_000, 0xffff_ffff])("%i: 3007 for every command that names it", async (partitionId) => {
    const place = { streamId, topicId, partitionId };
    const consumer = { kind: "consumer", id: numericId(1) } as const;
    const target = { ...place, consumer };
    const strategy = { kind: "first", value: 0n } as const;
    const { context } = partition;
    const outcomes = [
      await session.try(getPartitionRoute, place),
      await session.try(deleteSegments, { ...place, segmentsCount: 1 }),
      await session.try(pollMessages, { ...target, strategy, count: 1, autoCommit: false }, context),
      await session.try(getConsumerOffset, target),
      await session.try(storeConsumerOffset, { ...target, offset: 0n, ack: "quorum" }, context),
      await session.try(deleteConsumerOffset, { ...target, ack: "quorum" }, context),
      await session.try(
        sendMessages,
        {
          streamId,
          topicId,
          partitioning: { kind: "partition_id", partitionId },
          messagesCount: 1,
          batch: encodeBatch(messages(1)),
        },
        context,
      ),
    ];
    expect(outcomes).toEqual(outcomes.map(() => "status 3007"));
  });

  it("is a section of a fetch, not the end of it", async () => {
    const request = fetchOf({ streamId, topicId }, 0);
    const known = { ...request.targets[0], incarnation: partition.incarnation };
    const reply = await session.call(fetchMessages, {
      ...request,
      targets: [{ ...known, partitionId: 9 }, known, { ...known, partitionId: 5, incarnation: 0n }],
    });
    expect(
      reply.sections.map(({ partitionId, status, messagesCount }) => [partitionId, status, messagesCount]),
    ).toEqual([
      [9, 3007, 0],
      [0, 0, 3],
      [5, 3007, 0],
    ]);
  });

  it("an absent one is partition 0 to a read of a consumer, and refused with 6 elsewhere", async () => {
    const absent = { streamId, topicId, partitionId: null, consumer: { kind: "consumer", id: numericId(1) } } as const;
    const { context } = partition;
    expect(await session.try(getConsumerOffset, absent)).toBe("ok");
    const poll = { ...absent, strategy: { kind: "first", value: 0n }, count: 1, autoCommit: false } as const;
    expect(await session.try(pollMessages, poll, context)).toBe("ok");
    expect(await session.try(pollMessages, { ...poll, consumer: group(0) }, context)).toBe("status 6");
    expect(await session.try(storeConsumerOffset, { ...absent, offset: 0n, ack: "quorum" }, context)).toBe("status 6");
    expect(await session.try(deleteConsumerOffset, { ...absent, ack: "quorum" }, context)).toBe("status 6");
  });
});

describe("a group that does not exist", () => {
  it.each([
    ["by number", missing, "status 5000"],
    ["by name", nameless, "status 5003"],
  ] as const)("%s", async (_how, id, asData) => {
    const place = { streamId, topicId, groupId: id };
    expect(await session.try(deleteConsumerGroup, place)).toBe("result 5000");
    expect(await session.try(joinConsumerGroup, place)).toBe("result 5000");
    expect(await session.try(leaveConsumerGroup, place)).toBe("result 5000");
    expect(told(await session.ask(getConsumerGroup, place))).toBe("none");
    expect(told(await session.ask(syncConsumerGroup, place))).toBe("none");
    for (const kind of ["consumer_group", "external_group"] as const) {
      const target = { consumer: { kind, id }, streamId, topicId, partitionId: 0 };
      const { context } = partition;
      expect(await session.try(getConsumerOffset, target, context)).toBe(asData);
      expect(await session.try(storeConsumerOffset, { ...target, offset: 0n, ack: "quorum" }, context)).toBe(asData);
      expect(await session.try(deleteConsumerOffset, { ...target, ack: "quorum" }, context)).toBe(asData);
    }
    const consumer = { kind: "consumer_group", id } as const;
    expect(outcome(await partition.tryPoll({ kind: "next", value: 0n }, { consumer }))).toBe(asData);
  });

  it("one that exists is left by members only, and read by members only", async () => {
    expect(await session.try(leaveConsumerGroup, { streamId, topicId, groupId })).toBe("result 5006");
    expect(told(await session.ask(syncConsumerGroup, { streamId, topicId, groupId }))).toBe("none");
    expect(outcome(await partition.tryPoll({ kind: "next", value: 0n }, { consumer: group(0) }))).toBe("status 5009");
    expect(outcome(await partition.tryStore(0, group(0)))).toBe("status 5009");
  });

  it("an external group is never polled", async () => {
    const consumer = { kind: "external_group", id: groupId } as const;
    expect(outcome(await partition.tryPoll({ kind: "next", value: 0n }, { consumer }))).toBe("status 5");
    expect(await session.try(fetchMessages, { ...fetchOf({ streamId, topicId }, 0), consumer })).toBe("status 5");
  });
});

describe("users, tokens, clients and offsets that do not exist", () => {
  it.each([missing, highest, nameless])("user %o: 20, or none", async (userId) => {
    expect(told(await session.ask(getUser, { userId }))).toBe("none");
    expect(await session.try(deleteUser, { userId })).toBe("result 20");
    expect(await session.try(updatePermissions, { userId, permissions: null })).toBe("result 20");
    expect(await session.try(changePassword, { userId, currentPassword: "abc", newPassword: "abcd" })).toBe(
      "result 20",
    );
    const target = { scope: OptionScope.user, userId };
    expect(await session.try(updateResource, { target, reset: [], options: [optionString("status", "active")] })).toBe(
      "result 20",
    );
  });

  it("the root user can be neither deleted, nor restricted, nor renamed, nor deactivated", async () => {
    const userId = numericId(0);
    expect(await session.try(deleteUser, { userId })).toBe("result 48");
    expect(await session.try(updatePermissions, { userId, permissions: null })).toBe("result 49");
    for (const option of [optionString("username", "other"), optionString("status", "inactive")]) {
      const target = { scope: OptionScope.user, userId };
      expect(await session.try(updateResource, { target, reset: [], options: [option] })).toBe("result 4108");
    }
  });

  it("token, client, stored offset", async () => {
    expect(await session.try(deletePersonalAccessToken, { name: "none" })).toBe("result 20");
    expect(told(await session.ask(getClient, { clientId: 0xffff_ffff }))).toBe("none");
    expect(await partition.stored()).toBeNull();
    expect(outcome(await partition.tryDeleteOffset())).toBe("status 3021");
  });

  it("an offset behind the last message is no place to have read to: 4100", async () => {
    expect(outcome(await partition.tryStore(3))).toBe("status 4100");
    expect(outcome(await partition.tryStore(2))).toBe("ok");
    const far = { streamId, topicId, partitionId: 0, consumer: { kind: "consumer", id: numericId(1) } } as const;
    for (const offset of [2n ** 53n, 2n ** 64n - 1n]) {
      expect(await session.try(storeConsumerOffset, { ...far, offset, ack: "quorum" }, partition.context)).toBe(
        "status 4100",
      );
    }
  });
});

function fetchOf(place: Place, partitionId: number) {
  const target = {
    partitionId,
    strategy: { kind: "offset", value: 0n },
    maxBytes: 1_000_000,
    incarnation: 0n,
    ownerGeneration: 0n,
  } as const;
  return {
    ...place,
    consumer: { kind: "consumer", id: numericId(1) },
    waitUs: 0n,
    requestTimeoutUs: 1_000_000n,
    minCount: 1,
    count: 100,
    maxBytes: 1_000_000,
    autoCommit: false,
    targets: [target],
  } as const;
}
