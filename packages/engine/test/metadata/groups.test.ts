import {
  createConsumerGroup,
  createPartitions,
  decodeChange,
  deleteConsumerGroup,
  deletePartitions,
  deleteStream,
  encode,
  ErrorCode,
  getConsumerGroup,
  getConsumerGroups,
  getMetadataChanges,
  joinConsumerGroup,
  leaveConsumerGroup,
  logoutUser,
  type MetadataChange,
  Operation,
  removeConsumerGroupMember,
  syncConsumerGroup,
} from "@iggy/protocol";
import type { MetadataEffect } from "@iggy/engine";
import { beforeEach, describe, expect, it } from "vitest";
import { id, type TestClient, TestNode } from "./node.js";

let node: TestNode;
let root: TestClient;
beforeEach(async () => {
  node = new TestNode();
  root = node.signIn();
  await node.stream(root, "s");
  await node.topic(root, 0, "t", 4);
});

const place = { streamId: id("s"), topicId: id("t") };
const create = (name: string) => node.send(root, createConsumerGroup, { ...place, name });
const join = (by: TestClient, group: number | string = "g") =>
  node.send(by, joinConsumerGroup, { ...place, groupId: id(group) });
const leave = (by: TestClient, group: number | string = "g") =>
  node.send(by, leaveConsumerGroup, { ...place, groupId: id(group) });
const sync = (by: TestClient, group: number | string = "g") =>
  node.read(by, syncConsumerGroup, { ...place, groupId: id(group) });
const assigned = (by: TestClient) => {
  const answer = sync(by);
  return typeof answer === "number" || answer === null ? answer : answer.partitions;
};
const group = (name = "g") => {
  const reply = node.read(root, getConsumerGroup, { ...place, groupId: id(name) });
  if (reply === null || typeof reply === "number") throw new Error("no group");
  return reply;
};
const owners = (effects: readonly MetadataEffect[]) =>
  effects.flatMap((effect) => (effect.kind === "owner-decided" ? [[effect.partitionId, effect.owner] as const] : []));
/** Changes of the last applied op. */
const changes = (): MetadataChange[] => {
  const page = node.read(root, getMetadataChanges, {
    start: { mode: "earliest" },
    since: null,
    until: null,
    limit: 1000,
    groups: [],
  });
  if (typeof page === "number") throw new Error("refused");
  return page.records
    .filter((record) => record.op === BigInt(node.machine.appliedOp))
    .flatMap((record) => decodeChange(record) ?? []);
};

describe("consumer groups", () => {
  it("count their ids up and never use one again", async () => {
    expect((await create("a")).payload).toEqual(
      encode(createConsumerGroup.response, {
        group: { id: 0, partitionsCount: 4, membersCount: 0, name: "a" },
        members: [],
      }),
    );
    await create("b");
    await node.do(root, deleteConsumerGroup, { ...place, groupId: id("b") });
    await create("b");
    expect(node.read(root, getConsumerGroups, place)).toMatchObject({
      groups: [
        { id: 0, name: "a" },
        { id: 2, name: "b" },
      ],
    });
    expect(node.read(root, getConsumerGroup, { ...place, groupId: id(1) })).toBeNull();
  });

  it("refuse a taken name, and anything unknown, in the log", async () => {
    await create("a");
    expect(await create("a")).toMatchObject({ code: ErrorCode.ConsumerGroupNameAlreadyExists, isCommitted: true });
    const elsewhere = { streamId: id("s"), topicId: id("x"), name: "a" };
    expect((await node.send(root, createConsumerGroup, elsewhere)).code).toBe(ErrorCode.TopicIdNotFound);
    const nowhere = { streamId: id("x"), topicId: id("t"), name: "a" };
    expect((await node.send(root, createConsumerGroup, nowhere)).code).toBe(ErrorCode.StreamIdNotFound);
    for (const missing of [7, "missing"]) {
      for (const command of [deleteConsumerGroup, joinConsumerGroup, leaveConsumerGroup]) {
        const refused = await node.send(root, command, { ...place, groupId: id(missing) });
        expect(refused).toMatchObject({ code: ErrorCode.ConsumerGroupIdNotFound, isCommitted: true });
      }
    }
    expect(node.read(root, getConsumerGroup, { ...place, topicId: id("x"), groupId: id(0) })).toBe(2010);
    expect(node.read(root, getConsumerGroups, { ...place, streamId: id("x") })).toBe(1009);
  });

  it("tell the partitions which of them are left when one is deleted", async () => {
    for (const name of ["a", "b", "c"]) await create(name);
    const { effects } = await node.send(root, deleteConsumerGroup, { ...place, groupId: id("b") });
    expect(effects).toEqual([
      { kind: "groups-retired", streamId: 0, topicId: 0, liveGroupIds: [0, 2], nextGroupId: 3 },
    ]);
  });
});

