import { describe, expect, it } from "vitest";
import { IggyError } from "../../src/errors/index.js";
import { xxh3_64 } from "../../src/hash/index.js";
import * as messages from "../../src/messages/index.js";
import { decode, decodeRequest, fetchMessages, pollMessages, sendMessages } from "../../src/index.js";
import { fromHex, loadVectors, ruleBytes, toHex } from "../golden.js";
import { type GoldenBatch, inputsOf, producerOf, type SendVector, sizedBatches, vectors } from "./fixtures.js";

const partitioningOf = ({ fields: { partitioning } }: SendVector): messages.SendTarget["partitioning"] => {
  if (partitioning.kind === "balanced") return { kind: "balanced" };
  return partitioning.kind === "partition_id"
    ? { kind: "partition_id", partitionId: partitioning.partition_id ?? 0 }
    : { kind: "messages_key", key: fromHex(partitioning.key_hex ?? "") };
};

describe("send requests", () => {
  it.each(vectors.send_requests)("$name encodes to the golden bytes behind any headroom", (vector) => {
    const target = {
      streamId: vector.fields.stream_id,
      topicId: vector.fields.topic_id,
      partitioning: partitioningOf(vector),
    };
    const options = { producer: producerOf(vector.fields.producer) };
    expect(toHex(messages.encodeSendRequest(target, inputsOf(vector), options))).toBe(vector.hex);
    const roomy = messages.encodeSendRequest(target, inputsOf(vector), { ...options, headroom: 256 });
    expect(toHex(roomy.subarray(256))).toBe(vector.hex);
    expect(roomy.subarray(0, 256).every((byte) => byte === 0)).toBe(true);
    const allocate = (size: number): Uint8Array => new Uint8Array(size).fill(0xff);
    expect(toHex(messages.encodeSendRequest(target, inputsOf(vector), { ...options, allocate }))).toBe(vector.hex);
  });

  it.each(vectors.send_requests)("$name decodes to a batch that verifies", (vector) => {
    const request = decodeRequest(sendMessages, fromHex(vector.hex));
    expect(messages.verifyBatch(request.batch)).toBe(request.batch.length);
    expect(new messages.BatchView().at(request.batch).messageCount).toBe(request.messagesCount);
  });

  it.each(sizedBatches)("$name hashes to the golden request", (vector) => {
    const sized = vector as typeof vector & {
      readonly send_request_size: number;
      readonly send_request_xxh3_64: string;
    };
    const origin = 1_772_000_000_000_000;
    const inputs =
      vector.payload_rule === undefined
        ? Array.from({ length: 1000 }, (_, i) => ({
            id: BigInt(i + 1),
            originTimestamp: origin + i,
            payload: new Uint8Array(Uint32Array.of(i).buffer),
          }))
        : [{ id: 43981n, originTimestamp: origin, payload: ruleBytes(vector.payload_rule.length) }];
    const request = messages.encodeSendRequest(
      {
        streamId: { kind: "numeric", value: 1 },
        topicId: { kind: "numeric", value: 1 },
        partitioning: { kind: "partition_id", partitionId: 0 },
      },
      inputs,
    );
    expect(request.length).toBe(sized.send_request_size);
    expect(String(xxh3_64(request))).toBe(sized.send_request_xxh3_64);
  });
});

