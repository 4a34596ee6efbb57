import fc from "fast-check";
import { expect, test } from "vitest";
import {
  encodeSendRequest,
  encodeUtf8,
  HEADER_SIZE,
  messageSize,
  MessageCursor,
  namedId,
  numericId,
  SendRequestBuilder,
} from "../../src/index.js";

const topic = { streamId: numericId(1), topicId: namedId("orders") };

const message = fc.record({
  payload: fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 2000 }), fc.string({ minLength: 1, unit: "binary" })),
  userHeaders: fc.option(fc.uint8Array({ minLength: 1, maxLength: 50 }), { nil: undefined }),
  originTimestamp: fc.nat({ max: 1_000_000 }).map((late) => 1_700_000_000_000_000 + late),
  id: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
});
const section = fc.record({
  id: fc.bigInt({ min: 0n, max: (1n << 63n) - 1n }),
  epoch: fc.nat(32_767),
  baseSequence: fc.nat(2_147_483_647),
});

test("a request built message by message is the one that is encoded at once", () => {
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 20 }),
      fc.nat(0xffff_ffff),
      fc.option(section, { nil: undefined }),
      fc.nat(3000),
      (messages, partitionId, producer, capacity) => {
        const builder = new SendRequestBuilder(topic, HEADER_SIZE, capacity);
        const empty = builder.size;
        for (const { payload, userHeaders, originTimestamp, id } of messages) {
          expect(builder.fitsTime(originTimestamp)).toBe(true);
          const before = builder.size;
          builder.add(payload, userHeaders, originTimestamp, id);
          expect(builder.size - before).toBe(messageSize(payload, userHeaders));
        }
        const inputs = messages.map(({ payload, userHeaders, ...rest }) => ({
          ...rest,
          payload: typeof payload === "string" ? encodeUtf8(payload) : payload,
          ...(userHeaders === undefined ? {} : { userHeaders }),
        }));
        const target = { ...topic, partitioning: { kind: "partition_id", partitionId } as const };
        const expected = encodeSendRequest(target, inputs, { headroom: HEADER_SIZE, producer: producer ?? null });
        expect(builder.count).toBe(messages.length);
        expect(empty).toBeLessThan(builder.size);
        const copy = builder.copy();
        expect(builder.finish(partitionId, producer)).toEqual(expected);
        // What was sent before leaves no trace in what is sent again.
        const again = builder.copy();
        expect(copy.finish(partitionId, producer)).toEqual(expected);
        expect(again.finish(7)).toEqual(copy.copy().finish(7));
        expect(new MessageCursor().records(builder.batch).next()).toBe(true);
      },
    ),
  );
});

test("ids that a message does not name are written in place", () => {
  const builder = new SendRequestBuilder(topic, 0);
  builder.add("a", undefined, 1, (bytes, at) => bytes.fill(7, at, at + 16));
  builder.finish(0);
  const cursor = new MessageCursor().records(builder.batch);
  cursor.next();
  expect(cursor.id).toBe(BigInt(`0x${"07".repeat(16)}`));
});

test("times that lie too far apart are told before a message is added", () => {
  const builder = new SendRequestBuilder(topic, 0);
  builder.add("a", undefined, 5_000_000_000, 1n);
  expect(builder.fitsTime(5_000_000_000 + 0xffff_ffff)).toBe(true);
  expect(builder.fitsTime(5_000_000_000 + 0xffff_ffff + 1)).toBe(false);
  builder.add("b", undefined, 5_000_000_001, 2n);
  expect(builder.fitsTime(5_000_000_001n - 0xffff_ffffn)).toBe(true);
  expect(builder.fitsTime(5_000_000_001n - 0xffff_ffffn - 1n)).toBe(false);
});

test("a request without messages is refused", () => {
  expect(() => new SendRequestBuilder(topic, 0).finish(0)).toThrow(/needs a message/);
});
