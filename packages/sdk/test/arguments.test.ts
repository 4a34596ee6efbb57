import { describe, expect, test } from "vitest";
import {
  CommitPolicy,
  Consumer,
  HeaderValue,
  Id,
  IggyError,
  messageIdText,
  Partitioning,
  PollingStrategy,
  ValidationError,
} from "../src/index.js";
import { toMessageId } from "../src/values/message-id.js";
import { milliseconds } from "../src/values/duration.js";
import { encodedHeaders } from "../src/values/headers.js";
import { RandomIds } from "../src/values/random-ids.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedPartition } from "./support/poll-replies.js";
import { ScriptedNode } from "./support/scripted-node.js";
import { pollMessagesDeferred } from "@iggy/protocol";

/*
 * Wrong arguments are refused with the name of the argument before anything is sent. Numbers that do not hold a value
 * exactly are wrong arguments.
 */

const node = new ScriptedNode();
const network = new MemoryNetwork(node);

type Attempt = (value: never) => Promise<unknown>;

const target = { streamId: 1, topicId: 1, partitionId: 0, consumer: Consumer.Named(1) };

describe("offsets and ids", () => {
  const client = network.client();
  const offsets: Readonly<Record<string, Attempt>> = {
    "offset.store": (offset) => client.offset.store({ ...target, offset }),
    "a polling offset": (offset) =>
      Promise.resolve().then(() => client.message.poll({ ...target, pollingStrategy: PollingStrategy.Offset(offset) })),
    "a timestamp": (value) =>
      Promise.resolve().then(() =>
        client.message.poll({ ...target, pollingStrategy: PollingStrategy.Timestamp(value) }),
      ),
    "a producer id": (id) =>
      client.message.sendIdempotent({
        ...target,
        producer: { id, epoch: 0, sequence: 0 },
        messages: [{ payload: "x" }],
      }),
    "an operation id": (operationId) => client.operation.abandon({ operationId }),
  };
  const unsafe = [2 ** 53, 2 ** 53 + 2, -1, 1.5, Number.NaN, Infinity, -1n, 2n ** 64n];
  for (const [what, attempt] of Object.entries(offsets)) {
    test.each(unsafe)(`${what} refuses %s`, async (value) => {
      await expect(attempt(value as never)).rejects.toBeInstanceOf(RangeError);
    });
    test.each(["5", null, undefined, {}, true])(`${what} refuses the type of %s`, async (value) => {
      await expect(attempt(value as never)).rejects.toBeInstanceOf(TypeError);
    });
  }

  const ids: Readonly<Record<string, Attempt>> = {
    streamId: (streamId) => client.stream.get({ streamId }),
    topicId: (topicId) => client.topic.get({ streamId: 1, topicId }),
    groupId: (groupId) => client.group.join({ streamId: 1, topicId: 1, groupId }),
    userId: (userId) => client.user.get({ userId }),
  };
  for (const [argument, attempt] of Object.entries(ids)) {
    test.each([-1, 1.5, Number.NaN, 2 ** 32])(`${argument} refuses %s`, async (value) => {
      await expect(attempt(value as never)).rejects.toThrow(new RegExp(`^${argument} `));
      await expect(attempt(value as never)).rejects.toBeInstanceOf(RangeError);
    });
    test.each([5n, null, undefined, {}])(`${argument} refuses the type of %s`, async (value) => {
      await expect(attempt(value as never)).rejects.toThrow(new RegExp(`^${argument} `));
      await expect(attempt(value as never)).rejects.toBeInstanceOf(TypeError);
    });
    test.each(["", "x".repeat(256), "é".repeat(128)])(`${argument} refuses a name of a wrong length`, async (value) => {
      await expect(attempt(value as never)).rejects.toMatchObject({ code: 6, context: { argument } });
    });
  }

  test("nothing of all that was sent", () => {
    expect(node.received).toEqual([]);
    expect(node.dials).toBe(0);
  });

  test("5 and 5n are the same offset, and a digit name stays a name", async () => {
    await client.offset.store({ ...target, offset: 5 });
    await client.offset.store({ ...target, offset: 5n });
    const [first, second] = node.of({ code: 121 });
    expect(first?.body).toEqual(second?.body);
    await client.stream.get({ streamId: "42" });
    expect(node.of({ code: 200 })[0]?.body).toEqual(Uint8Array.of(2, 2, 0x34, 0x32));
    expect(Id.parse("42")).toBe(42);
    expect(Id.parse("4294967296")).toBe("4294967296");
    await client.destroy();
  });
});

