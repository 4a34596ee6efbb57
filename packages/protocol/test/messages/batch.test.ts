import { describe, expect, it } from "vitest";
import { IggyError } from "../../src/errors/index.js";
import { WireError } from "../../src/codec/index.js";
import {
  advanceSequence,
  BatchView,
  checkMessage,
  encodeBatch,
  lastSequence,
  MessageCursor,
  producerIdOf,
  restampedChecksum,
  sliceBatch,
  stampBatch,
  validateBatchLayout,
  verifyBatch,
} from "../../src/messages/index.js";
import { hashRun } from "../../src/hash/xxh3.js";
import { fromHex, loadVectors, ruleBytes, toHex } from "../golden.js";
import { batchOf, goldenBatches, inputsOf, producerOf, sizedBatches, vectors } from "./fixtures.js";

const concat = (...pieces: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(pieces));

describe("send batches", () => {
  it.each(vectors.send_requests)("$name encodes to the golden bytes", (vector) => {
    const bytes = encodeBatch(inputsOf(vector), { producer: producerOf(vector.fields.producer) });
    expect(toHex(bytes)).toBe(toHex(batchOf(vector)));
    expect(verifyBatch(bytes)).toBe(bytes.length);
  });

  it.each(sizedBatches)("$name encodes to the golden header and frame", (vector) => {
    const origin = 1_772_000_000_000_000;
    const messages =
      vector.payload_rule === undefined
        ? Array.from({ length: 1000 }, (_, i) => {
            const payload = new Uint8Array(4);
            new DataView(payload.buffer).setUint32(0, i, true);
            return { id: BigInt(i + 1), originTimestamp: origin + i, payload };
          })
        : [{ id: 43981n, originTimestamp: origin, payload: ruleBytes(vector.payload_rule.length) }];
    const bytes = encodeBatch(messages);
    const golden = vector.header ?? vector.as_sent?.header;
    expect(bytes.length).toBe(vector.batch_size);
    expect(String(new BatchView().at(bytes).checksum)).toBe(golden?.batch_checksum);
    if (vector.as_stored === undefined || vector.as_stored_first_304_bytes_hex === undefined) return;
    expect(toHex(bytes.subarray(0, 304))).toBe(vector.as_sent_first_304_bytes_hex);
    stampBatch(bytes, 0, { partitionId: 12, baseOffset: 1000, baseTimestamp: origin + 50 });
    expect(toHex(bytes.subarray(0, 304))).toBe(vector.as_stored_first_304_bytes_hex);
    expect(verifyBatch(bytes)).toBe(bytes.length);
  });

  it("takes an id as its 16 bytes on the wire", () => {
    const wire = fromHex("0123456789ab4cde8f0123456789abcd");
    const message = { payload: Uint8Array.of(1), originTimestamp: 1 };
    expect(encodeBatch([{ ...message, id: wire }])).toEqual(
      encodeBatch([{ ...message, id: 273382408770730434175462588892737512193n }]),
    );
  });

  it("refuses an empty batch, a wide span of time and a producer outside its ranges", () => {
    const message = { payload: Uint8Array.of(1), originTimestamp: 1n };
    expect(() => encodeBatch([])).toThrow(expect.objectContaining({ kind: "Validation" }) as Error);
    expect(() => encodeBatch([message, { ...message, originTimestamp: 4_294_967_297 }])).toThrow(
      expect.objectContaining({ code: 4038, kind: "InvalidMessageTimestampDelta" }) as Error,
    );
    for (const producer of [
      { id: 1n << 63n, epoch: 0, baseSequence: 0 },
      { id: 0n, epoch: 32_768, baseSequence: 0 },
      { id: 0n, epoch: 0, baseSequence: 2_147_483_648 },
    ]) {
      expect(() => encodeBatch([message], { producer })).toThrow(WireError);
    }
  });

  it("checks the limits of a message with their codes", () => {
    const codeOf = (payload: number, userHeaders: number): number | undefined => {
      try {
        checkMessage({ payload: new Uint8Array(payload), userHeaders: new Uint8Array(userHeaders) });
        return undefined;
      } catch (error) {
        return error instanceof IggyError ? error.code : -1;
      }
    };
    expect([codeOf(0, 0), codeOf(64_000_001, 0), codeOf(1, 100_001), codeOf(64_000_000, 100_000)]).toEqual([
      4025,
      4022,
      4017,
      undefined,
    ]);
  });
});

