import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type JsonObject, type JsonValue } from "../../../src/http/json/index.js";
import { type RunningServer, startServer } from "../../start-server.js";
import {
  Api,
  balanced,
  base64,
  confirmationsOf,
  contextOf,
  headerOf,
  message,
  messagesKey,
  messagesOf,
  partitionId,
  payloadsOf,
} from "./api-client.js";

let server: RunningServer;
let api: Api;

beforeAll(async () => {
  server = await startServer();
  api = await Api.signIn(server);
});
afterAll(() => server.close());

describe("a send", () => {
  it("answers 201 with dense offsets and the durability of the topic, and its messages are read back", async () => {
    const topic = await api.makeTopic();
    const first = await api.send(topic, [message("one"), message("two"), message("three")]);
    expect([first.status, first.headers.get("iggy-durability")]).toEqual([201, "replicated"]);
    expect(confirmationsOf(first)).toMatchObject([{ partition_id: 0, base_offset: 0 }]);
    const second = await api.send(topic, [message("four")]);
    expect(confirmationsOf(second)).toMatchObject([{ base_offset: 3 }]);
    const polled = await api.poll(topic);
    expect(polled.status).toBe(200);
    expect(payloadsOf(polled)).toEqual(["one", "two", "three", "four"]);
    expect(polled.json).toMatchObject({ partition_id: 0, current_offset: 3, count: 4 });
    expect(messagesOf(polled).map((found) => headerOf(found)["offset"])).toEqual([0, 1, 2, 3]);
  });

  it("to a persisted topic answers persisted, whatever it asks for", async () => {
    const topic = await api.makeTopic(1, { durability: "persisted" });
    const answer = await api.send(topic, [message("one")], { ack: "replicated" });
    expect([answer.status, answer.headers.get("iggy-durability")]).toEqual([201, "persisted"]);
  });

  it("with ack=none answers 202 without a body, and the message can be read soon", async () => {
    const topic = await api.makeTopic();
    const answer = await api.send(topic, [message("one")], { ack: "none" });
    expect([answer.status, answer.headers.get("iggy-durability"), answer.text]).toEqual([202, "none", ""]);
    const deferred = await api.call("GET", `${topic}/messages/deferred`, { query: { wait_us: 5_000_000 } });
    expect(payloadsOf(deferred)).toEqual(["one"]);
  });

  it("with ack=none still reports what is refused", async () => {
    const topic = await api.makeTopic();
    const away = await api.send(topic, [message("one")], { ack: "none", partition: 9 });
    expect([away.status, away.json["id"]]).toEqual([404, 3007]);
    const empty = await api.send(topic, [message("")], { ack: "none" });
    expect([empty.status, empty.json["id"]]).toEqual([400, 4025]);
  });

  it("keeps ids up to 2^128-1 digit by digit", async () => {
    const topic = await api.makeTopic();
    const ids = [2n ** 128n - 1n, 2n ** 64n, 1];
    await api.send(
      topic,
      ids.map((id) => message("x", { id })),
    );
    const polled = await api.poll(topic);
    expect(messagesOf(polled).map((found) => headerOf(found)["id"])).toEqual(ids);
    expect(polled.text).toContain('"id":340282366920938463463374607431768211455,');
    const asText = await api.call("GET", `${topic}/messages`, {
      headers: { accept: "application/json; integers=string" },
    });
    expect(messagesOf(asText).map((found) => headerOf(found)["id"])).toEqual(ids.map(String));
  });

  it("gives messages without an id one, and takes ids as text and as UUIDs", async () => {
    const topic = await api.makeTopic();
    const uuid = "550e8400-e29b-41d4-a716-446655440000";
    await api.send(topic, [message("a"), message("b", { id: "258" }), message("c", { id: uuid })]);
    const [none, text, fromUuid] = messagesOf(await api.poll(topic)).map((found) => headerOf(found)["id"]);
    expect(none).toBeTypeOf("bigint");
    expect([text, fromUuid]).toEqual([258, BigInt(`0x${uuid.replaceAll("-", "")}`)]);
  });

  it("keeps user headers of every kind, and bytes that are none", async () => {
    const topic = await api.makeTopic();
    const sizes = { raw: 3, string: 3, bool: 1, int8: 1, int16: 2, int32: 4, int64: 8, int128: 16, uint8: 1 };
    const more = { uint16: 2, uint32: 4, uint64: 8, uint128: 16, float32: 4, float64: 8 };
    const headers = Object.entries({ ...sizes, ...more }).map(([kind, size]) => ({
      key: { kind, value: base64(new Uint8Array(size).fill(1)) },
      value: { kind, value: base64(new Uint8Array(size).fill(kind === "string" ? 0x61 : 1)) },
    }));
    await api.send(topic, [
      message("typed", { user_headers: headers }),
      message("raw", { user_headers: base64("sealed") }),
      message("none", { user_headers: null }),
    ]);
    const polled = messagesOf(await api.poll(topic)).map((found) => found["user_headers"]);
    expect(polled).toEqual([headers, base64("sealed"), []]);
  });

  it("takes what was polled from one topic into another, unchanged", async () => {
    const [from, to] = [await api.makeTopic(), await api.makeTopic()];
    await api.send(from, [message("a", { id: 7, user_headers: base64("sealed") }), message("b", { id: 2n ** 100n })]);
    const polled = messagesOf(await api.poll(from));
    const copies = polled.map(({ payload = "", user_headers = null, ...rest }) => ({
      payload,
      user_headers,
      id: headerOf(rest)["id"] ?? 0,
    }));
    expect((await api.send(to, copies)).status).toBe(201);
    const again = messagesOf(await api.poll(to));
    expect(again.map(({ payload, user_headers }) => [payload, user_headers])).toEqual(
      polled.map(({ payload, user_headers }) => [payload, user_headers]),
    );
  });
});

