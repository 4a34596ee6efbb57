import {
  BATCH_HEADER_SIZE,
  encodeBatch,
  ErrorCode,
  MAX_PAYLOAD_SIZE,
  MAX_USER_HEADERS_SIZE,
  MESSAGE_HEADER_SIZE,
  type MessageInput,
  numericId,
  type Partitioning,
  sendMessages,
  stampBatch,
} from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  first,
  freshTopic,
  message,
  messages,
  outcome,
  type Overrides,
  type RawPartition,
  RawSession,
  textOf,
} from "../raw-client/index.js";

let server: RunningServer;
let session: RawSession;
let topic: { readonly streamId: number; readonly topicId: number; readonly partitions: readonly RawPartition[] };
let partition: RawPartition;

beforeAll(async () => {
  server = await startServer();
  session = await RawSession.open(server.port);
  topic = await freshTopic(session, { partitions: 2 });
});
beforeEach(() => {
  partition = topic.partitions[0]!;
});
afterAll(async () => {
  await session.close();
  await server.close();
});
/** Nothing that a test sent and was refused is stored, and the partition takes the next batch. */
afterEach(async () => {
  const kept = await partition.readAll();
  expect(kept.every((entry) => textOf(entry) === "kept")).toBe(true);
  expect(await partition.send([message("kept")])).toBe(kept.length);
});

interface Send {
  readonly batch: Uint8Array;
  readonly messagesCount?: number;
  readonly partitioning?: Partitioning;
}

const refused = (code: number): string => `status ${code}`;

async function send({ batch, messagesCount = 2, partitioning }: Send, overrides?: Overrides): Promise<string> {
  const { streamId, topicId, partitionId, context } = partition;
  const target = partitioning ?? { kind: "partition_id" as const, partitionId };
  const request = { streamId, topicId, partitioning: target, messagesCount, batch };
  return session.try(sendMessages, request, { ...context, ...overrides });
}

/** A sound batch of two messages with bytes replaced. */
function batchWith(...changes: readonly (readonly [at: number, bytes: readonly number[]])[]): Uint8Array {
  const batch = encodeBatch(messages(2));
  for (const [at, bytes] of changes) batch.set(bytes, at);
  return batch;
}

const SECOND_FRAME = BATCH_HEADER_SIZE + MESSAGE_HEADER_SIZE + "message 0".length;

describe("checksums", () => {
  it.each([
    ["of the batch", 40, ErrorCode.InvalidBatchChecksum],
    ["the origin timestamp that it covers", 24, ErrorCode.InvalidBatchChecksum],
    ["of the first message", BATCH_HEADER_SIZE, ErrorCode.InvalidMessageChecksum],
    ["of the second message", SECOND_FRAME, ErrorCode.InvalidMessageChecksum],
    ["the payload of a message", BATCH_HEADER_SIZE + MESSAGE_HEADER_SIZE, ErrorCode.InvalidMessageChecksum],
    ["the id of a message", BATCH_HEADER_SIZE + 8, ErrorCode.InvalidMessageChecksum],
  ])("%s", async (_what, at, code) => {
    const batch = batchWith();
    batch[at]! ^= 1;
    expect(await send({ batch })).toBe(refused(code));
  });

  it("any flipped bit of a batch is refused", async () => {
    const sound = batchWith();
    for (let bit = 0; bit < sound.length * 8; bit += 29) {
      const batch = sound.slice();
      batch[bit >> 3]! ^= 1 << (bit & 7);
      expect(await send({ batch }), `bit ${bit}`).toMatch(/^status (3|4027|4039)$/);
    }
  });
});