describe("stored batches", () => {
  it.each(goldenBatches)("$name reads as its golden fields", ({ fields, hex }) => {
    const bytes = fromHex(`aa${hex}bb`);
    const { header, messages } = fields;
    expect(validateBatchLayout(bytes, 1, bytes.length - 2)).toBe(bytes.length - 2);
    expect(verifyBatch(bytes, 1)).toBe(bytes.length - 2);
    const batch = new BatchView().at(bytes, 1);
    expect({
      partition_id: String(batch.partitionIdBig),
      base_offset: String(batch.baseOffsetBig),
      base_timestamp: String(batch.baseTimestampBig),
      origin_timestamp: String(batch.originTimestampBig),
      batch_length: String(batch.batchLength),
      batch_checksum: String(batch.checksum),
      message_count: batch.messageCount,
    }).toEqual({ ...header, producer: undefined });
    expect(batch.producer()).toEqual(producerOf(header.producer));
    expect(batch.hasProducer).toBe(header.producer !== null);

    const cursor = new MessageCursor().records(bytes, 1, bytes.length - 1);
    for (const message of messages) {
      expect(cursor.next()).toBe(true);
      expect({
        checksum: String(cursor.checksum),
        id: String(cursor.id),
        offset_delta: cursor.offsetDelta,
        timestamp_delta: cursor.timestampDelta,
        user_headers_length: cursor.userHeaders.length,
        payload_hex: toHex(cursor.payload),
      }).toEqual({
        checksum: message.checksum,
        id: message.id,
        offset_delta: message.offset_delta,
        timestamp_delta: message.timestamp_delta,
        user_headers_length: message.user_headers_length,
        payload_hex: message.payload_hex,
      });
      expect(cursor.offset).toBe(Number(header.base_offset) + message.offset_delta);
      expect(cursor.originTimestamp).toBe(Number(header.origin_timestamp) + message.timestamp_delta);
    }
    expect(cursor.next()).toBe(false);
  });

  it.each(goldenBatches.filter(({ name }) => name.endsWith("/as_sent")))("$name stamps to its stored form", (sent) => {
    const stored = goldenBatches.find(({ name }) => name === sent.name.replace("as_sent", "as_stored"));
    const stamp = {
      partitionId: Number(stored?.fields.header.partition_id),
      baseOffset: BigInt(stored?.fields.header.base_offset ?? 0),
      baseTimestamp: Number(stored?.fields.header.base_timestamp),
    };
    const bytes = fromHex(`00${sent.hex}`);
    expect(String(restampedChecksum(bytes, 1, stamp))).toBe(stored?.fields.header.batch_checksum);
    expect(toHex(bytes.subarray(1))).toBe(sent.hex);
    stampBatch(bytes, 1, stamp);
    expect(toHex(bytes.subarray(1))).toBe(stored?.hex);
  });

  it("slices to what a server sends when a read starts inside a batch", () => {
    const golden = vectors.poll_responses.find(({ name }) => name === "batch_without_its_first_message");
    const whole = vectors.poll_responses.find(({ name }) => name === "two_batches_four_messages");
    const records = fromHex(whole?.hex ?? "").subarray(40);
    // The golden slice was cut from the batch at offset 1.
    const second = new BatchView().at(records).batchLength;
    const slice = sliceBatch(Buffer.from(records), second, 1, 3);
    expect(toHex(concat(slice.header, slice.frames))).toBe(golden?.hex.slice(80));
  });

  it("slices every run to a batch that verifies, and refuses runs outside", () => {
    const bytes = encodeBatch(
      Array.from({ length: 5 }, (_, i) => ({ payload: ruleBytes(i * 7), originTimestamp: i, id: BigInt(i) })),
    );
    for (let from = 0; from < 5; from++) {
      for (let to = from + 1; to <= 5; to++) {
        const { header, frames } = sliceBatch(bytes, 0, from, to);
        const slice = concat(header, frames);
        expect(verifyBatch(slice)).toBe(slice.length);
        const cursor = new MessageCursor().records(slice);
        const seen = [];
        while (cursor.next()) seen.push(cursor.id);
        expect(seen).toEqual(Array.from({ length: to - from }, (_, i) => BigInt(from + i)));
      }
    }
    expect(() => sliceBatch(bytes, 0, 2, 2)).toThrow(WireError);
    expect(() => sliceBatch(bytes, 0, 0, 6)).toThrow(WireError);
  });
});

