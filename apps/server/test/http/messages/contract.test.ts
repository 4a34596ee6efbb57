import { randomUUID } from "node:crypto";
import { connect, Consumer, Partitioning, PollingStrategy } from "@iggy/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringifyJson } from "../../../src/http/json/index.js";
import { type RunningServer, startServer } from "../../start-server.js";
import { type Answer, Api, confirmationsOf, headerOf, message, messagesOf, payloadsOf } from "./api-client.js";
import { isObject } from "./json-kinds.js";
import { RawConnection } from "./raw-connection.js";

let server: RunningServer;
let api: Api;

beforeAll(async () => {
  server = await startServer();
  api = await Api.signIn(server);
});
afterAll(() => server.close());

describe("concurrent sends on one credential to one partition", () => {
  it("keep their confirmations apart and are stored in the order in which they were admitted", async () => {
    const topic = await api.makeTopic();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => api.send(topic, [message(`m${i}`), message(`m${i}`)])),
    );
    const offsets = answers.map((answer) => Number(confirmationsOf(answer)[0]?.["base_offset"]));
    expect([...offsets].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => 2 * i));
    const stored = payloadsOf(await api.poll(topic, { count: 200 }));
    for (const [i, offset] of offsets.entries()) expect(stored.slice(offset, offset + 2)).toEqual([`m${i}`, `m${i}`]);
  });

  it("that nobody waits for are stored in their order, behind each other", async () => {
    const topic = await api.makeTopic();
    const names = Array.from({ length: 20 }, (_, i) => `m${i}`);
    for (const name of names) expect((await api.send(topic, [message(name)], { ack: "none" })).status).toBe(202);
    expect((await api.send(topic, [message("last")])).status).toBe(201);
    expect(payloadsOf(await api.poll(topic, { count: 100 }))).toEqual([...names, "last"]);
  });

  it("over several partitions do not wait for each other", async () => {
    const topic = await api.makeTopic(8);
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => api.send(topic, [message(`m${i}`)], { partition: i % 8 })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  });
});

describe("a user without a grant", () => {
  it("gets 403 with 41 for messages and offsets of a topic that is there, and 404 for one that is not", async () => {
    const topic = await api.makeTopic();
    const [username, password] = [`u-${randomUUID().slice(0, 8)}`, "secret-1"];
    const made = await api.call("POST", "/users", {
      body: { username, password, status: "active", permissions: null },
    });
    expect(made.status).toBe(200);
    const stranger = await Api.signIn(server, username, password);
    const body = { consumer_id: "1", partition_id: 0, offset: 0 };
    const calls: readonly ((path: string) => Promise<Answer>)[] = [
      (path) => stranger.send(path, [message("x")]),
      (path) => stranger.send(path, [message("x")], { ack: "none" }),
      (path) => stranger.poll(path),
      (path) => stranger.call("GET", `${path}/messages/deferred`),
      (path) => stranger.call("POST", `${path}/messages/deferred`, { query: { auto_commit: true } }),
      (path) => stranger.call("GET", `${path}/consumer-offsets`),
      (path) => stranger.call("PUT", `${path}/consumer-offsets`, { body }),
      (path) => stranger.call("DELETE", `${path}/consumer-offsets/1`),
    ];
    for (const call of calls) {
      const refused = await call(topic);
      expect([refused.status, refused.json["id"], refused.json["code"]]).toEqual([403, 41, "unauthorized"]);
      expect(refused.headers.get("iggy-view")).toBeNull();
      expect((await call("/streams/nowhere/topics/orders")).status).toBe(404);
    }
    expect(payloadsOf(await api.poll(topic))).toEqual([]);
  });

  it("may do with messages what a grant allows, and nothing else", async () => {
    const topic = await api.makeTopic();
    const [username, password] = [`u-${randomUUID().slice(0, 8)}`, "secret-1"];
    const none = Object.fromEntries(
      ["servers", "users", "streams", "topics"].flatMap((what) => [
        [`manage_${what}`, false],
        [`read_${what}`, false],
      ]),
    );
    const global = { ...none, poll_messages: false, send_messages: true };
    const permissions = { global, streams: null };
    await api.call("POST", "/users", { body: { username, password, status: "active", permissions } });
    const sender = await Api.signIn(server, username, password);
    expect((await sender.send(topic, [message("x")])).status).toBe(201);
    expect((await sender.poll(topic)).status).toBe(403);
  });
});

describe("a caller without a credential", () => {
  it.each<[string, string]>([
    ["POST", "messages"],
    ["GET", "messages"],
    ["GET", "messages/deferred"],
    ["POST", "messages/deferred"],
    ["GET", "consumer-offsets"],
    ["PUT", "consumer-offsets"],
    ["DELETE", "consumer-offsets/1"],
  ])("gets 401 for %s %s", async (method, path) => {
    const answer = await new Api(api.base, "").call(method, `/streams/1/topics/1/${path}`);
    expect([answer.status, answer.json["id"]]).toEqual([401, 77]);
  });
});

