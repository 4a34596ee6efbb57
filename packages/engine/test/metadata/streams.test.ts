import {
  createStream,
  deleteStream,
  encode,
  ErrorCode,
  getStream,
  getStreams,
  Operation,
  optionString,
  OptionScope,
  stream,
  updateResource,
} from "@iggy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { id, startMicros, type TestClient, TestNode } from "./node.js";

let node: TestNode;
let root: TestClient;
beforeEach(() => {
  node = new TestNode();
  root = node.signIn();
});

const rename = (streamId: number | string, name: string) => ({
  target: { scope: OptionScope.stream, streamId: id(streamId) },
  reset: [],
  options: [optionString("name", name)],
});

describe("creating a stream", () => {
  it("answers the new stream, with the source of its key among the derived options", async () => {
    const { payload, isCommitted } = await node.send(root, createStream, { name: "orders", options: [] });
    expect(isCommitted).toBe(true);
    expect(payload).toEqual(
      encode(stream, {
        id: 0,
        createdAt: BigInt(node.nowMicros),
        topicsCount: 0,
        sizeBytes: 0n,
        messagesCount: 0n,
        name: "orders",
        options: [],
        derivedOptions: [optionString("encryption_key_source", "none")],
      }),
    );
  });

  it("takes the lowest free id", async () => {
    for (const name of ["a", "b", "c"]) await node.stream(root, name);
    await node.do(root, deleteStream, { streamId: id("b") });
    expect(await node.stream(root, "d")).toBe(1);
    expect(await node.stream(root, "e")).toBe(3);
  });

  it("refuses a taken name in the log, byte by byte", async () => {
    await node.stream(root, "orders");
    const again = await node.send(root, createStream, { name: "orders", options: [] });
    expect(again).toMatchObject({ code: ErrorCode.StreamNameAlreadyExists, isCommitted: true });
    expect((await node.send(root, createStream, { name: "Orders", options: [] })).code).toBe(0);
    // The same letters in another normal form are another name.
    expect((await node.send(root, createStream, { name: "\u00e9", options: [] })).code).toBe(0);
    expect((await node.send(root, createStream, { name: "e\u0301", options: [] })).code).toBe(0);
  });

  it.each([
    ["an unknown key", [optionString("x", "1")], ErrorCode.UnsupportedOptionKey],
    ["a read-only key", [optionString("encryption_key_source", "none")], ErrorCode.ReadOnlyOption],
    ["a column", [optionString("name", "x")], ErrorCode.InvalidOptionValue],
    ["a malformed key", [optionString("encryption_key", "short")], ErrorCode.InvalidEncryptionKey],
    [
      "a key that no server key can wrap",
      [optionString("encryption_key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")],
      ErrorCode.StreamEncryptionUnavailable,
    ],
  ])("refuses %s before it is ordered", async (_what, options, code) => {
    const refused = await node.send(root, createStream, { name: "bad", options });
    expect(refused).toMatchObject({ code, isCommitted: false });
  });

  it("refuses bytes that are no request before it is ordered", async () => {
    for (const body of [new Uint8Array(0), new Uint8Array([0]), new Uint8Array([4, 0x61]), new Uint8Array([1, 0xff])]) {
      const refused = await node.sendBody(root, Operation.CreateStream, body);
      expect(refused).toMatchObject({ code: ErrorCode.InvalidCommand, isCommitted: false });
    }
  });
});

describe("a patch of a stream", () => {
  it("renames it, also to its own name", async () => {
    await node.stream(root, "orders");
    expect((await node.send(root, updateResource, rename(0, "payments"))).code).toBe(0);
    expect((await node.send(root, updateResource, rename("payments", "payments"))).code).toBe(0);
    expect(node.read(root, getStream, { streamId: id("orders") })).toBeNull();
    expect(node.read(root, getStream, { streamId: id("payments") })).toMatchObject({ stream: { id: 0 } });
    expect(await node.stream(root, "orders")).toBe(1);
  });

  it("refuses a taken name and an unknown stream in the log", async () => {
    await node.stream(root, "a");
    await node.stream(root, "b");
    const taken = await node.send(root, updateResource, rename("a", "b"));
    expect(taken).toMatchObject({ code: ErrorCode.StreamNameAlreadyExists, isCommitted: true });
    const missing = await node.send(root, updateResource, rename("c", "d"));
    expect(missing).toMatchObject({ code: ErrorCode.StreamIdNotFound, isCommitted: true });
  });
});

describe("deleting a stream", () => {
  it("ends the histories of its partitions and forgets everything in it", async () => {
    const streamId = await node.stream(root, "orders");
    await node.topic(root, streamId, "events", 2);
    await node.topic(root, streamId, "audit", 1);
    const created = node.machine.appliedOp;
    const { effects } = await node.send(root, deleteStream, { streamId: id("orders") });
    expect(effects).toEqual([
      { kind: "partition-deleted", streamId, topicId: 0, partitionId: 0, incarnation: created - 1 },
      { kind: "partition-deleted", streamId, topicId: 0, partitionId: 1, incarnation: created - 1 },
      { kind: "partition-deleted", streamId, topicId: 1, partitionId: 0, incarnation: created },
    ]);
    expect(node.machine.totals(node.stats)).toMatchObject({ streamsCount: 0, topicsCount: 0, partitionsCount: 0 });
  });

  it("refuses an unknown stream in the log", async () => {
    for (const unknown of [0, "orders"]) {
      const refused = await node.send(root, deleteStream, { streamId: id(unknown) });
      expect(refused).toMatchObject({ code: ErrorCode.StreamIdNotFound, isCommitted: true });
    }
  });
});

describe("reading streams", () => {
  it("lists them by id with the figures of their partitions", async () => {
    for (const name of ["a", "b", "c"]) await node.stream(root, name);
    await node.do(root, deleteStream, { streamId: id("a") });
    await node.stream(root, "z");
    await node.topic(root, 1, "t", 2);
    node.stats = {
      countersOf: ({ streamId, partitionId }) =>
        streamId === 1
          ? { messagesCount: 10 + partitionId, sizeBytes: 100, segmentsCount: 3, currentOffset: 9, inSync: [0] }
          : undefined,
    };
    const reply = node.read(root, getStreams, {});
    expect(reply).toMatchObject({
      streams: [
        { id: 0, name: "z", messagesCount: 0n },
        { id: 1, name: "b", topicsCount: 1, messagesCount: 21n, sizeBytes: 200n },
        { id: 2, name: "c" },
      ],
    });
    expect(node.machine.totals(node.stats)).toEqual({
      usersCount: 1,
      streamsCount: 3,
      topicsCount: 1,
      partitionsCount: 2,
      consumerGroupsCount: 0,
      messagesCount: 21,
      sizeBytes: 200,
      segmentsCount: 6,
    });
  });

  it("shows a stream with its topics, and an unknown one as none", async () => {
    await node.stream(root, "a");
    await node.topic(root, 0, "t", 1);
    expect(node.read(root, getStream, { streamId: id(0) })).toMatchObject({
      stream: { name: "a", createdAt: expect.any(BigInt) as bigint },
      topics: [{ name: "t", partitionsCount: 1 }],
    });
    expect(node.read(root, getStream, { streamId: id(7) })).toBeNull();
    expect(BigInt(startMicros)).toBeLessThan(BigInt(node.nowMicros));
  });
});
