import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../src/index.js";
import { CommitPolicy, Consumer, HttpClient, type HttpClientConfig, HttpResponseError } from "../../src/http/index.js";

/*
 * The client over HTTP against a server that answers as told: what is sent again, what is not, and which error it gives.
 */

interface Answer {
  readonly status: number;
  readonly json?: unknown;
  readonly text?: string;
}

/** Answers a request; "hang up" ends the connection without an answer, "wait" leaves it open. */
type Script = (request: string, body: string, headers: IncomingMessage["headers"]) => Answer | "hang up" | "wait";

let server: Server;
let script: Script;
let seen: string[];

beforeEach(async () => {
  seen = [];
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => {
      body += piece;
    });
    request.on("end", () => {
      const line = `${request.method ?? ""} ${request.url ?? ""}`;
      seen.push(line);
      const answer = script(line, body, request.headers);
      if (answer === "wait") return;
      if (answer === "hang up") {
        request.socket.destroy();
        return;
      }
      const type = answer.text === undefined ? "application/json" : "text/plain";
      response.writeHead(answer.status, { "content-type": type });
      response.end(answer.text ?? (answer.json === undefined ? "" : JSON.stringify(answer.json)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const url = (): string => `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
const clientOf = (config: HttpClientConfig = {}): HttpClient =>
  new HttpClient({ url: url(), jwt: "token-1", random: () => 0, ...config });

const refusal = (status: number, id: number): Answer => ({
  status,
  json: { id, code: "code", reason: "the reason", field: null },
});
const ok = (json: unknown): Answer => ({ status: 200, json });
const done: Answer = { status: 204 };

/** Gives the answers one after the other, the last one for ever. */
const inTurn = (...answers: readonly (Answer | "hang up")[]): Script => {
  let at = 0;
  return () => answers[Math.min(at++, answers.length - 1)] ?? "hang up";
};

test.each([
  ["503", refusal(503, 58)],
  ["429", refusal(429, 429)],
  ["500", { status: 500, text: "broken" }],
  ["504", refusal(504, 57)],
  ["a lost answer", "hang up" as const],
])("a read is sent again after %s", async (_name, first) => {
  script = inTurn(first, ok([]));
  expect(await clientOf().stream.list()).toEqual([]);
  expect(seen).toHaveLength(2);
});

test("a read is sent as often as told, then gives the error of the last answer", async () => {
  script = inTurn({ status: 500, text: "broken" });
  const error: unknown = await clientOf({ retries: 2 })
    .stream.list()
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HttpResponseError);
  expect(error).toMatchObject({ code: 300, status: 500, reason: "broken" });
  expect(seen).toHaveLength(3);
});

test.each([
  ["503", refusal(503, 58)],
  ["429", refusal(429, 429)],
])("a write is sent again after %s: nothing was taken", async (_name, first) => {
  script = inTurn(first, done);
  expect(await clientOf().stream.delete({ streamId: 1 })).toBe(true);
  expect(seen).toHaveLength(2);
});

test.each([
  ["504", refusal(504, 57)],
  ["502", refusal(502, 502)],
  ["500", { status: 500, text: "broken" }],
  ["a lost answer", "hang up" as const],
])("a write of unknown outcome after %s is never sent again", async (_name, first) => {
  script = inTurn(first, done);
  await expect(clientOf().stream.delete({ streamId: 1 })).rejects.toMatchObject({
    code: 57,
    name: "TransientNotCommittedError",
  });
  expect(seen).toHaveLength(1);
});

test("a write that never left is sent again, and fails with 58 in the end", async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const client = new HttpClient({ url: `http://127.0.0.1:${String(port)}`, jwt: "t", retries: 1, random: () => 0 });
  await expect(client.stream.delete({ streamId: 1 })).rejects.toMatchObject({ code: 58 });
});

test("a topology that changes is asked again as a new request", async () => {
  script = inTurn(refusal(400, 88), refusal(400, 88), done);
  expect(await clientOf({ retries: 0 }).partition.delete({ streamId: 1, topicId: 2 })).toBe(true);
  expect(seen).toHaveLength(3);
});

test.each([
  [refusal(400, 1012), 1012, "AlreadyExistsError"],
  [refusal(403, 41), 41, "UnauthorizedError"],
  [refusal(404, 404), 20, "NotFoundError"],
  [refusal(400, 60_000), 60_000, "ResponseError"],
  [{ status: 413, text: "too large" }, 300, "HttpResponseError"],
])("%j becomes error %i", async (answer, code, name) => {
  script = inTurn(answer);
  await expect(clientOf().stream.create({ name: "s" })).rejects.toMatchObject({ code, name });
});

test("an answer that does not fit is a DeserializeError", async () => {
  script = inTurn(ok([{ id: "one" }]));
  await expect(clientOf().stream.list()).rejects.toMatchObject({ name: "DeserializeError" });
});

test("the time of a call ends it, and its error tells that the outcome is unknown", async () => {
  script = () => "wait";
  await expect(clientOf().stream.delete({ streamId: 1 }, { timeout: 50 })).rejects.toMatchObject({
    name: "TimeoutError",
    code: 57,
  });
});

test("without a token nothing is sent but what is public", async () => {
  script = () => ({ status: 200, text: "pong" });
  const client = new HttpClient({ url: url() });
  await expect(client.stream.list()).rejects.toMatchObject({ name: "UnauthenticatedError" });
  expect(await client.system.ping()).toBe(true);
  expect(seen).toEqual(["GET /ping"]);
});

const identity = (token: string, lifeSeconds: number): Answer =>
  ok({ user_id: 7, access_token: { token, expiry: Math.floor(Date.now() / 1000) + lifeSeconds } });

test("calls at the same time share one sign-in", async () => {
  script = (request) => (request.startsWith("POST /users/login") ? identity("a", 3600) : ok([]));
  const client = new HttpClient({ url: url(), credentials: { username: "iggy", password: "secret" } });
  await Promise.all([client.stream.list(), client.user.list(), client.token.list()]);
  expect(seen.filter((line) => line === "POST /users/login")).toHaveLength(1);
});

test("a token near its end is renewed before the next call", async () => {
  script = (request, body, headers) => {
    if (request.startsWith("POST /users/login")) return identity("old", 0);
    if (request.startsWith("POST /users/refresh-token")) {
      expect(JSON.parse(body)).toEqual({ token: "old" });
      return identity("new", 3600);
    }
    expect(headers.authorization).toBe("Bearer new");
    return ok([]);
  };
  const client = new HttpClient({ url: url() });
  await client.session.login({ username: "iggy", password: "secret" });
  expect(await client.stream.list()).toEqual([]);
  expect(seen).toEqual(["POST /users/login", "POST /users/refresh-token", "GET /streams"]);
});

test("a refused token is replaced once, also for a write", async () => {
  script = (request, _body, headers) => {
    if (request.startsWith("POST /users/refresh-token")) return identity("token-2", 3600);
    return headers.authorization === "Bearer token-2" ? done : refusal(401, 40);
  };
  expect(await clientOf().stream.delete({ streamId: 1 })).toBe(true);
  expect(seen).toEqual(["DELETE /streams/1", "POST /users/refresh-token", "DELETE /streams/1"]);
});

test("without autoRefresh a refused token is an error at once", async () => {
  script = () => refusal(401, 40);
  await expect(clientOf({ autoRefresh: false }).stream.list()).rejects.toMatchObject({ code: 40 });
  expect(seen).toHaveLength(1);
});

const polled = {
  context: { incarnation: 3, owner_generation: 0, metadata_op: 1 },
  partition_id: 0,
  current_offset: 0,
  count: 0,
  messages: [],
};
const place = { streamId: 1, topicId: 2, partitionId: 0, consumer: Consumer.Single };
const onRead = { ...place, options: { commit: CommitPolicy.OnRead } };

test("a committing read of unknown outcome blocks progress until it is abandoned", async () => {
  script = (request) => (request.startsWith("POST ") ? refusal(504, 57) : ok(polled));
  const client = clientOf();
  await expect(client.message.poll(onRead)).rejects.toMatchObject({ code: 14_010 });
  const [operation] = client.operation.list();
  expect(operation).toMatchObject({ streamId: 1, topicId: 2, partitionId: 0 });
  await expect(client.message.poll(place)).rejects.toMatchObject({ code: 14_009 });
  await expect(client.offset.store({ ...place, offset: 0 })).rejects.toMatchObject({ code: 14_009 });
  await expect(client.offset.delete(place)).rejects.toMatchObject({ code: 14_009 });
  expect(seen).toHaveLength(1);
  await client.operation.abandon({ operationId: operation?.operationId ?? 0n });
  expect((await client.message.poll(place)).count).toBe(0);
});

test.each([refusal(400, 87), refusal(404, 2010), refusal(400, 3024)])(
  "a refusal that proves that nothing was stored blocks nothing: %j",
  async (answer) => {
    script = inTurn(answer);
    const client = clientOf();
    await expect(client.message.poll(onRead)).rejects.not.toMatchObject({ code: 14_010 });
    expect(client.operation.list()).toEqual([]);
  },
);

test("a read that the server did not take is asked for again with the time that is left", async () => {
  const waits: number[] = [];
  script = (request) => {
    waits.push(Number(/request_timeout_us=([0-9]+)/.exec(request)?.[1]));
    return waits.length < 3 ? refusal(503, 90) : ok(polled);
  };
  await clientOf({ retries: 0 }).message.poll(place);
  expect(waits).toHaveLength(3);
  expect(waits[2]).toBeLessThan(waits[0] ?? 0);
});

test("an abort of a committing read under way rejects with its reason and leaves a block", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  script = () => {
    abort.abort(reason);
    return "wait";
  };
  const client = clientOf();
  await expect(client.message.poll(onRead, { signal: abort.signal })).rejects.toBe(reason);
  expect(client.operation.list()).toHaveLength(1);
});

test("the end of the time of a committing read leaves its outcome unknown", async () => {
  script = () => "wait";
  const client = clientOf();
  await expect(client.message.poll(onRead, { timeout: 50 })).rejects.toMatchObject({ code: 14_010 });
  expect(client.operation.list()).toHaveLength(1);
});

test("64 reads wait at once, the next one for its turn", async () => {
  script = () => "wait";
  const client = clientOf();
  const first = { ...place, options: { maxWait: 1000 } };
  const reads = Array.from({ length: 70 }, (_, partitionId) =>
    client.message.poll({ ...first, partitionId }).catch((error: unknown) => error),
  );
  while (seen.length < 64) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(seen).toHaveLength(64);
  await client.close();
  expect(await Promise.all(reads)).toMatchObject(reads.map(() => ({ code: 63 })));
});

test("a closed client sends nothing more", async () => {
  const client = clientOf();
  await client.close();
  await expect(client.stream.list()).rejects.toMatchObject({ code: 63 });
});

test.each(["ftp://a:1", "http://a:1/x", "http://u:p@a:1", "http://a:1?x=1", "http://a:1#x", "nonsense"])(
  "%s is no address of a server",
  (address) => {
    expect(() => new HttpClient({ url: address })).toThrow(expect.objectContaining({ code: 37 }));
  },
);

test("a connection string of HTTP gives a client with the same namespaces", async () => {
  script = (request) => (request.startsWith("POST /users/login") ? identity("a", 3600) : ok([]));
  const client = await connect(`iggy+http://iggy:secret@${new URL(url()).host}?retries=1`);
  expect(client.getConnectionInfo()).toEqual({ protocol: "http", serverAddress: new URL(url()).host });
  expect(await client.stream.list()).toEqual([]);
  expect(new TextDecoder().decode(await client.sendHttpRequest("GET", "/streams"))).toBe("[]");
  await expect(client.reader({ ...place, partitions: [0] })).rejects.toMatchObject({ code: 5 });
  await expect(client.sendBinaryRequest(1, "")).rejects.toMatchObject({ code: 5 });
  await client.disconnect();
  expect(await client.user.list()).toEqual([]);
  await client.close();
  await expect(client.stream.list()).rejects.toMatchObject({ code: 63 });
});