describe("large numbers", () => {
  it("of a message and of a topic survive a round trip digit by digit", async () => {
    const topic = await api.makeTopic(1, { max_topic_size: "18446744073709551615" });
    const { json, text } = await api.call("GET", topic);
    const options = isObject(json["options"]) ? json["options"] : {};
    expect(options["max_topic_size"]).toMatchObject({ value: "18446744073709551615" });
    expect(text).not.toContain("18446744073709552000");
    await api.send(topic, [message("x", { id: 2n ** 128n - 1n })]);
    expect(headerOf(messagesOf(await api.poll(topic))[0])["id"]).toBe(2n ** 128n - 1n);
  });
});

describe("answers", () => {
  it("of messages carry the view of the metadata group", async () => {
    const topic = await api.makeTopic();
    for (const answer of [await api.send(topic, [message("x")]), await api.poll(topic)]) {
      expect(answer.headers.get("iggy-view")).toMatch(/^[0-9]+$/);
      expect(answer.headers.get("content-type")).toBe("application/json");
    }
  });
});

describe("names that are awkward in a path", () => {
  it.each(["a/b", "%2F", "a b", "ä", "a\u0308", "🦀", "orders.json", "/ui", "+", "\t", "🦀".repeat(62)])(
    "%j names a stream and a topic for every call about messages",
    async (name) => {
      const stream = `${name}-${randomUUID().slice(0, 3)}`;
      // As the official client does it: everything but letters and digits.
      const path = `/streams/${encoded(stream)}/topics/${encoded(name)}`;
      expect((await api.call("POST", "/streams", { body: { name: stream } })).status).toBe(200);
      const body = { name, partitions_count: 1 };
      expect((await api.call("POST", `/streams/${encoded(stream)}/topics`, { body })).status).toBe(200);
      expect((await api.send(path, [message("x")])).status).toBe(201);
      const query = { kind: "next", consumer_id: name, auto_commit: true };
      expect(payloadsOf(await api.call("POST", `${path}/messages/deferred`, { query }))).toEqual(["x"]);
      const offset = await api.call("GET", `${path}/consumer-offsets`, { query: { consumer_id: name } });
      expect(offset.json["stored_offset"]).toBe(0);
      expect((await api.call("DELETE", `${path}/consumer-offsets/${encoded(name)}`)).status).toBe(204);
      expect((await api.call("DELETE", `/streams/${encoded(stream)}`)).status).toBe(204);
    },
  );

  it("are two dots, which most clients drop from a path before they send it", async () => {
    const stream = `s-${randomUUID()}`;
    await api.call("POST", "/streams", { body: { name: stream } });
    const made = await api.call("POST", `/streams/${stream}/topics`, { body: { name: "..", partitions_count: 1 } });
    expect(made.status).toBe(200);
    using raw = await RawConnection.open(api);
    raw.head(api, `GET /streams/${stream}/topics/%2E%2E/messages`, ["connection: close"]);
    expect(await raw.until(() => false)).toContain('"messages":[]');
  });

  it("is a number reaches the topic of that id, as a consumer does", async () => {
    const topic = await api.makeTopic();
    const { id } = (await api.call("GET", topic)).json;
    const numeric = `${topic.slice(0, topic.lastIndexOf("/"))}/${stringifyJson(id ?? null)}`;
    expect((await api.send(numeric, [message("x")])).status).toBe(201);
    const body = { consumer_id: 12, offset: 0 };
    expect((await api.call("PUT", `${numeric}/consumer-offsets`, { body })).status).toBe(204);
    const shown = await api.call("GET", `${topic}/consumer-offsets`, { query: { consumer_id: "12" } });
    expect(shown.json["stored_offset"]).toBe(0);
  });
});

const encoded = (name: string): string =>
  Array.from(Buffer.from(name), (byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9]/.test(char) ? char : `%${byte.toString(16).padStart(2, "0").toUpperCase()}`;
  }).join("");

describe("beside a binary client", () => {
  it("the same messages and offsets are seen", async () => {
    const topic = await api.makeTopic();
    const [, , stream = "", , topicId = ""] = topic.split("/");
    await using client = await connect(server.connectionString);
    const place = { streamId: stream, topicId };
    await api.send(topic, [message("over http", { id: 2n ** 128n - 1n })]);
    await client.message.send({
      ...place,
      partition: Partitioning.PartitionId(0),
      messages: [{ payload: "over tcp" }],
    });
    const polled = await client.message.poll({
      ...place,
      consumer: Consumer.Named("both"),
      partitionId: 0,
      pollingStrategy: PollingStrategy.First,
      options: { count: 10 },
    });
    expect(polled.messages.map((found) => found.text())).toEqual(["over http", "over tcp"]);
    expect(payloadsOf(await api.poll(topic))).toEqual(["over http", "over tcp"]);
    const { checkpoint } = polled;
    if (checkpoint === null) throw new Error("the poll gave no checkpoint");
    await client.offset.commit({ ...place, consumer: Consumer.Named("both"), checkpoint });
    const stored = await api.call("GET", `${topic}/consumer-offsets`, { query: { consumer_id: "both" } });
    expect(stored.json["stored_offset"]).toBe(1);
  });
});