describe("the partition of a send", () => {
  it("is the named one, that of the key, or one after the other", async () => {
    const topic = await api.makeTopic(3);
    const partitionOf = async (partitioning: JsonObject): Promise<JsonValue | undefined> =>
      confirmationsOf(await api.send(topic, [message("x")], { partitioning }))[0]?.["partition_id"];
    expect(await partitionOf(partitionId(2))).toBe(2);
    expect(await partitionOf(messagesKey("user-123"))).toBe(1);
    expect([await partitionOf(balanced), await partitionOf(balanced), await partitionOf(balanced)]).toEqual([0, 1, 2]);
    expect(await partitionOf(balanced)).toBe(0);
  });

  it("does not exist: 404 with 3007 for a named one, 400 for a topic without any", async () => {
    const topic = await api.makeTopic(0);
    const named = await api.send(topic, [message("x")]);
    expect([named.status, named.json["id"], named.json["field"]]).toEqual([404, 3007, "partition_id"]);
    expect((await api.send(topic, [message("x")], { partitioning: balanced })).status).toBe(400);
  });
});

describe("the context of a send", () => {
  it("is the one of the topic's details", async () => {
    const topic = await api.makeTopic();
    const context = await contextOf(api, topic);
    expect((await api.send(topic, [message("x")], { context })).status).toBe(201);
    expect((await api.send(topic, [message("x")], { context: null })).status).toBe(201);
  });

  it("of a deleted and recreated partition is refused with 87, and nothing is written", async () => {
    const topic = await api.makeTopic(2);
    const context = await contextOf(api, topic, 1);
    expect((await api.call("DELETE", `${topic}/partitions`, { query: { partitions_count: 1 } })).status).toBe(204);
    expect((await api.call("POST", `${topic}/partitions`, { body: { partitions_count: 1 } })).status).toBe(200);
    const refused = await api.send(topic, [message("x")], { context, partition: 1 });
    expect([refused.status, refused.json["id"]]).toEqual([400, 87]);
    const polled = await api.poll(topic, { partition_id: 1, context: JSON.stringify(context) });
    expect([polled.status, polled.json["id"]]).toEqual([400, 87]);
    expect(payloadsOf(await api.poll(topic, { partition_id: 1 }))).toEqual([]);
    expect((await api.send(topic, [message("y")], { partition: 1 })).status).toBe(201);
  });

  it.each<[string, (context: JsonObject) => JsonObject, number, number]>([
    ["of a group owner", (context) => ({ ...context, owner_generation: 1 }), 400, 5009],
    ["of no history", (context) => ({ ...context, incarnation: 0 }), 400, 87],
    ["of the largest numbers", (context) => ({ ...context, incarnation: 2n ** 64n - 1n }), 400, 87],
    ["of metadata that this node has not seen", (context) => ({ ...context, metadata_op: 2n ** 64n - 1n }), 503, 58],
  ])("%s is refused", async (_, change, status, id) => {
    const topic = await api.makeTopic();
    const answer = await api.send(topic, [message("x")], { context: change(await contextOf(api, topic)) });
    expect([answer.status, answer.json["id"]]).toEqual([status, id]);
    if (status === 503) expect(answer.headers.get("retry-after")).toBe("1");
  });
});

