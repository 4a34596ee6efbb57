import {
  type AnyCommand,
  changePassword,
  type Command,
  createConsumerGroup,
  createPartitions,
  createPersonalAccessToken,
  createStream,
  createTopic,
  createUser,
  deleteConsumerGroup,
  deletePartitions,
  deletePersonalAccessToken,
  deleteSegments,
  deleteStream,
  deleteTopic,
  deleteUser,
  describeOptions,
  encodeRequest,
  ErrorCode,
  getConsumerGroup,
  getConsumerGroups,
  getMetadataChanges,
  getPersonalAccessTokens,
  getStream,
  getStreams,
  getTopic,
  getTopics,
  getUser,
  getUsers,
  isGranted,
  joinConsumerGroup,
  leaveConsumerGroup,
  noPermissions,
  OptionScope,
  optionString,
  type Permissions,
  type Right,
  syncConsumerGroup,
  updatePermissions,
  updateResource,
} from "@iggy/protocol";
import { MetadataMachine } from "@iggy/engine";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { id, type TestClient, TestNode } from "./node.js";

interface Case {
  readonly command: AnyCommand;
  readonly body: Uint8Array;
  /** What the caller needs; "anyone" for any signed-in user. */
  readonly right: Right | "anyone";
}
const one = <Req>(command: Command<Req, unknown>, request: Req, right: Case["right"]): Case => ({
  command,
  body: encodeRequest(command, request),
  right,
});

const stream = { streamId: id("s") };
const topic = { ...stream, topicId: id("t") };
const group = { ...topic, groupId: id("g") };
const user = { userId: id("other") };
const patch = (scope: object) => ({ target: scope, options: [optionString("name", "new")], reset: [] }) as never;

const writes: readonly Case[] = [
  one(createStream, { name: "new", options: [] }, "createStream"),
  one(updateResource, patch({ scope: OptionScope.stream, ...stream }), "manageStream"),
  one(deleteStream, stream, "manageStream"),
  one(createTopic, { ...stream, partitionsCount: 1, name: "new", options: [] }, "createTopic"),
  one(updateResource, patch({ scope: OptionScope.topic, ...topic }), "manageTopic"),
  one(deleteTopic, topic, "manageTopic"),
  one(createPartitions, { ...topic, partitionsCount: 1 }, "manageTopic"),
  one(deletePartitions, { ...topic, partitionsCount: 1 }, "manageTopic"),
  one(deleteSegments, { ...topic, partitionId: 0, segmentsCount: 1 }, "manageTopic"),
  one(createConsumerGroup, { ...topic, name: "new" }, "readTopic"),
  one(deleteConsumerGroup, group, "readTopic"),
  one(joinConsumerGroup, group, "readTopic"),
  one(leaveConsumerGroup, group, "readTopic"),
  one(createUser, { username: "new", password: "password", status: 1, permissions: null, options: [] }, "manageUsers"),
  one(deleteUser, user, "manageUsers"),
  one(updatePermissions, { ...user, permissions: null }, "manageUsers"),
  one(changePassword, { ...user, currentPassword: "password", newPassword: "password-2" }, "manageUsers"),
  one(
    updateResource,
    {
      target: { scope: OptionScope.user, ...user },
      options: [optionString("username", "renamed")],
      reset: [],
    },
    "manageUsers",
  ),
  one(createPersonalAccessToken, { name: "token", expiry: 0n }, "anyone"),
  one(deletePersonalAccessToken, { name: "token" }, "anyone"),
];

const changesRequest = { start: { mode: "earliest" }, since: null, until: null, limit: 10, groups: [] } as const;
const reads: readonly Case[] = [
  one(getStream, stream, "readStream"),
  one(getStreams, {}, "listStreams"),
  one(getTopic, topic, "readTopic"),
  one(getTopics, stream, "listTopics"),
  one(getConsumerGroup, group, "readTopic"),
  one(getConsumerGroups, topic, "readTopic"),
  one(syncConsumerGroup, group, "anyone"),
  one(getUser, user, "readUsers"),
  one(getUsers, {}, "readUsers"),
  one(getMetadataChanges, changesRequest, "manageServers"),
  one(getPersonalAccessTokens, {}, "anyone"),
  one(describeOptions, { scope: OptionScope.topic }, "anyone"),
];