describe("poll replies", () => {
  it.each(vectors.poll_responses)("$name walks to the golden messages", ({ fields, hex }) => {
    const reply = decode(pollMessages.response, fromHex(hex));
    messages.checkRecords(reply.records, reply.messagesCount);
    const seen: unknown[] = [];
    messages.forEachMessage(reply.records, (message) => {
      seen.push({
        checksum: String(message.checksum),
        id: String(message.id),
        offset: String(message.offsetBig),
        timestamp: String(message.timestampBig),
        origin_timestamp: String(message.originTimestampBig),
        payload_hex: toHex(message.payload),
      });
      expect(message.offset).toBe(Number(message.offsetBig));
      expect(message.timestamp).toBe(Number(message.timestampBig));
      expect(message.originTimestamp).toBe(Number(message.originTimestampBig));
      expect(messages.tryDecodeUserHeaders(message.userHeaders)).toBeDefined();
    });
    expect(seen).toEqual(
      fields.messages_as_read.map((message) => {
        const { checksum, id, offset, timestamp, origin_timestamp, payload_hex } = message;
        return { checksum, id, offset, timestamp, origin_timestamp, payload_hex };
      }),
    );
  });

  it.each(vectors.negative.filter((vector) => vector.type === "PollReply" && vector.client_error?.code !== 82))(
    "$name is refused as $client_error.name",
    ({ hex, client_error }) => {
      const reply = decode(pollMessages.response, fromHex(hex ?? ""));
      let thrown: unknown;
      try {
        messages.checkRecords(reply.records, reply.messagesCount);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(IggyError);
      expect(thrown).toMatchObject({ code: client_error?.code });
    },
  );

  it("refuse more messages than were asked for", () => {
    const golden = vectors.poll_responses.find(({ name }) => name === "two_batches_four_messages");
    const records = fromHex(golden?.hex ?? "").subarray(40);
    messages.checkRecords(records, 4, 4);
    expect(() => messages.checkRecords(records, 4, 3)).toThrow(expect.objectContaining({ code: 4009 }) as Error);
  });
});

describe("fetch replies", () => {
  interface Section {
    readonly messages_count: number;
    readonly batches: readonly GoldenBatch[];
  }

  it.each(vectors.fetch_responses)("$name holds records that verify", ({ fields, hex }) => {
    const { sections } = fields as { readonly sections: readonly Section[] };
    const reply = decode(fetchMessages.response, fromHex(hex));
    let at = 0;
    reply.sections.forEach((section, i) => {
      const records = reply.records.subarray(at, at + section.recordsLen);
      at += section.recordsLen;
      messages.checkRecords(records, section.messagesCount);
      const checksums: string[] = [];
      for (let record = 0; record < records.length;) {
        checksums.push(String(new messages.BatchView().at(records, record).checksum));
        record += messages.verifyBatch(records, record);
      }
      expect(checksums).toEqual((sections[i]?.batches ?? []).map((batch) => batch.header.batch_checksum));
    });
  });
});

describe("constants", () => {
  it("are the golden ones", () => {
    const golden = vectors.constants;
    expect({
      batch_header_size: messages.BATCH_HEADER_SIZE,
      message_header_size: messages.MESSAGE_HEADER_SIZE,
      batch_checksum_offset: 40,
      message_count_offset: 48,
      producer_offset: 52,
      reserved_offset: 72,
      max_timestamp_delta_us: String(messages.MAX_TIMESTAMP_DELTA_MICROS),
      max_payload: messages.MAX_PAYLOAD_SIZE,
      max_user_headers: messages.MAX_USER_HEADERS_SIZE,
      max_record_size: messages.MAX_RECORD_SIZE,
      max_record_reply_size: messages.MAX_RECORD_REPLY_SIZE,
      producer_id_max: String(messages.MAX_PRODUCER_ID),
      producer_epoch_max: messages.MAX_PRODUCER_EPOCH,
      producer_sequence_max: messages.MAX_PRODUCER_SEQUENCE,
      poll_reply_header_size: messages.POLL_REPLY_PREFIX_SIZE,
      fetch_section_header_size: messages.FETCH_SECTION_SIZE,
      min_deferred_poll_max_bytes: messages.MIN_READ_MAX_BYTES,
      max_deferred_poll_wait_us: String(messages.MAX_READ_WAIT_MICROS),
      max_deferred_poll_timeout_us: String(messages.MAX_READ_TIMEOUT_MICROS),
      min_deferred_poll_reply_margin_us: String(messages.MIN_READ_REPLY_MARGIN_MICROS),
      fetch_reply_margin_us: String(messages.FETCH_REPLY_MARGIN_MICROS),
    }).toEqual(golden);
  });
});

describe("message keys", () => {
  const hashes: {
    readonly message_key_to_partition: readonly {
      readonly key_hex: string;
      readonly partition_by_count: readonly { readonly partitions: number; readonly partition: number }[];
    }[];
  } = loadVectors("hashes");

  it.each(hashes.message_key_to_partition)(
    "$key_hex goes where every client sends it",
    ({ key_hex, partition_by_count }) => {
      for (const { partitions, partition } of partition_by_count) {
        expect(messages.partitionForKey(fromHex(key_hex), partitions)).toBe(partition);
      }
    },
  );

  it("has no partition in a topic without any", () => {
    expect(() => messages.partitionForKey(Uint8Array.of(1), 0)).toThrow(
      expect.objectContaining({ code: 2010 }) as Error,
    );
  });
});