describe("refusals of a send", () => {
  it.each<[string, JsonValue]>([
    ["an unknown member", { partitioning: balanced, messages: [message("x")], stream_id: 1 }],
    ["no partitioning", { messages: [message("x")] }],
    ["a payload that is no base64", { partitioning: balanced, messages: [{ payload: "%%%" }] }],
    ["a list", []],
  ])("%s is 400 with 3, and names the member", async (_, body) => {
    const topic = await api.makeTopic();
    const answer = await api.call("POST", `${topic}/messages`, { body });
    expect([answer.status, answer.json["id"], answer.json["code"]]).toEqual([400, 3, "invalid_command"]);
    expect(payloadsOf(await api.poll(topic))).toEqual([]);
  });

  it.each([
    ['{"partitioning":{"kind":"balanced","value":""},"messages":[],"messages":[]}', "twice"],
    ['{"partitioning":', "ends too early"],
    ["", "object"],
  ])("the body %j is 400 with 3", async (text, reason) => {
    const topic = await api.makeTopic();
    const response = await fetch(`${api.base}${topic}/messages`, {
      method: "POST",
      headers: { authorization: api.authorization, "content-type": "application/json" },
      body: text,
    });
    expect(response.status).toBe(400);
    const body = await response.text();
    expect(body).toContain('"id":3,');
    expect(body).toContain(reason);
  });

  it("another ack is 400 with 3", async () => {
    const topic = await api.makeTopic();
    const answer = await api.send(topic, [message("x")], { ack: "persisted" });
    expect([answer.status, answer.json["id"]]).toEqual([400, 3]);
  });

  it("a body that is no JSON by its type is 415", async () => {
    const topic = await api.makeTopic();
    const headers = { "content-type": "text/plain" };
    expect((await api.call("POST", `${topic}/messages`, { body: {}, headers })).status).toBe(415);
  });

  it.each([
    ["/streams/nowhere/topics/orders", 1010],
    ["/streams/999999/topics/orders", 1009],
  ])("a topic that does not exist is 404: %s", async (topic, id) => {
    for (const answer of [await api.send(topic, [message("x")]), await api.poll(topic)]) {
      expect([answer.status, answer.json["id"]]).toEqual([404, id]);
    }
  });
});

