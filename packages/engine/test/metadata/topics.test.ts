import {
  createTopic,
  deleteTopic,
  encode,
  ErrorCode,
  getTopic,
  getTopics,
  optionBool,
  optionString,
  optionU32,
  optionU64,
  OptionScope,
  U64_MAX,
  updateResource,
} from "@iggy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { id, type TestClient, TestNode } from "./node.js";

const MiB = 1024 * 1024;
let node: TestNode;
let root: TestClient;
beforeEach(async () => {
  node = new TestNode();
  root = node.signIn();
  await node.stream(root, "s");
});

const create = (name: string, partitionsCount: number, options: Parameters<TestNode["topic"]>[4] = []) =>
  node.send(root, createTopic, { streamId: id("s"), partitionsCount, name, options });
const patch = (options: ReturnType<typeof optionString>[], reset: string[] = []) =>
  node.send(root, updateResource, {
    target: { scope: OptionScope.topic, streamId: id(0), topicId: id(0) },
    reset,
    options,
  });

describe("creating a topic", () => {
  it("answers the new topic with its partitions and a value for every key", async () => {
    const { payload, effects } = await create("events", 2, [optionString("message_expiry", "7 days")]);
    const op = node.machine.appliedOp;
    const createdAt = BigInt(node.nowMicros);
    const partition = (partitionId: number) => ({
      id: partitionId,
      createdAt,
      segmentsCount: 1,
      currentOffset: 0n,
      sizeBytes: 0n,
      messagesCount: 0n,
      context: { incarnation: BigInt(op), ownerGeneration: 0n, metadataOp: BigInt(op) },
      members: [0],
      inSyncMembers: [],
    });
    expect(payload).toEqual(
      encode(createTopic.response, {
        topic: {
          id: 0,
          createdAt,
          partitionsCount: 2,
          sizeBytes: 0n,
          messagesCount: 0n,
          name: "events",
          options: [optionU64("message_expiry", 604_800_000_000n)],
          derivedOptions: [
            optionString("compression_algorithm", "none"),
            optionString("consumer_offset_durability", "replicated"),
            optionString("durability", "replicated"),
            optionU64("max_topic_size", U64_MAX),
            optionU32("messages_required_to_save", 1024),
            optionString("partition_resize_policy", "mutable"),
            optionBool("preallocate_segments", false),
            optionU32("replication_factor", 1),
            optionU64("segment_size", 1024n * 1024n * 1024n),
            optionU64("size_of_messages_required_to_save", 1024n * 1024n),
          ],
        },
        partitions: [partition(0), partition(1)],
      }),
    );
    expect(effects).toMatchObject([
      {
        kind: "partition-created",
        streamId: 0,
        topicId: 0,
        partitionId: 0,
        incarnation: op,
        view: 0,
        members: [],
        settings: {
          messageExpiryMicros: 604_800_000_000,
          maxTopicSizeBytes: undefined,
          segmentSizeBytes: 1024 * MiB,
          durability: "replicated",
          isResizable: true,
          replicationFactor: 1,
        },
      },
      { kind: "partition-created", partitionId: 1, incarnation: op },
    ]);
  });

  it("may start without partitions, and refuses more than 1000 before it is ordered", async () => {
    expect((await create("none", 0)).code).toBe(0);
    expect((await create("many", 1000)).code).toBe(0);
    expect(await create("more", 1001)).toMatchObject({ code: ErrorCode.TooManyPartitions, isCommitted: false });
  });

  it("stops at 4096 topics of a stream", async () => {
    for (let index = 0; index < 4096; index++) await create(`t${String(index)}`, 0);
    expect(await create("over", 0)).toMatchObject({ code: ErrorCode.TooManyTopics, isCommitted: true });
    await node.do(root, deleteTopic, { streamId: id(0), topicId: id("t77") });
    expect(await node.topic(root, 0, "again")).toBe(77);
  });

  it("refuses a taken name in its stream alone, and an unknown stream, in the log", async () => {
    await node.stream(root, "other");
    await create("events", 1);
    expect(await create("events", 1)).toMatchObject({ code: ErrorCode.TopicNameAlreadyExists, isCommitted: true });
    expect(await node.topic(root, 1, "events")).toBe(0);
    const request = { streamId: id("missing"), partitionsCount: 1, name: "x", options: [] };
    const missing = await node.send(root, createTopic, request);
    expect(missing).toMatchObject({ code: ErrorCode.StreamIdNotFound, isCommitted: true });
  });

  it.each([
    ["a segment size off the grid", [optionU64("segment_size", BigInt(MiB) + 1n)], 4042],
    ["a segment size below 1 MiB", [optionU64("segment_size", 512n)], 4042],
    ["a cap below the segment size", [optionString("max_topic_size", "1 MiB")], 1019],
    ["no node for a second copy", [optionU32("replication_factor", 2)], 2018],
    ["a replication factor of 0", [optionU32("replication_factor", 0)], 2018],
    ["flushing at 0 messages", [optionU32("messages_required_to_save", 0)], 4042],
    ["an unknown key", [optionString("enforce_fsync", "true")], 4041],
    ["a key of another scope", [optionString("encryption_key_source", "x")], 4041],
    ["a name among the options", [optionString("name", "x")], 4042],
  ])("refuses %s before it is ordered", async (_what, options, code) => {
    expect(await create("bad", 1, options)).toMatchObject({ code, isCommitted: false });
  });

  it("refuses to reserve more than 64 GiB", async () => {
    const options = [optionBool("preallocate_segments", true)];
    expect((await create("full", 64, options)).code).toBe(0);
    expect((await create("over", 65, options)).code).toBe(ErrorCode.InvalidOptionValue);
  });

  it("keeps within the partitions that the node allows", async () => {
    node = new TestNode({ partitionsMax: 3 });
    root = node.signIn();
    await node.stream(root, "s");
    expect((await create("a", 2)).code).toBe(0);
    expect((await create("b", 2)).code).toBe(ErrorCode.PartitionsLimitReached);
    expect((await create("c", 1)).code).toBe(0);
    await node.do(root, deleteTopic, { streamId: id(0), topicId: id("a") });
    expect((await create("b", 2)).code).toBe(0);
  });
});

