import {
  bindSession,
  cancelDeferredRequest,
  createStream,
  deleteConsumerOffset,
  encodeBatch,
  encodeRequest,
  fetchMessages,
  getConsumerOffset,
  getStats,
  getStreams,
  loginRegister,
  loginUser,
  logoutUser,
  Operation,
  pollMessagesDeferred,
  sendMessages,
  storeConsumerOffset,
} from "@iggy/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { FeatureUnavailableError, OperationUncertainError, ResponseError, ValidationError } from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedNode } from "./support/scripted-node.js";

let open: ClientCore | undefined;
afterEach(() => open?.destroy());

function setUp() {
  const node = new ScriptedNode();
  const network = new MemoryNetwork(node);
  open = network.client();
  return { node, network, client: open };
}

const nothing = new Uint8Array(0);
const topic = { streamId: { kind: "numeric", value: 1 }, topicId: { kind: "numeric", value: 2 } } as const;
const consumer = { kind: "consumer", id: { kind: "numeric", value: 9 } } as const;

describe("a raw command", () => {
  test("a read: the payload goes out as it is, the reply comes back as it is", async () => {
    const { node, client } = setUp();
    node.handler = (received) => {
      if (received.code === getStats.code) node.reply(received, Uint8Array.of(1, 2, 3));
      else node.answer(received);
    };
    await expect(client.sendBinaryRequest(getStats.code, Uint8Array.of(9))).resolves.toEqual(Uint8Array.of(1, 2, 3));
    expect(node.of(getStats)[0]?.body).toEqual(Uint8Array.of(9));
  });

  test("a write takes its operation, its lane and the result section", async () => {
    const { node, client } = setUp();
    const payload = encodeRequest(createStream, { name: "orders", options: [] });
    node.handler = (received) => {
      if (received.code === createStream.code) node.commit(received, Uint8Array.of(7));
      else node.answer(received);
    };
    await expect(client.sendBinaryRequest(createStream.code, payload)).resolves.toEqual(Uint8Array.of(7));
    expect(node.of(createStream)[0]?.header.operation).toBe(createStream.operation);
  });

  test("a refused one is the error of its code", async () => {
    const { node, client } = setUp();
    node.handler = (received) => {
      if (received.code === createStream.code) node.reject(received, 1012, { committed: true });
      else node.answer(received);
    };
    const payload = encodeRequest(createStream, { name: "orders", options: [] });
    await expect(client.sendBinaryRequest(createStream.code, payload)).rejects.toMatchObject({ code: 1012 });
  });

  test("a code that this client does not know travels as a read", async () => {
    const { node, client } = setUp();
    node.handler = (received) => {
      if (received.header.commandCode === 9999) node.refuse(received, 3);
      else node.answer(received);
    };
    const refused = client.sendBinaryRequest(9999, Uint8Array.of(1));
    await expect(refused).rejects.toThrow(ResponseError);
    await expect(refused).rejects.toMatchObject({ code: 3 });
    expect(node.received.at(-1)?.header.operation).toBe(Operation.NonReplicated);
  });

  test.each([
    ["loginUser", loginUser],
    ["logoutUser", logoutUser],
    ["loginRegister", loginRegister],
    ["bindSession", bindSession],
    ["cancelDeferredRequest", cancelDeferredRequest],
  ])("%s belongs to the connection and is refused before anything is sent", async (_, { code }) => {
    const { node, client } = setUp();
    await client.connect();
    const before = node.received.length;
    await expect(client.sendBinaryRequest(code, nothing)).rejects.toThrow(ValidationError);
    await expect(client.sendBinaryRequestToReplica(code, nothing, 0)).rejects.toThrow(ValidationError);
    expect(node.received).toHaveLength(before);
  });

  test("a lost write is retained like any other", async () => {
    const { node, client } = setUp();
    node.handler = (received) => {
      if (received.code !== createStream.code) node.answer(received);
    };
    const payload = encodeRequest(createStream, { name: "orders", options: [] });
    await expect(client.sendBinaryRequest(createStream.code, payload, { timeout: 50 })).rejects.toThrow(
      OperationUncertainError,
    );
    expect(client.operation.list()).toMatchObject([{ code: createStream.code }]);
  });
});