describe("fields", () => {
  it.each([
    ["partition id", { partitionId: 1, baseOffset: 0, baseTimestamp: 0 }],
    ["base offset", { partitionId: 0, baseOffset: 1, baseTimestamp: 0 }],
    ["base timestamp", { partitionId: 0, baseOffset: 0, baseTimestamp: 1 }],
  ])("a %s that only the server stamps is refused, whatever its checksum", async (_what, stamp) => {
    const batch = batchWith();
    stampBatch(batch, 0, stamp);
    expect(await send({ batch })).toBe(refused(ErrorCode.InvalidCommand));
  });

  it.each([
    ["a length below the header", [32, [255, 0, 0, 0, 0, 0, 0, 0]]],
    ["a length beyond the body", [32, [0xff, 0xff, 0, 0, 0, 0, 0, 0]]],
    ["a length of full width", [32, [255, 255, 255, 255, 255, 255, 255, 255]]],
    ["no messages", [48, [0, 0, 0, 0]]],
    ["more messages than frames", [48, [3, 0, 0, 0]]],
    ["fewer messages than frames", [48, [1, 0, 0, 0]]],
    ["four thousand million messages", [48, [255, 255, 255, 255]]],
    ["a producer flag that is none", [52, [2]]],
    ["bytes beside the producer flag", [53, [1]]],
    ["a producer id without the flag", [56, [1]]],
    ["a reserved byte", [72, [1]]],
    ["the last reserved byte", [255, [1]]],
    ["a reserved byte in a message", [BATCH_HEADER_SIZE + 40, [1]]],
    ["a payload beyond the batch", [BATCH_HEADER_SIZE + 36, [255, 255, 255, 255]]],
    ["user headers beyond the batch", [BATCH_HEADER_SIZE + 32, [255, 255, 255, 127]]],
  ] as const)("%s", async (_what, change) => {
    expect(await send({ batch: batchWith(change) })).toBe(refused(ErrorCode.InvalidCommand));
  });

  it.each([
    ["an id", [56, [0, 0, 0, 0, 0, 0, 0, 0x80]]],
    ["an epoch", [64, [0, 0x80]]],
    ["a sequence", [68, [0, 0, 0, 0x80]]],
    ["a gap", [66, [1]]],
  ] as const)("a producer section with %s beyond its limit", async (_what, change) => {
    const batch = encodeBatch(messages(2), { producer: { id: 1n, epoch: 0, baseSequence: 0 } });
    batch.set(change[1], change[0]);
    expect(await send({ batch })).toBe(refused(ErrorCode.InvalidCommand));
  });

  it.each([0, 1, 3, 0xffff_ffff])("a stated count of %i for two messages", async (messagesCount) => {
    expect(await send({ batch: batchWith(), messagesCount })).toBe(refused(ErrorCode.InvalidCommand));
  });
});

describe("the shape of the body", () => {
  it.each([
    ["no batch", new Uint8Array(0)],
    ["a batch header alone", batchWith().subarray(0, BATCH_HEADER_SIZE)],
    ["a batch cut short", batchWith().subarray(0, -1)],
    ["a batch with bytes behind it", Buffer.concat([batchWith(), Buffer.of(0)])],
    ["two batches", Buffer.concat([batchWith(), batchWith()])],
  ])("%s", async (_what, batch) => {
    expect(await send({ batch })).toBe(refused(ErrorCode.InvalidCommand));
  });

  it("metadata that does not take exactly its length", async () => {
    const body = partition.sendBody(messages(2));
    const length = new DataView(body.buffer).getUint32(0, true);
    for (const stated of [0, length - 1, length + 1, body.length, 0xffff_ffff]) {
      const changed = body.slice();
      new DataView(changed.buffer).setUint32(0, stated, true);
      const answer = await session.send(sendMessages, changed, partition.context);
      expect(outcome(answer), `length ${stated}`).toBe(refused(ErrorCode.InvalidCommand));
    }
  });
});