describe("a patch of a topic", () => {
  beforeEach(async () => {
    await create("events", 1, [optionString("segment_size", "2 MiB")]);
  });

  const shown = (): Record<string, { value: unknown; isExplicit: boolean }> => {
    const reply = node.read(root, getTopic, { streamId: id(0), topicId: id(0) });
    if (reply === null || typeof reply === "number") throw new Error("no topic");
    const entries = (list: typeof reply.topic.options, isExplicit: boolean) =>
      list.map(({ key, value }) => [key, { value, isExplicit }]);
    return Object.fromEntries([
      ...entries(reply.topic.options, true),
      ...entries(reply.topic.derivedOptions, false),
    ]) as never;
  };

  it("sets keys explicitly and takes them back to their default", async () => {
    const set = await patch([optionU64("message_expiry", 5n), optionString("max_topic_size", "2 MiB")]);
    expect(set).toMatchObject({
      code: 0,
      effects: [{ kind: "topic-settings-changed", settings: { messageExpiryMicros: 5, maxTopicSizeBytes: 2 * MiB } }],
    });
    expect(shown()).toMatchObject({ message_expiry: { isExplicit: true }, max_topic_size: { isExplicit: true } });
    const reset = await patch([], ["message_expiry"]);
    expect(reset.effects).toMatchObject([{ settings: { messageExpiryMicros: undefined } }]);
    expect(shown()).toMatchObject({
      message_expiry: { isExplicit: false, value: optionU64("", U64_MAX).value },
      max_topic_size: { isExplicit: true },
      segment_size: { isExplicit: true },
    });
  });

  it("may change the compression after creation", async () => {
    expect((await patch([optionString("compression_algorithm", "GZIP")])).code).toBe(0);
    expect(shown()).toMatchObject({
      compression_algorithm: { isExplicit: true, value: new TextEncoder().encode("gzip") },
    });
    expect((await patch([], ["compression_algorithm"])).code).toBe(0);
  });

  it("renames without touching the settings", async () => {
    const renamed = await patch([optionString("name", "events-2")]);
    expect(renamed).toMatchObject({ code: 0, effects: [] });
    expect(node.read(root, getTopic, { streamId: id(0), topicId: id("events-2") })).not.toBeNull();
    await create("events", 1);
    expect((await patch([optionString("name", "events")])).code).toBe(ErrorCode.TopicNameAlreadyExists);
  });

  it.each([
    ["a create-only key", [optionString("durability", "persisted")], [], 4103],
    ["the reset of a create-only key", [], ["segment_size"], 4103],
    ["the reset of a column", [], ["name"], 4104],
    ["an empty name", [optionU32("name", 1)], [], 2014],
    ["nothing but sentinels", [optionU64("message_expiry", 0n)], [], 3],
    ["a cap below the segment size", [optionString("max_topic_size", "1 MiB")], [], 1019],
  ])("refuses %s before it is ordered", async (_what, options, reset, code) => {
    expect(await patch(options, reset)).toMatchObject({ code, isCommitted: false });
  });

  it("refuses an unknown topic in the log", async () => {
    await node.do(root, deleteTopic, { streamId: id(0), topicId: id(0) });
    const missing = await patch([optionU64("message_expiry", 5n)]);
    expect(missing).toMatchObject({ code: ErrorCode.TopicIdNotFound, isCommitted: true });
  });
});

describe("deleting and reading topics", () => {
  it("uses ids again, under a new incarnation", async () => {
    await create("a", 1);
    const first = node.machine.partition(0, 0, 0)?.incarnation;
    await node.do(root, deleteTopic, { streamId: id(0), topicId: id("a") });
    expect(await node.topic(root, 0, "b")).toBe(0);
    expect(node.machine.partition(0, 0, 0)?.incarnation).not.toBe(first);
  });

  it("lists the topics of a stream; those of an unknown stream are none", async () => {
    await create("a", 0);
    await create("b", 3);
    expect(node.read(root, getTopics, { streamId: id(0) })).toMatchObject({
      topics: [
        { id: 0, name: "a", partitionsCount: 0 },
        { id: 1, name: "b", partitionsCount: 3 },
      ],
    });
    expect(node.read(root, getTopics, { streamId: id("nowhere") })).toEqual({ topics: [] });
    expect(node.read(root, getTopic, { streamId: id("nowhere"), topicId: id(0) })).toBeNull();
    expect(node.read(root, getTopic, { streamId: id(0), topicId: id(9) })).toBeNull();
  });

  it("shows what partitions reported, and the applied op as their context", async () => {
    await create("a", 1);
    node.stats = {
      countersOf: () => ({ messagesCount: 5, sizeBytes: 700, segmentsCount: 2, currentOffset: 4, inSync: [0] }),
    };
    await node.stream(root, "later");
    expect(node.read(root, getTopic, { streamId: id(0), topicId: id("a") })).toMatchObject({
      topic: { messagesCount: 5n, sizeBytes: 700n },
      partitions: [
        {
          currentOffset: 4n,
          segmentsCount: 2,
          inSyncMembers: [0],
          context: { incarnation: BigInt(node.machine.appliedOp - 1), metadataOp: BigInt(node.machine.appliedOp) },
        },
      ],
    });
  });
});
