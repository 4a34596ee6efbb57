import {
  decodeUserHeaders,
  IggyError,
  limits,
  MAX_USER_HEADERS_SIZE,
  MessageCursor,
  verifyBatch,
} from "@iggy/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonValue, parseJson, stringifyJson } from "../../../src/http/json/index.js";
import { batchOf } from "../../../src/http/messages/send.js";
import { sendBodyShape } from "../../../src/http/messages/send-body.js";

const U128_MAX = 2n ** 128n - 1n;
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const hello = base64("hello");

const body = (members: object = {}): JsonValue => ({
  partitioning: { kind: "balanced", value: "" },
  messages: [{ payload: hello }],
  ...members,
});
const withMessage = (message: object): JsonValue => body({ messages: [message] });
const read = (json: JsonValue): ReturnType<typeof sendBodyShape.read> =>
  sendBodyShape.read(parseJson(stringifyJson(json)));
const only = (message: object): ReturnType<typeof read>["messages"][number] => read(withMessage(message)).messages[0]!;

function refusal(json: JsonValue): IggyError {
  try {
    read(json);
  } catch (error) {
    if (error instanceof IggyError) return error;
    throw error;
  }
  throw new Error("the body was taken");
}

describe("partitioning", () => {
  it.each<[object, object]>([
    [{ kind: "balanced", value: "" }, { kind: "balanced" }],
    [
      { kind: "partition_id", value: "AgAAAA==" },
      { kind: "partition_id", partitionId: 2 },
    ],
    [
      { kind: "partition_id", value: "/////w==" },
      { kind: "partition_id", partitionId: 0xffff_ffff },
    ],
    [
      { kind: "messages_key", value: base64("user-42") },
      { kind: "messages_key", key: Buffer.from("user-42") },
    ],
    [
      { kind: "messages_key", value: Buffer.alloc(255, 7).toString("base64") },
      { kind: "messages_key", key: Buffer.alloc(255, 7) },
    ],
  ])("reads %j", (json, value) => {
    expect(read(body({ partitioning: json })).partitioning).toEqual(value);
  });

  it.each<[object | null, number, string]>([
    [{ kind: "balanced", value: "AA==" }, 3, "partitioning.value: takes 0 bytes, not 1"],
    [{ kind: "partition_id", value: "AgAA" }, 3, "partitioning.value: takes 4 bytes, not 3"],
    [{ kind: "messages_key", value: "" }, 4028, "partitioning.value: takes 1 to 255 bytes, not 0"],
    [{ kind: "messages_key", value: Buffer.alloc(256).toString("base64") }, 4028, "not 256"],
    [{ kind: "messages_key", value: "a" }, 3, "partitioning.value: must be standard base64"],
    [{ kind: "PartitionId", value: "AgAAAA==" }, 3, "partitioning.kind: must be one of balanced"],
    [{ kind: "balanced" }, 3, "partitioning.value: is missing"],
    [{ value: "" }, 3, "partitioning.kind: is missing"],
    [{ kind: "balanced", value: "", key: "" }, 3, "partitioning.key: is no member here"],
    [null, 3, "partitioning: must be an object, not null"],
  ])("refuses %j", (partitioning, code, message) => {
    const error = refusal(body({ partitioning }));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });
});

describe("a message id", () => {
  it.each<[JsonValue, bigint]>([
    [0, 0n],
    [1, 1n],
    [U128_MAX, U128_MAX],
    [String(U128_MAX), U128_MAX],
    ["258", 258n],
    ["12345678901234567890123456789012", 12345678901234567890123456789012n],
    ["550e8400-e29b-41d4-a716-446655440000", 0x550e8400e29b41d4a716446655440000n],
    ["550E8400E29B41D4A716446655440000", 0x550e8400e29b41d4a716446655440000n],
  ])("may be %s", (id, value) => {
    expect(only({ id, payload: hello }).id).toBe(value);
  });

  it("is 0 when it is missing", () => {
    expect(only({ payload: hello }).id).toBe(0n);
  });

  it.each<[JsonValue]>([
    [U128_MAX + 1n],
    [-1],
    [1.5],
    [""],
    ["0x10"],
    ["550e8400-e29b-41d4-a716-44665544000"],
    ["zz0e8400e29b41d4a716446655440000"],
    [null],
    [true],
    [[]],
  ])("is never %s", (id) => {
    expect(refusal(withMessage({ id, payload: hello })).message).toMatch(/^messages\[0\]\.id: /);
  });
});

describe("a payload", () => {
  it("of the largest size is taken, and one byte more is not", () => {
    const { messagePayload } = limits;
    const largest = Buffer.alloc(messagePayload + 1).toString("base64");
    expect(refusal(withMessage({ payload: largest })).code).toBe(4022);
    expect(only({ payload: Buffer.alloc(messagePayload).toString("base64") }).payload.length).toBe(messagePayload);
  });

  it.each<[JsonValue | undefined, number]>([
    ["", 4025],
    ["aGVsbG8", 3],
    [5, 3],
    [null, 3],
    [undefined, 3],
  ])("is never %j", (payload, code) => {
    const error = refusal(withMessage({ payload }));
    expect(error.message).toMatch(/^messages\[0\]\.payload: /);
    expect(error.code).toBe(code);
  });
});