let node: TestNode;
let root: TestClient;
let caller: TestClient;
beforeEach(async () => {
  node = new TestNode();
  root = node.signIn();
  await node.stream(root, "s");
  await node.topic(root, 0, "t", 2);
  await node.do(root, createConsumerGroup, { ...topic, name: "g" });
  for (const username of ["caller", "other"]) {
    await node.do(root, createUser, { username, password: "password", status: 1, permissions: null, options: [] });
  }
  caller = node.signIn(1);
});

const grant = (permissions: Permissions) => node.do(root, updatePermissions, { userId: id("caller"), permissions });
const title = ({ command, right }: Case): [string, Case["right"]] => [command.title, right];

const global = fc.record(
  Object.fromEntries(Object.keys(noPermissions.global).map((flag) => [flag, fc.boolean()])) as never,
) as fc.Arbitrary<Permissions["global"]>;
const somePermissions: fc.Arbitrary<Permissions> = fc.record({
  global: fc.oneof(fc.constant(noPermissions.global), global),
  streams: fc.array(
    fc.record({
      streamId: fc.constant(0),
      manageStream: fc.boolean(),
      readStream: fc.boolean(),
      manageTopics: fc.boolean(),
      readTopics: fc.boolean(),
      pollMessages: fc.boolean(),
      sendMessages: fc.boolean(),
      topics: fc.array(
        fc.record({
          topicId: fc.constant(0),
          manageTopic: fc.boolean(),
          readTopic: fc.boolean(),
          pollMessages: fc.boolean(),
          sendMessages: fc.boolean(),
        }),
        { maxLength: 1 },
      ),
    }),
    { maxLength: 1 },
  ),
});

/** A right on the stream or topic that the commands above name. */
const holds = (permissions: Permissions, right: Right): boolean => isGranted(permissions, right, 0, 0);

describe.each(writes.map((write) => [...title(write), write] as const))(
  "%s (%s)",
  (_title, right, { command, body }) => {
    it("is refused without the right and changes nothing, and works for root", async () => {
      const before = node.machine.totals(node.stats);
      const { code } = await node.sendBody(caller, command.operation, body);
      if (right === "anyone") expect(code).not.toBe(ErrorCode.Unauthorized);
      else {
        expect(code).toBe(ErrorCode.Unauthorized);
        expect(node.machine.totals(node.stats)).toEqual(before);
      }
      expect((await node.sendBody(root, command.operation, body)).code).not.toBe(ErrorCode.Unauthorized);
    });
  },
);

describe("a write", () => {
  it("is allowed exactly when the permissions grant its right", async () => {
    const write = fc.constantFrom(...writes.filter(({ right }) => right !== "anyone"));
    await fc.assert(
      fc.asyncProperty(write, somePermissions, async ({ command, body, right }, permissions) => {
        await grant(permissions);
        const snapshot = node.machine.snapshot();
        const { code } = await node.sendBody(caller, command.operation, body);
        expect(code === ErrorCode.Unauthorized).toBe(right !== "anyone" && !holds(permissions, right));
        // Back to where it was, whatever the write did.
        node.machine = MetadataMachine.restore(snapshot, node.config);
        caller.request--;
      }),
      { numRuns: 150 },
    );
  });

  it("reports a missing target before a missing right", async () => {
    const missing: readonly [Case, number][] = [
      [one(deleteStream, { streamId: id("x") }, "anyone"), 1009],
      [one(deleteTopic, { ...stream, topicId: id("x") }, "anyone"), 2010],
      [one(createPartitions, { ...topic, topicId: id(9), partitionsCount: 1 }, "anyone"), 2010],
      [one(deleteSegments, { ...topic, partitionId: 9, segmentsCount: 1 }, "anyone"), 3007],
      [one(joinConsumerGroup, { ...topic, groupId: id("x") }, "anyone"), 5000],
      [one(deleteUser, { userId: id("x") }, "anyone"), 20],
      [one(updatePermissions, { userId: id("x"), permissions: null }, "anyone"), 20],
    ];
    for (const [{ command, body }, code] of missing) {
      expect((await node.sendBody(caller, command.operation, body)).code).toBe(code);
    }
  });
});