describe("a raw command of a partition", () => {
  test("a send that names its partition carries the fences of its route", async () => {
    const { node, client } = setUp();
    const payload = encodeRequest(sendMessages, {
      ...topic,
      partitioning: { kind: "partition_id", partitionId: 2 },
      messagesCount: 1,
      batch: encodeBatch([{ id: 1n, payload: nothing, originTimestamp: 1 }]),
    });
    await client.sendBinaryRequest(sendMessages.code, payload);
    const [sent] = node.of(sendMessages);
    expect(sent?.header.partitionIncarnation).toBe(Number(node.incarnation));
    expect(sent?.body).toEqual(payload);
  });

  test("a send without a partition is refused: nobody here can choose one", async () => {
    const { client } = setUp();
    const payload = encodeRequest(sendMessages, {
      ...topic,
      partitioning: { kind: "balanced" },
      messagesCount: 1,
      batch: encodeBatch([{ id: 1n, payload: nothing, originTimestamp: 1 }]),
    });
    await expect(client.sendBinaryRequest(sendMessages.code, payload)).rejects.toThrow(FeatureUnavailableError);
  });

  test("the caller's context wins over the route", async () => {
    const { node, client } = setUp();
    const payload = encodeRequest(storeConsumerOffset, {
      ...topic,
      consumer,
      partitionId: 0,
      offset: 5n,
      ack: "quorum",
    });
    await client.sendBinaryRequest(storeConsumerOffset.code, payload, {
      context: { incarnation: 5n, ownerGeneration: 6n, metadataOp: 7n },
    });
    const header = node.of(storeConsumerOffset)[0]?.header;
    expect(header?.partitionIncarnation).toBe(5);
    expect(header?.ownerGeneration).toBe(6);
  });

  test.each([
    [
      "the store of an offset",
      storeConsumerOffset.code,
      encodeRequest(storeConsumerOffset, { ...topic, consumer, partitionId: null, offset: 1n, ack: "quorum" }),
    ],
    [
      "the deletion of one",
      deleteConsumerOffset.code,
      encodeRequest(deleteConsumerOffset, { ...topic, consumer, partitionId: null, ack: "quorum" }),
    ],
  ])("%s must name its partition", async (_, code, payload) => {
    const { client } = setUp();
    await expect(client.sendBinaryRequest(code, payload)).rejects.toMatchObject({ code: 6 });
  });

  test("a payload that is none of its command is refused before anything is sent", async () => {
    const { node, client } = setUp();
    await client.connect();
    const before = node.received.length;
    for (const command of [sendMessages, storeConsumerOffset, getConsumerOffset, pollMessagesDeferred, fetchMessages]) {
      await expect(client.sendBinaryRequest(command.code, Uint8Array.of(1))).rejects.toThrow(ValidationError);
    }
    expect(node.received).toHaveLength(before);
  });

  test("a waiting poll keeps its own times, and an abort cancels it", async () => {
    const { node, client } = setUp();
    node.handler = (received) => {
      if (received.code !== pollMessagesDeferred.code) node.answer(received);
    };
    const payload = encodeRequest(pollMessagesDeferred, {
      poll: { ...topic, consumer, partitionId: 0, strategy: { kind: "first", value: 0n }, count: 1, autoCommit: false },
      waitUs: 30_000_000n,
      requestTimeoutUs: 40_000_000n,
      minCount: 1,
      maxBytes: 1000,
    });
    const abort = new AbortController();
    const poll = client.sendBinaryRequest(pollMessagesDeferred.code, payload, { signal: abort.signal });
    const [sent] = await node.until(pollMessagesDeferred, 1);
    abort.abort(new Error("enough"));
    await expect(poll).rejects.toThrow("enough");
    const [cancel] = await node.until(cancelDeferredRequest, 1);
    expect(cancel?.request).toBe(sent?.request);
  });
});

describe("a raw command to one replica", () => {
  test("a read of a replica in the roster", async () => {
    const { node, client } = setUp();
    await client.sendBinaryRequestToReplica(getStats.code, nothing, 0);
    expect(node.of(getStats)).toHaveLength(1);
  });

  test("a replica that is not in the roster is refused after one fresh look", async () => {
    const { node, client } = setUp();
    await client.connect();
    const before = node.of({ code: 12 }).length;
    await expect(client.sendBinaryRequestToReplica(getStats.code, nothing, 7)).rejects.toMatchObject({
      name: "ValidationError",
      code: 6,
    });
    expect(node.of({ code: 12 })).toHaveLength(before + 1);
    expect(node.of(getStats)).toEqual([]);
  });

  test.each([
    ["a write", createStream],
    ["a poll", pollMessagesDeferred],
    ["a stored offset", getConsumerOffset],
  ])("%s has one place to go, whatever the caller says", async (_, { code }) => {
    const { client } = setUp();
    await expect(client.sendBinaryRequestToReplica(code, nothing, 0)).rejects.toThrow(ValidationError);
  });

  test("without a link it ends in its time", async () => {
    const { network, client } = setUp();
    network.isDown = true;
    await expect(client.sendBinaryRequestToReplica(getStats.code, nothing, 0, { timeout: 30 })).rejects.toMatchObject({
      code: 58,
    });
  });
});

test.each([[-1], [2 ** 32], [1.5]])("%s is no command code", async (code) => {
  const { node, client } = setUp();
  await expect(client.sendBinaryRequest(code, nothing)).rejects.toThrow(RangeError);
  expect(node.of(getStreams)).toEqual([]);
});