describe("a poll", () => {
  const numbers = Array.from({ length: 20 }, (_, i) => `m${i}`);
  let topic: string;

  beforeAll(async () => {
    topic = await api.makeTopic();
    for (const payload of numbers) await api.send(topic, [message(payload)]);
  });

  it.each<[object, readonly string[]]>([
    [{}, numbers.slice(0, 10)],
    [{ count: 3 }, numbers.slice(0, 3)],
    [{ kind: "offset", value: 18, count: 5 }, numbers.slice(18)],
    [{ kind: "o", value: 5, count: 2 }, numbers.slice(5, 7)],
    [{ kind: "first", value: 7, count: 2 }, numbers.slice(0, 2)],
    [{ kind: "last", count: 4 }, numbers.slice(16)],
    [{ kind: "l", count: 1 }, numbers.slice(19)],
    [{ kind: "timestamp", value: 0, count: 1 }, numbers.slice(0, 1)],
    [{ kind: "t", value: "18446744073709551615", count: 1 }, []],
    [{ kind: "next", consumer_id: "fresh", count: 2 }, numbers.slice(0, 2)],
    [{ kind: "offset", value: "18446744073709551615" }, []],
    [{ count: 0 }, []],
  ])("by %j gives these messages", async (query, payloads) => {
    const answer = await api.poll(topic, query as Record<string, string>);
    expect(answer.status).toBe(200);
    expect(payloadsOf(answer)).toEqual(payloads);
    expect(answer.json["count"]).toBe(payloads.length);
    expect(answer.json["context"]).toMatchObject({ owner_generation: 0 });
  });

  it.each<[object, number, number]>([
    [{ consumer_kind: "consumer_group" }, 400, 5],
    [{ consumer_kind: "external_group" }, 400, 5],
    [{ consumer_kind: "nobody" }, 400, 3],
    [{ partition_id: 7 }, 404, 3007],
    [{ kind: "middle" }, 400, 3],
    [{ value: -1 }, 400, 3],
    [{ count: 4294967296 }, 400, 3],
    [{ auto_commit: "yes" }, 400, 3],
    [{ context: "{" }, 400, 3],
    [{ consumer_id: "" }, 400, 6],
  ])("by %j is refused", async (query, status, id) => {
    const answer = await api.poll(topic, query as Record<string, string>);
    expect([answer.status, answer.json["id"]]).toEqual([status, id]);
  });

  it("with the same key twice is refused with 3", async () => {
    const answer = await api.call("GET", `${topic}/messages?count=1&count=2`);
    expect([answer.status, answer.json["id"]]).toEqual([400, 3]);
  });

  it("that commits moves what next gives", async () => {
    const query = { kind: "next", consumer_id: "mover", count: 5 };
    expect(payloadsOf(await api.poll(topic, { ...query, auto_commit: true }))).toEqual(numbers.slice(0, 5));
    expect(payloadsOf(await api.poll(topic, { ...query, auto_commit: true }))).toEqual(numbers.slice(5, 10));
    expect(payloadsOf(await api.poll(topic, query))).toEqual(numbers.slice(10, 15));
    const stored = await api.call("GET", `${topic}/consumer-offsets`, { query: { consumer_id: "mover" } });
    expect(stored.json).toEqual({ partition_id: 0, current_offset: 19, stored_offset: 9 });
  });

  it("carries the context that the topic shows, which pins the history", async () => {
    const answer = await api.poll(topic, { count: 1 });
    const context = await contextOf(api, topic);
    expect(answer.json["context"]).toMatchObject({ incarnation: context["incarnation"] ?? null });
    expect((await api.poll(topic, { context: JSON.stringify(answer.json["context"]) })).status).toBe(200);
  });
});

describe("messages of an encrypted stream", () => {
  it("are decrypted before the answer", async () => {
    await using sealed = await startServer({ config: { "encryption.key": base64(new Uint8Array(32).fill(9)) } });
    const own = await Api.signIn(sealed);
    const topic = await own.makeTopic(1, {}, { encryption_key: base64(new Uint8Array(32).fill(7)) });
    const sent = message("secret", { user_headers: base64("sealed"), id: 2n ** 128n - 1n });
    expect((await own.send(topic, [sent])).status).toBe(201);
    const [polled] = messagesOf(await own.poll(topic));
    expect(polled).toMatchObject({ payload: base64("secret"), user_headers: base64("sealed") });
    expect(headerOf(polled)).toMatchObject({ id: 2n ** 128n - 1n, payload_length: 6, user_headers_length: 6 });
  });
});