describe("a read", () => {
  it("is allowed exactly when the permissions grant its right", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...reads), somePermissions, async ({ command, body, right }, permissions) => {
        await grant(permissions);
        const answer = node.machine.read(command.code, body, caller.userId, caller.client, node.stats);
        const isAllowed = right === "anyone" || holds(permissions, right);
        expect("status" in answer ? answer.status : 0).toBe(isAllowed ? 0 : ErrorCode.Unauthorized);
        expect("payload" in node.machine.read(command.code, body, 0, root.client, node.stats)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it("of an unknown user or command is refused", () => {
    expect(node.machine.read(getStreams.code, new Uint8Array(0), 99, 0n, node.stats)).toEqual({ status: 40 });
    expect(node.machine.read(9999, new Uint8Array(0), 0, 0n, node.stats)).toEqual({ status: 3 });
    expect(node.machine.answers(getStreams.code)).toBe(true);
    expect(node.machine.answers(9999)).toBe(false);
  });

  it("that does not decode is malformed", () => {
    expect(node.machine.read(getStream.code, new Uint8Array([9]), 0, 0n, node.stats)).toEqual({ status: 3 });
    expect(node.machine.read(describeOptions.code, new Uint8Array([4]), 0, 0n, node.stats)).toEqual({ status: 3 });
  });
});

describe("the data plane", () => {
  it("asks for rights by user", async () => {
    await grant({
      ...noPermissions,
      streams: [
        {
          streamId: 0,
          manageStream: false,
          readStream: false,
          manageTopics: false,
          readTopics: false,
          pollMessages: true,
          sendMessages: false,
          topics: [],
        },
      ],
    });
    expect(node.machine.mayDo(1, "poll", 0, 0)).toBe(true);
    expect(node.machine.mayDo(1, "send", 0, 0)).toBe(false);
    expect(node.machine.mayDo(0, "send", 0, 0)).toBe(true);
    expect(node.machine.mayDo(99, "poll", 0, 0)).toBe(false);
  });

  it.each([
    [id(9), id(0), 0, 1009],
    [id("x"), id(0), 0, 1010],
    [id(0), id(9), 0, 2010],
    [id("s"), id("x"), 0, 2011],
    [id("s"), id("t"), 2, 3007],
  ])("tells unknown numbers from unknown names: %j %j %i", (streamId, topicId, partitionId, code) => {
    expect(node.machine.resolvePartition(streamId, topicId, partitionId)).toMatchObject({ code });
  });

  it("finds partitions with their settings, and groups", () => {
    const found = node.machine.resolvePartition(id("s"), id(0), 1);
    expect(found).toMatchObject({ streamId: 0, topicId: 0, partitionId: 1 });
    expect(found).toHaveProperty("topic.settings.durability", "replicated");
    const owner = node.machine.resolveTopic(id(0), id("t"));
    if (!("groups" in owner)) throw new Error("no topic");
    expect(node.machine.resolveGroup(owner, id("g"))).toMatchObject({ id: 0 });
    expect(node.machine.resolveGroup(owner, id(7))).toMatchObject({ code: 5000 });
    expect(node.machine.resolveGroup(owner, id("x"))).toMatchObject({ code: 5003 });
  });
});
