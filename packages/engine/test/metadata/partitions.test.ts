import {
  createPartitions,
  createTopicWithAssignments,
  deletePartitions,
  deleteSegments,
  encode,
  ErrorCode,
  getTopic,
  Operation,
  optionString,
} from "@iggy/protocol";
import { Refusal } from "@iggy/engine";
import { beforeEach, describe, expect, it } from "vitest";
import { id, type TestClient, TestNode } from "./node.js";

let node: TestNode;
let root: TestClient;
beforeEach(async () => {
  node = new TestNode();
  root = node.signIn();
  await node.stream(root, "s");
  await node.topic(root, 0, "t", 2);
});

const resize = (command: typeof createPartitions, partitionsCount: number, topicId: number | string = 0) =>
  node.send(root, command, { streamId: id(0), topicId: id(topicId), partitionsCount });
const ids = (): number[] => [...node.machine.partitions()].map((partition) => partition.partitionId);

describe("adding and removing partitions", () => {
  it("continues behind the highest id and removes from the end", async () => {
    const added = await resize(createPartitions, 2);
    const op = node.machine.appliedOp;
    expect(added).toMatchObject({
      code: 0,
      effects: [
        { kind: "partition-created", partitionId: 2, incarnation: op },
        { kind: "partition-created", partitionId: 3, incarnation: op },
      ],
    });
    const removed = await resize(deletePartitions, 3);
    expect(removed.effects).toMatchObject([
      { kind: "partition-deleted", partitionId: 1, incarnation: op - 1 },
      { kind: "partition-deleted", partitionId: 2, incarnation: op },
      { kind: "partition-deleted", partitionId: 3, incarnation: op },
    ]);
    expect(ids()).toEqual([0]);
    await resize(createPartitions, 1);
    expect(node.machine.partition(0, 0, 1)?.incarnation).toBe(node.machine.appliedOp);
  });

  it("keeps to 1..1000 a request, before it is ordered", async () => {
    for (const count of [0, 1001]) {
      for (const command of [createPartitions, deletePartitions]) {
        expect(await resize(command, count)).toMatchObject({
          code: ErrorCode.TooManyPartitions,
          isCommitted: false,
        });
      }
    }
  });

  it("refuses to remove more than there are, and unknown topics, in the log", async () => {
    expect(await resize(deletePartitions, 3)).toMatchObject({
      code: ErrorCode.InvalidPartitionsCount,
      isCommitted: true,
    });
    for (const command of [createPartitions, deletePartitions]) {
      expect(await resize(command, 1, "x")).toMatchObject({ code: ErrorCode.TopicIdNotFound, isCommitted: true });
    }
    expect((await resize(deletePartitions, 2)).code).toBe(0);
    expect(ids()).toEqual([]);
  });

  it("refuses both where the layout is fixed", async () => {
    await node.topic(root, 0, "fixed", 1, [optionString("partition_resize_policy", "fixed")]);
    for (const command of [createPartitions, deletePartitions]) {
      expect((await resize(command, 1, "fixed")).code).toBe(ErrorCode.PartitionResizeDisabled);
    }
  });

  it("keeps within the partitions that the node allows", async () => {
    node = new TestNode({ partitionsMax: 3 });
    root = node.signIn();
    await node.stream(root, "s");
    await node.topic(root, 0, "t", 2);
    expect((await resize(createPartitions, 2)).code).toBe(ErrorCode.PartitionsLimitReached);
    expect((await resize(createPartitions, 1)).code).toBe(0);
  });

  it("stops at a million ids of a topic", async () => {
    const topic = node.machine.resolveTopic(id(0), id(0));
    if (topic instanceof Refusal) throw new Error("no topic");
    // Without making the partitions: only their number matters.
    topic.partitions.length = 999_999;
    expect(await resize(createPartitions, 2)).toMatchObject({
      code: ErrorCode.PartitionIdSpaceExhausted,
      isCommitted: true,
    });
    expect((await resize(createPartitions, 1)).code).toBe(0);
    expect(topic.partitions).toHaveLength(1_000_000);
  });

  it("counts every operation that changes the set of partitions as a revision", async () => {
    const before = node.machine.revision;
    await resize(createPartitions, 1);
    await resize(deletePartitions, 1);
    await resize(deletePartitions, 1000);
    expect(node.machine.revision).toBe(before + 2);
  });

  it("shows the members that were placed", () => {
    const body = encode(createTopicWithAssignments, {
      request: { streamId: id(0), partitionsCount: 1, name: "placed", options: [] },
      derivedOptions: [],
      partitions: [{ partitionId: 0, consensusGroupId: 7n, initialView: 4, members: [2, 0] }],
    });
    const { code, effects } = node.applyRaw(root, Operation.CreateTopicWithAssignments, body);
    expect(code).toBe(0);
    expect(effects).toMatchObject([{ kind: "partition-created", view: 4, members: [2, 0] }]);
    expect(node.read(root, getTopic, { streamId: id(0), topicId: id("placed") })).toMatchObject({
      partitions: [{ members: [2, 0] }],
    });
  });
});

describe("deleting segments", () => {
  const remove = (partitionId: number, segmentsCount: number) =>
    node.send(root, deleteSegments, { streamId: id("s"), topicId: id("t"), partitionId, segmentsCount });

  it("turns the number of segments into an offset that every replica deletes up to", async () => {
    node.deletableThrough = (_partition, count) => count * 100 - 1;
    const { effects, code } = await remove(1, 3);
    expect(code).toBe(0);
    expect(effects).toEqual([
      {
        kind: "partition-truncated",
        streamId: 0,
        topicId: 0,
        partitionId: 1,
        incarnation: node.machine.partition(0, 0, 1)?.incarnation,
        throughOffset: 299,
      },
    ]);
  });

  it("never moves back, and succeeds with nothing to delete", async () => {
    node.deletableThrough = () => 0;
    expect((await remove(0, 1)).effects).toMatchObject([{ throughOffset: 0 }]);
    expect(await remove(0, 1)).toMatchObject({ code: 0, effects: [] });
    node.deletableThrough = () => undefined;
    expect(await remove(0, 1)).toMatchObject({ code: 0, effects: [], isCommitted: true });
    expect(node.machine.partition(0, 0, 0)?.truncatedBelow).toBe(1);
  });

  it("notices a partition that was created anew in between", async () => {
    const stale = await node.resolve({
      operation: Operation.DeleteSegments,
      client: root.client,
      userId: 0,
      body: encode(deleteSegments.request, { streamId: id(0), topicId: id(0), partitionId: 1, segmentsCount: 1 }),
    });
    await resize(deletePartitions, 1);
    await resize(createPartitions, 1);
    if (stale.kind !== "propose") throw new Error("denied");
    expect(node.applyRaw(root, stale.operation, stale.body).code).toBe(ErrorCode.PartitionHistoryChanged);
  });

  it("refuses what can't be resolved as a status", async () => {
    expect((await remove(0, 0)).code).toBe(ErrorCode.InvalidSegmentsCount);
    expect((await remove(2, 1)).code).toBe(ErrorCode.PartitionNotFound);
    node.deletableThrough = () => "unavailable";
    expect(await remove(0, 1)).toMatchObject({ code: ErrorCode.TransientNotAccepted, isCommitted: false });
    const request = { streamId: id("s"), topicId: id("x"), partitionId: 0, segmentsCount: 1 };
    expect((await node.send(root, deleteSegments, request)).code).toBe(ErrorCode.TopicIdNotFound);
  });
});