describe("messages", () => {
  const client = network.client();
  const send = (message: object) =>
    client.message.send({ streamId: 1, topicId: 1, messages: [message as { payload: string }] });

  test.each([
    [{ payload: "" }, 4025],
    [{ payload: new Uint8Array(64_000_001) }, 4022],
    [{ payload: "x", headers: { big: "v".repeat(256) } }, 4019],
    [{ payload: "x", headers: { "": "v" } }, 4018],
    [{ payload: "x", headers: { n: HeaderValue.Uint8(256) } }, 4019],
  ])("limits are checked before anything is sent: %#", async (message, code) => {
    const sent = node.received.length;
    const error = await send(message).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ValidationError);
    expect(error).toMatchObject({ code });
    expect(node.received).toHaveLength(sent);
  });

  test("an empty send has its own error", async () => {
    await expect(client.message.send({ streamId: 1, topicId: 1, messages: [] })).rejects.toMatchObject({ code: 4009 });
  });

  test.each([{ payload: 5 }, { payload: null }, { payload: "x", id: {} }, { payload: "x", id: "not-a-uuid" }])(
    "wrong types are refused: %j",
    async (message) => {
      await expect(send(message)).rejects.toBeInstanceOf(TypeError);
    },
  );

  test("ids: random when left out or 0, a UUID keeps its bytes", () => {
    expect(toMessageId(undefined)).toBeUndefined();
    expect(toMessageId(0)).toBeUndefined();
    const ids = new RandomIds();
    const random = Array.from({ length: 600 }, () => ids.next());
    expect(new Set(random.map(String)).size).toBe(600);
    expect(random.every((id) => (id[6] ?? 0) >> 4 === 4 && (id[8] ?? 0) >> 6 === 2)).toBe(true);
    expect(toMessageId(7)).toBe(7n);
    const uuid = "00112233-4455-6677-8899-aabbccddeeff";
    const id = toMessageId(uuid) ?? 0n;
    expect(id & 0xffn).toBe(0n);
    expect(id >> 120n).toBe(0xffn);
    expect(messageIdText(id)).toBe(uuid);
    expect(messageIdText(toMessageId("00112233445566778899AABBCCDDEEFF") ?? 0n)).toBe(uuid);
  });

  test("header values take their kinds from their JavaScript types", () => {
    const kinds = encodedHeaders({ a: 1, b: 2 ** 40, c: 1.5, d: 5n, e: true, f: "t", g: Uint8Array.of(1) });
    const explicit = encodedHeaders([
      { key: "a", value: HeaderValue.Int32(1) },
      { key: "b", value: HeaderValue.Int64(2 ** 40) },
      ["c", HeaderValue.Double(1.5)],
      ["d", HeaderValue.Int64(5n)],
      ["e", HeaderValue.Bool(true)],
      ["f", HeaderValue.String("t")],
      ["g", HeaderValue.Raw(Uint8Array.of(1))],
    ]);
    expect(kinds).toEqual(explicit);
    expect(() => encodedHeaders({ n: 2 ** 60 })).toThrow(RangeError);
  });
});