describe("sizes", () => {
  const oversized = (payload: number, userHeaders: number): MessageInput => ({
    payload: Buffer.alloc(payload, 1),
    userHeaders: Buffer.alloc(userHeaders, 1),
    originTimestamp: 1,
  });

  it("user headers above 100,000 bytes are refused with 4017, and 100,000 are not", async () => {
    const tooBig = encodeBatch([oversized(1, MAX_USER_HEADERS_SIZE + 1)]);
    expect(await send({ batch: tooBig, messagesCount: 1 })).toBe(refused(ErrorCode.TooBigUserHeaders));
    const other = topic.partitions[1]!;
    expect(outcome(await other.trySend([oversized(1, MAX_USER_HEADERS_SIZE)]))).toBe("ok");
  });

  it("a payload above 64,000,000 bytes is refused with 4022", async () => {
    const tooBig = encodeBatch([oversized(MAX_PAYLOAD_SIZE + 1, 0)], { allocate: (size) => Buffer.allocUnsafe(size) });
    expect(await send({ batch: tooBig, messagesCount: 1 })).toBe(refused(ErrorCode.TooBigMessagePayload));
  });

  it("a message of 10 MiB goes and comes back whole", async () => {
    const payload = Buffer.alloc(10 * 1024 * 1024);
    for (let at = 0; at < payload.length; at++) payload[at] = (at * 7 + 3) & 0xff;
    const other = topic.partitions[1]!;
    const offset = await other.send([{ payload, originTimestamp: 1 }]);
    const polled = await other.poll({ kind: "offset", value: BigInt(offset) });
    expect(Buffer.compare(polled.messages[0]!.payload, payload)).toBe(0);
    // A smaller limit still gives the message, alone.
    const small = await other.poll({ kind: "offset", value: BigInt(offset) }, { maxBytes: 1024 });
    expect(small.messages).toHaveLength(1);
  });

  it("an empty payload and id 0 are stored as they are", async () => {
    const other = topic.partitions[1]!;
    const offset = await other.send([{ payload: Buffer.alloc(0), id: 0n, originTimestamp: 0 }]);
    const polled = await other.poll({ kind: "offset", value: BigInt(offset) });
    expect(polled.messages).toMatchObject([{ id: 0n, originTimestamp: 0n }]);
    expect(polled.messages[0]!.payload).toHaveLength(0);
  });
});

describe("fences", () => {
  it("an incarnation that is not the current one is refused with 87, zero included", async () => {
    const batch = batchWith();
    const current = partition.incarnation;
    for (const partitionIncarnation of [0n, current - 1n, current + 1n, 2n ** 53n + current, 2n ** 64n - 1n]) {
      expect(await send({ batch }, { partitionIncarnation })).toBe(refused(ErrorCode.HistoryUnavailable));
    }
  });

  it("a send that names an owner generation is refused with 5009", async () => {
    expect(await send({ batch: batchWith() }, { ownerGeneration: 1 })).toBe(
      refused(ErrorCode.ConsumerGroupPartitionNotOwned),
    );
  });

  it("metadata that this node never applies is waited for no longer than the read budget: 58", async () => {
    const startedAt = performance.now();
    const never = [1_000_000, 2n ** 53n, 2n ** 64n - 1n];
    const outcomes = never.map((minimumMetadataOp) => send({ batch: batchWith() }, { minimumMetadataOp }));
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set([refused(ErrorCode.TransientNotAccepted)]));
    expect(performance.now() - startedAt).toBeLessThan(6000);
  });
});

describe("partitioning", () => {
  it("by balance or by key, with a producer section, is refused with 95", async () => {
    const batch = encodeBatch(messages(2), { producer: { id: 1n, epoch: 0, baseSequence: 0 } });
    for (const partitioning of [{ kind: "balanced" }, { kind: "messages_key", key: Buffer.from("k") }] as const) {
      expect(await send({ batch, partitioning })).toBe(refused(ErrorCode.ProducerPartitionRequired));
    }
  });

  it("of forms that are none is malformed", async () => {
    const { streamId, topicId } = partition;
    const sound = partition.sendBody(messages(2));
    const at = 4 + 6 + 6;
    expect([streamId, topicId]).toEqual([numericId(topic.streamId), numericId(topic.topicId)]);
    for (const [kind, length] of [
      [0, 4],
      [4, 4],
      [1, 4],
      [2, 3],
      [3, 0],
    ] as const) {
      const body = sound.slice();
      body.set([kind, length], at);
      expect(outcome(await session.send(sendMessages, body, partition.context))).toBe(
        refused(ErrorCode.InvalidCommand),
      );
    }
  });
});

it("a refused send leaves its request number free of harm: the same number may carry a sound batch", async () => {
  const other = topic.partitions[1]!;
  const request = session.nextRequest();
  const broken = encodeBatch(messages(1));
  broken[40]! ^= 1;
  expect(await send({ batch: broken, messagesCount: 1 }, { request })).toBe(refused(ErrorCode.InvalidBatchChecksum));
  expect(outcome(await other.trySend(messages(1), undefined, { request }))).toBe("ok");
  expect((await partition.poll(first)).messages.map(textOf)).not.toContain("message 0");
});