describe("a member", () => {
  let first: TestClient;
  let second: TestClient;
  beforeEach(async () => {
    await create("g");
    first = node.signIn();
    second = node.signIn();
  });

  it("owns everything when it is alone, and joining again changes nothing", async () => {
    expect(sync(first)).toBeNull();
    const { effects } = await join(first);
    const generation = node.machine.appliedOp;
    const owner = { client: first.client, session: first.session, generation };
    expect(owners(effects)).toEqual([0, 1, 2, 3].map((partition) => [partition, owner]));
    expect(effects).toHaveLength(4);
    const before = sync(first);
    expect(before).toEqual({ generation: 1n, partitions: [0, 1, 2, 3] });
    expect(await join(first)).toMatchObject({ code: 0, effects: [] });
    expect(sync(first)).toEqual(before);
  });

  it("gets its share at once from others that have nothing in work", async () => {
    await join(first);
    const joined = node.machine.appliedOp;
    const { effects } = await join(second);
    const owner = { client: second.client, session: second.session, generation: joined + 1 };
    expect(owners(effects)).toEqual([
      [2, owner],
      [3, owner],
    ]);
    expect(assigned(first)).toEqual([0, 1]);
    expect(assigned(second)).toEqual([2, 3]);
    const kept = node.machine.partition(0, 0, 0);
    expect(kept && node.machine.owner(kept, 0)).toEqual({
      client: first.client,
      session: first.session,
      generation: joined,
    });
    expect(group().members).toEqual([
      { id: 0, partitionsCount: 2, partitions: [0, 1] },
      { id: 1, partitionsCount: 2, partitions: [2, 3] },
    ]);
  });

  it("may not poll what is being revoked, but owns it until the handover completes", async () => {
    await join(first);
    node.inFlight = () => true;
    const { effects } = await join(second);
    expect(effects).toEqual([]);
    expect(assigned(first)).toEqual([0, 1]);
    expect(assigned(second)).toEqual([]);
    const partition = node.machine.partition(0, 0, 3);
    if (partition === undefined) throw new Error("no partition");
    expect(node.machine.owner(partition, 0)?.client).toBe(first.client);
    expect(node.machine.mayPoll(partition, 0, first.client)).toBe(false);
    expect(group().members[0]?.partitions).toEqual([0, 1, 2, 3]);

    const due = (inFlight: boolean, after: number) =>
      node.machine.dueRevocations({ isInFlight: () => inFlight }, node.nowMicros + after, 30_000_000);
    expect(due(true, 0)).toEqual([]);
    expect(due(true, 30_000_001)).toHaveLength(2);
    const [completion] = due(false, 0);
    if (completion === undefined) throw new Error("nothing due");
    const applied = node.applyServer(completion);
    expect(owners(applied.effects)).toEqual([
      [3, { client: second.client, session: second.session, generation: node.machine.appliedOp }],
    ]);
    expect(changes()).toMatchObject([
      { kind: "consumer_group_partition_handed_over", body: { partitionId: 3, memberId: 1 } },
    ]);
    expect(assigned(second)).toEqual([3]);
    expect(node.machine.mayPoll(partition, 0, second.client)).toBe(true);
    expect(node.applyServer(completion)).toEqual({ code: 0, payload: new Uint8Array(0), effects: [] });
    expect(due(false, 0)).toHaveLength(1);
  });

  it("hands over only so many at a time as are asked for", async () => {
    await join(first);
    node.inFlight = () => true;
    await join(second);
    expect(node.machine.dueRevocations({ isInFlight: () => false }, 0, 0, 1)).toHaveLength(1);
  });

  it("leaves its partitions to the others, dealt out anew", async () => {
    await join(first);
    await join(second);
    const third = node.signIn();
    await join(third);
    const { code, effects } = await leave(first);
    expect(code).toBe(0);
    expect(assigned(first)).toBeNull();
    expect(assigned(second)).toEqual([0, 2]);
    expect(assigned(third)).toEqual([1, 3]);
    // Only what changes hands is decided anew.
    expect(owners(effects).every(([, owner]) => owner.generation === node.machine.appliedOp)).toBe(true);
    expect((await leave(first)).code).toBe(ErrorCode.ConsumerGroupMemberNotFound);
  });

  it("leaves a fence behind when it was the last", async () => {
    await join(first);
    const { effects } = await leave(first);
    const generation = node.machine.appliedOp;
    expect(owners(effects)).toEqual(
      [0, 1, 2, 3].map((partition) => [partition, { client: 0n, session: 0, generation }]),
    );
    expect(changes()).toMatchObject([
      { kind: "consumer_group_member_left", body: { memberId: 0, membersCount: 0, reason: 0 } },
      ...[0, 1, 2, 3].map((partitionId) => ({
        kind: "consumer_group_partition_handed_over",
        body: { partitionId, memberId: null },
      })),
    ]);
  });

  it("leaves with its session, from every group", async () => {
    await create("other");
    for (const name of ["g", "other"]) await join(first, name);
    await join(second);
    expect(node.machine.memberships(first.client)).toEqual([
      { streamId: 0, topicId: 0, groupId: 0 },
      { streamId: 0, topicId: 0, groupId: 1 },
    ]);
    expect((await node.send(first, logoutUser, {})).code).toBe(0);
    expect(node.machine.memberships(first.client)).toEqual([]);
    expect(assigned(second)).toEqual([0, 1, 2, 3]);
    expect(group("other").members).toEqual([]);
    expect(changes().filter((change) => change.kind === "consumer_group_member_left")).toMatchObject([
      { body: { groupId: 0, reason: 1 } },
      { body: { groupId: 1, reason: 1 } },
    ]);
  });

  it("takes the lowest free slot, and inherits nothing from an earlier holder", async () => {
    await join(first);
    await join(second);
    await leave(first);
    const third = node.signIn();
    await join(third);
    expect(group().members.map((member) => member.id)).toEqual([0, 1]);
    expect(assigned(third)).toHaveLength(2);
    expect(assigned(second)).toHaveLength(2);
  });

  it("gets a share of new partitions, and loses removed ones", async () => {
    await join(first);
    await join(second);
    const generation = () => (sync(first) as { generation: bigint }).generation;
    const before = generation();
    const added = await node.send(root, createPartitions, { ...place, partitionsCount: 2 });
    expect(added.effects.slice(0, 2)).toMatchObject([{ kind: "partition-created" }, { kind: "partition-created" }]);
    expect(assigned(first)).toEqual([0, 2, 4]);
    expect(assigned(second)).toEqual([1, 3, 5]);
    expect(generation()).toBe(before + 1n);
    await node.send(root, deletePartitions, { ...place, partitionsCount: 5 });
    expect(assigned(first)).toEqual([0]);
    expect(assigned(second)).toEqual([]);
    expect(changes().filter((change) => change.kind === "partitions_changed")).toMatchObject([
      { body: { partitionsCount: 1, removedPartitionIds: [1, 2, 3, 4, 5] } },
    ]);
  });

  it("drops a handover when its target leaves, and completes it when its source does", async () => {
    await join(first);
    node.inFlight = () => true;
    await join(second);
    await leave(second);
    expect(assigned(first)).toEqual([0, 1, 2, 3]);
    await join(second);
    await leave(first);
    expect(assigned(second)).toEqual([0, 1, 2, 3]);
    expect(node.machine.dueRevocations({ isInFlight: () => false }, Number.MAX_SAFE_INTEGER, 0)).toEqual([]);
  });

  it("of a deleted group is a member of nothing", async () => {
    await join(first);
    await node.do(root, deleteConsumerGroup, { ...place, groupId: id("g") });
    expect(sync(first, 0)).toBeNull();
    expect(node.machine.memberships(first.client)).toEqual([]);
    await create("g");
    expect(sync(first)).toBeNull();
    await join(first);
    await node.do(root, deleteStream, { streamId: id("s") });
    expect(node.machine.memberships(first.client)).toEqual([]);
  });

  it("is recorded as joined without partitions, which follow one by one", async () => {
    await join(first);
    expect(changes()).toMatchObject([
      {
        kind: "consumer_group_member_joined",
        body: { groupId: 0, memberId: 0, clientId: first.client, membersCount: 1, partitionIds: [] },
      },
      ...[0, 1, 2, 3].map((partitionId) => ({
        kind: "consumer_group_partition_handed_over",
        body: { partitionId, memberId: 0 },
      })),
    ]);
  });

  it("can be removed by the server, again and again", async () => {
    await join(first);
    const remove = {
      operation: Operation.RemoveConsumerGroupMember,
      client: 0n,
      session: 0,
      body: encode(removeConsumerGroupMember, { clientId: first.client }),
    };
    expect(owners(node.applyServer(remove).effects)).toHaveLength(4);
    expect(node.applyServer(remove)).toMatchObject({ code: 0, effects: [] });
    expect(node.applyRaw(first, remove.operation, remove.body).code).toBe(ErrorCode.InvalidCommand);
  });

  it("gets no assignment for a request that means nothing", () => {
    const answer = node.machine.read(syncConsumerGroup.code, new Uint8Array([9]), 0, first.client, node.stats);
    expect(answer).toEqual({ payload: new Uint8Array(0) });
  });
});