describe("user headers", () => {
  it.each<[JsonValue | undefined]>([[undefined], [null], [[]], [""]])("may be %j for none", (user_headers) => {
    expect(only({ payload: hello, user_headers }).user_headers.length).toBe(0);
  });

  it("may be entries", () => {
    const entry = { key: { kind: "string", value: base64("key") }, value: { kind: "uint32", value: "KgAAAA==" } };
    const block = only({ payload: hello, user_headers: [entry] }).user_headers;
    expect(decodeUserHeaders(block).toRecord()).toEqual({ key: { kind: "uint32", value: 42 } });
  });

  it("may be bytes as they are, headers or not", () => {
    const largest = Buffer.alloc(MAX_USER_HEADERS_SIZE, 1);
    expect(only({ payload: hello, user_headers: largest.toString("base64") }).user_headers).toEqual(largest);
  });

  it("above 100,000 bytes are refused in both forms", () => {
    const entries = Array.from({ length: 400 }, (_, i) => ({
      key: { kind: "uint32", value: Buffer.from(Uint32Array.of(i).buffer).toString("base64") },
      value: { kind: "raw", value: Buffer.alloc(255).toString("base64") },
    }));
    expect(refusal(withMessage({ payload: hello, user_headers: entries })).code).toBe(4017);
    const raw = Buffer.alloc(MAX_USER_HEADERS_SIZE + 1).toString("base64");
    expect(refusal(withMessage({ payload: hello, user_headers: raw })).code).toBe(4017);
  });

  it("name the entry that is wrong", () => {
    const entry = { key: { kind: "int8", value: "AAA=" }, value: { kind: "raw", value: "AA==" } };
    const error = refusal(withMessage({ payload: hello, user_headers: [entry] }));
    expect(error.code).toBe(4018);
    expect(error.message).toMatch(/^messages\[0\]\.user_headers\[0\]\.key\.value: /);
  });
});

describe("the body of a send", () => {
  it.each<[string, JsonValue, number]>([
    ["no messages", body({ messages: [] }), 4009],
    ["messages that are no list", body({ messages: {} }), 3],
    ["an unknown member", body({ ack: "none" }), 3],
    ["an unknown member of a message", withMessage({ payload: hello, header: {} }), 3],
    ["half a context", body({ context: { incarnation: 1 } }), 3],
    [
      "a context whose value does not fit",
      body({ context: { incarnation: 2n ** 64n, owner_generation: 0, metadata_op: 0 } }),
      3,
    ],
    ["no object", [], 3],
  ])("with %s is refused", (_, json, code) => {
    expect(refusal(json).code).toBe(code);
  });

  it("may have a context, or null for none", () => {
    const context = { incarnation: 2n ** 64n - 1n, owner_generation: "0", metadata_op: "11" };
    expect(read(body({ context })).context).toEqual({
      incarnation: 2n ** 64n - 1n,
      ownerGeneration: 0n,
      metadataOp: 11n,
    });
    expect(read(body({ context: null })).context).toBeNull();
    expect(read(body()).context).toBeNull();
  });

  it("becomes a sound batch with the same messages", () => {
    const message = fc.record({
      id: fc.bigInt({ min: 1n, max: U128_MAX }),
      payload: fc.uint8Array({ minLength: 1, maxLength: 200 }),
      headers: fc.uint8Array({ maxLength: 40 }),
    });
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 20 }), (messages) => {
        const json = messages.map(({ id, payload, headers }) => ({
          id,
          payload: Buffer.from(payload).toString("base64"),
          user_headers: Buffer.from(headers).toString("base64"),
        }));
        const batch = batchOf(read(body({ messages: json })).messages, 1_700_000_000_000_000);
        expect(verifyBatch(batch)).toBe(batch.length);
        const cursor = new MessageCursor().records(batch);
        for (const { id, payload, headers } of messages) {
          expect(cursor.next()).toBe(true);
          expect([cursor.id, cursor.originTimestamp]).toEqual([id, 1_700_000_000_000_000]);
          expect(Buffer.compare(cursor.payload, payload)).toBe(0);
          expect(Buffer.compare(cursor.userHeaders, headers)).toBe(0);
        }
        expect(cursor.next()).toBe(false);
      }),
    );
  });

  it("gives messages without an id random UUIDs of version 4, each another", () => {
    const messages = Array.from({ length: 50 }, () => ({ payload: hello }));
    const cursor = new MessageCursor().records(batchOf(read(body({ messages })).messages, 1));
    const ids = new Set<bigint>();
    while (cursor.next()) {
      ids.add(cursor.id);
      // The bytes of a UUID in their order, read as a little-endian number.
      expect((cursor.id >> 52n) & 0xfn).toBe(4n);
      expect((cursor.id >> 70n) & 3n).toBe(2n);
    }
    expect(ids.size).toBe(50);
  });
});