describe("damaged batches", () => {
  const negatives = vectors.negative.filter(({ type }) => type === "Batch");

  it.each(negatives)("$name is refused as $error.kind", ({ hex, error, layout_only_error }) => {
    const bytes = fromHex(hex ?? "");
    expect(() => verifyBatch(bytes)).toThrow(expect.objectContaining({ kind: error?.kind }) as Error);
    if (layout_only_error) {
      expect(() => validateBatchLayout(bytes)).toThrow(
        expect.objectContaining({ kind: layout_only_error.kind }) as Error,
      );
    } else expect(validateBatchLayout(bytes)).toBe(bytes.length);
  });

  it("names the first damaged message by its offset and the code of the damage", () => {
    const bytes = encodeBatch([1, 2, 3].map((i) => ({ payload: ruleBytes(i), originTimestamp: 0 })));
    stampBatch(bytes, 0, { partitionId: 1, baseOffset: 50, baseTimestamp: 1 });
    bytes[256 + 49 + 48] = 0xff;
    expect(() => verifyBatch(bytes)).toThrow(/message at offset 51 /);
    expect(() => verifyBatch(bytes)).toThrow(expect.objectContaining({ code: 4027 }) as Error);
  });
});

describe("producer numbers", () => {
  it.each(vectors.producer_sequences)("$count messages from $base_sequence", (vector) => {
    expect(lastSequence(vector.base_sequence, vector.count)).toBe(vector.last_sequence);
    expect(advanceSequence(vector.base_sequence, vector.count)).toBe(vector.next_base_sequence);
  });

  const hashes: {
    readonly producer_ids: readonly {
      readonly session: string;
      readonly index: number;
      readonly producer_id: string;
    }[];
  } = loadVectors("hashes");
  it.each(hashes.producer_ids)("id $index of session $session", ({ session, index, producer_id }) => {
    expect(String(producerIdOf(BigInt(session), index))).toBe(producer_id);
  });

  it("tells a missing session from used up ids", () => {
    expect(() => producerIdOf(0n, 0)).toThrow(expect.objectContaining({ code: 40 }) as Error);
    expect(() => producerIdOf(1n, 2 ** 20)).toThrow(expect.objectContaining({ code: 91 }) as Error);
    expect(() => producerIdOf(1n << 43n, 0)).toThrow(expect.objectContaining({ code: 91 }) as Error);
  });
});

describe("batches in shared memory", () => {
  it("verify, stamp and walk like any other", () => {
    const sent = encodeBatch([{ id: 7n, payload: ruleBytes(5000), originTimestamp: 1 }]);
    const shared = new Uint8Array(new SharedArrayBuffer(sent.length + 9), 9);
    shared.set(sent);
    expect(verifyBatch(shared)).toBe(sent.length);
    stampBatch(shared, 0, { partitionId: 1, baseOffset: 2, baseTimestamp: 3 });
    expect(verifyBatch(shared)).toBe(sent.length);
    const cursor = new MessageCursor().records(shared);
    expect(cursor.next()).toBe(true);
    expect([...cursor.payload]).toEqual([...ruleBytes(5000)]);
  });

  it("changed between the checks are refused, not hashed for ever", () => {
    const sent = encodeBatch([{ payload: ruleBytes(10), originTimestamp: 1 }]);
    expect(() => hashRun(sent, 256, sent.length - 1)).toThrow(WireError);
  });
});