describe("reads and partitions", () => {
  test.each([
    [{ count: 0 }, 4009],
    [{ minCount: 0 }, 4009],
    [{ count: 5, minCount: 6 }, 4009],
    [{ maxWait: 600_001 }, 3],
    [{ maxWait: "11m" }, 3],
    [{ maxBytes: 343 }, 80],
    [{ commit: CommitPolicy.Auto() }, 2],
  ])("%j is refused with %i", async (options, code) => {
    const client = network.client();
    await expect(client.message.poll({ ...target, options })).rejects.toMatchObject({ code });
    await client.destroy();
  });

  test("an external group can not be polled", async () => {
    const client = network.client();
    await expect(client.message.poll({ ...target, consumer: Consumer.ExternalGroup(1) })).rejects.toMatchObject({
      code: 5,
    });
    await client.destroy();
  });

  test("a continuation belongs to its partition", async () => {
    const partition = new ScriptedPartition();
    partition.appendTexts("a");
    const own: ScriptedNode = new ScriptedNode((received) => {
      if (received.code === pollMessagesDeferred.code) partition.serve(own, received);
      else own.answer(received);
    });
    await using client = new MemoryNetwork(own).client();
    const polled = await client.message.poll({ ...target, pollingStrategy: PollingStrategy.First });
    expect(polled.continuation).toMatchObject({ kind: "offset", value: 1n });
    await expect(
      client.message.poll({ ...target, partitionId: 1, pollingStrategy: polled.continuation }),
    ).rejects.toMatchObject({ code: 3 });
  });

  test("keys of messages", () => {
    expect(Partitioning.MessageKey(1)).toEqual({ kind: "messages_key", key: Uint8Array.of(1, 0, 0, 0) });
    expect(Partitioning.MessageKey(1n)).toMatchObject({ key: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0) });
    expect(Partitioning.MessageKey128(1n)).toMatchObject({ kind: "messages_key" });
    expect(() => Partitioning.MessageKey("")).toThrow(ValidationError);
    expect(() => Partitioning.MessageKey("x".repeat(256))).toThrow(ValidationError);
    expect(() => Partitioning.MessageKey(1.5)).toThrow(RangeError);
    expect(() => Partitioning.PartitionId(-1)).toThrow(RangeError);
  });

  test("durations are ms or text", () => {
    expect(milliseconds("d", 1500)).toBe(1500);
    expect(milliseconds("d", "1h 1m")).toBe(3_660_000);
    expect(() => milliseconds("d", "5")).toThrow(ValidationError);
    expect(() => milliseconds("d", -1)).toThrow(RangeError);
    expect(() => milliseconds("d", Number.NaN)).toThrow(RangeError);
  });
});

test("read messages and what hangs on them can be stringified", async () => {
  const partition = new ScriptedPartition();
  partition.append([
    {
      id: 2n ** 127n,
      payload: new TextEncoder().encode("text"),
      originTimestamp: 5,
      userHeaders: encodedHeaders({ n: 2n ** 40n }) ?? new Uint8Array(0),
    },
    { id: 2n, payload: Uint8Array.of(0xff, 0xfe), originTimestamp: 5 },
  ]);
  const own: ScriptedNode = new ScriptedNode((received) => {
    if (received.code === pollMessagesDeferred.code) partition.serve(own, received);
    else own.answer(received);
  });
  await using client = new MemoryNetwork(own).client();
  const polled = await client.message.poll({ ...target, pollingStrategy: PollingStrategy.First });
  const json = JSON.parse(
    JSON.stringify({ polled, checkpoint: polled.checkpoint, next: polled.continuation }),
  ) as unknown;
  expect(json).toMatchObject({
    polled: {
      currentOffset: "1",
      messages: [
        {
          offset: "0",
          payload: "text",
          userHeaders: [{ key: { value: "n" }, value: { kind: "int64", value: "1099511627776" } }],
        },
        { offset: "1", payload: { base64: "//4=" } },
      ],
    },
    checkpoint: { offset: "1", context: { incarnation: "41" } },
    next: { kind: "offset", value: "2" },
  });
  const [first, second] = polled.messages;
  const copy = second?.copy();
  expect(copy?.offset).toBe(1n);
  expect(copy?.payload).toEqual(Uint8Array.of(0xff, 0xfe));
  expect(copy?.payload.buffer).not.toBe(second?.payload.buffer);
  expect(first?.headers).toMatchObject({ id: 2n ** 127n, offset: 0n, payloadLength: 4 });
  expect(first?.userHeadersMap.get("n")).toBe(2n ** 40n);
  expect(() => second?.text()).toThrow(TypeError);
});

test("errors are plain data for a log", async () => {
  const own: ScriptedNode = new ScriptedNode((received) => {
    if (received.code === 200) own.refuse(received, 41);
    else own.answer(received);
  });
  await using client = new MemoryNetwork(own).client();
  const error = await client.stream.get({ streamId: "secret-free" }).catch((e: unknown) => e);
  if (!IggyError.is(error, "unauthorized")) throw new Error("expected a refusal");
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({
    name: "UnauthorizedError",
    code: 41,
    errorName: "unauthorized",
    commandCode: 200,
    retryable: false,
    context: { streamId: "secret-free" },
  });
  expect(error.message).toContain("stream.get");
  expect(error.message).toContain('streamId "secret-free"');
  expect(error.hint).toBeDefined();
});
