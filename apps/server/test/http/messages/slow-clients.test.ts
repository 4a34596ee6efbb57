import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringifyJson } from "../../../src/http/json/index.js";
import { type RunningServer, startServer } from "../../start-server.js";
import { Api, balanced, base64, message, messagesOf, payloadsOf } from "./api-client.js";
import { RawConnection } from "./raw-connection.js";

let server: RunningServer;
let api: Api;

beforeAll(async () => {
  server = await startServer();
  api = await Api.signIn(server);
});
afterAll(() => server.close());

const MEGABYTE = 1_000_000;
const json = ["content-type: application/json"];

describe("a client that sends slowly", () => {
  it("has its messages stored, byte by byte", async () => {
    const topic = await api.makeTopic();
    const body = stringifyJson({ partitioning: balanced, messages: [message("x".repeat(500))] });
    using slow = await RawConnection.open(api);
    slow.head(api, `POST ${topic}/messages`, [...json, `content-length: ${body.length}`]);
    for (const char of body) {
      slow.socket.write(char);
      await new Promise(setImmediate);
    }
    expect(await slow.until((text) => text.includes("base_offset"))).toMatch(/^HTTP\/1\.1 201 /);
    expect(payloadsOf(await api.poll(topic)).map(({ length }) => length)).toEqual([500]);
  });

  it("and goes away in the middle leaves nothing stored", async () => {
    const topic = await api.makeTopic();
    using gone = await RawConnection.open(api);
    gone.head(api, `POST ${topic}/messages`, [...json, "content-length: 1000"]);
    gone.socket.end('{"partitioning"');
    await gone.until(() => false);
    expect(payloadsOf(await api.poll(topic))).toEqual([]);
  });
});

describe("a body above http.max_request_size", () => {
  it.each<[string, (size: number) => string]>([
    ["that says so", (size) => `content-length: ${size}`],
    ["in chunks", () => "transfer-encoding: chunked"],
  ])("%s is 413, and the connection closes; the next request works", async (_, lengthOf) => {
    const topic = await api.makeTopic();
    using large = await RawConnection.open(api);
    large.head(api, `POST ${topic}/messages`, [...json, lengthOf(3 * MEGABYTE)]);
    large.socket.write(`${(3 * MEGABYTE).toString(16)}\r\n${" ".repeat(3 * MEGABYTE)}`);
    const answer = await large.until((text) => text.includes("payload_too_large"));
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer.toLowerCase()).toContain("connection: close");
    expect((await api.send(topic, [message("x")])).status).toBe(201);
  });
});

describe("a body that is malformed", () => {
  it("does not cost the connection", async () => {
    const topic = await api.makeTopic();
    using connection = await RawConnection.open(api);
    connection.head(api, `POST ${topic}/messages`, [...json, "content-length: 1"]);
    connection.socket.write("{");
    const refused = await connection.until((text) => text.includes("malformed"));
    expect(refused).toMatch(/^HTTP\/1\.1 400 /);
    expect(refused.toLowerCase()).not.toContain("connection: close");
    connection.head(api, "GET /ping");
    expect(await connection.until((text) => text.includes("pong"))).toContain("pong");
  });
});

describe("a large answer", () => {
  it("arrives whole at a client that takes it slowly, while others are served", async () => {
    const topic = await api.makeTopic();
    const payload = base64("y".repeat(MEGABYTE));
    for (let i = 0; i < 8; i++) await api.send(topic, [{ payload }]);
    using slow = await RawConnection.open(api);
    slow.socket.pause();
    slow.head(api, `GET ${topic}/messages?count=8`, ["connection: close"]);
    const other = await api.poll(topic, { count: 8 });
    expect(messagesOf(other).map((found) => found["payload"])).toEqual(Array.from({ length: 8 }, () => payload));
    slow.socket.resume();
    const answer = await slow.until(() => false);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    // The sizes of the chunks lie between; each payload is as long as it was.
    expect(answer.split(payload.slice(0, 40)).length).toBeGreaterThan(8 * 100);
    expect(answer.trimEnd().endsWith("0")).toBe(true);
  });
});
