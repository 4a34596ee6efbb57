import { connect as connectHttp2 } from "node:http2";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadTlsMaterial } from "../../src/net/tls-material.js";
import { type RunningServer, startServer } from "../start-server.js";
import { Api } from "./messages/api-client.js";

let server: RunningServer;
let api: Api;

beforeAll(async () => {
  server = await startServer();
  api = await Api.signIn(server);
});

afterAll(() => server.close());

/** Sends bytes and gives everything that comes until the server closes or nothing more is expected. */
async function exchange(bytes: string, until: (received: string) => boolean = () => false): Promise<string> {
  const [host = "", port = ""] = (server.addresses.http ?? "").split(":");
  const socket = connectTcp(Number(port), host);
  let received = "";
  socket.setEncoding("latin1");
  socket.on("error", () => undefined);
  socket.write(bytes);
  for await (const chunk of socket as AsyncIterable<string>) {
    received += chunk;
    if (until(received)) break;
  }
  socket.destroy();
  return received;
}

const answersIn = (received: string): number => received.split("HTTP/1.1 ").length - 1;

describe("a connection", () => {
  it("stays open for the next request", async () => {
    const ping = "GET /ping HTTP/1.1\r\nhost: x\r\n\r\n";
    const received = await exchange(ping + ping, (text) => answersIn(text) === 2 && text.endsWith("pong"));
    expect(answersIn(received)).toBe(2);
    expect(received.toLowerCase()).toContain("keep-alive: timeout=75");
  });

  it("closes after a body above the limit, and the next one works", async () => {
    const answer = await api.call("POST", "/streams", { body: { padding: "x".repeat(3_000_000) } });
    expect([answer.status, answer.headers.get("connection")]).toEqual([413, "close"]);
    expect((await api.call("GET", "/streams")).status).toBe(200);
  });

  it("closes after what is no HTTP, with an answer in JSON", async () => {
    const received = await exchange("nonsense\r\n\r\n");
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toContain('"id":3');
    expect(received).toContain("connection: close");
  });

  it("closes after header fields above the limit", async () => {
    const received = await exchange(`GET /ping HTTP/1.1\r\nhost: x\r\nx-large: ${"x".repeat(40_000)}\r\n\r\n`);
    expect(received).toMatch(/^HTTP\/1\.1 431 /);
    expect(received).toContain("headers_too_large");
  });

  it("refuses two lengths of one body", async () => {
    const head = `POST /users/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`;
    const received = await exchange(`${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`);
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("a request", () => {
  it("for nothing that is there is 404, signed in or not", async () => {
    for (const path of ["/nothing", "/streams/1/purge", "/streams/1/topics/1/purge", "/ui", "/users/1/2/3"]) {
      expect(await api.call("DELETE", path)).toMatchObject({ status: 404, json: { id: 404, code: "not_found" } });
    }
  });

  it("HEAD answers like GET, without content", async () => {
    const answer = await api.call("HEAD", "/streams");
    expect([answer.status, answer.text, answer.headers.get("iggy-view")]).toEqual([200, "", "0"]);
  });

  it("shows integers as texts on demand, and takes them as texts always", async () => {
    const options = { max_topic_size: "18446744073709551615" };
    const topic = await api.makeTopic(1, options);
    const plain = await api.call("GET", topic);
    expect(plain.text).toMatch(/"created_at":\d+,/);
    expect(plain.text).toContain('"max_topic_size":{"value":"18446744073709551615","kind":"uint64","explicit":true}');
    for (const accept of ["application/json; integers=string", "text/html, application/json;integers=string;q=0.9"]) {
      const shown = await api.call("GET", topic, { headers: { accept } });
      expect(shown.text).toMatch(/"created_at":"\d+",/);
      expect(shown.text).toMatch(/"id":0,/);
    }
  });

  it("carries the view on successes of authenticated routes only", async () => {
    const views = await Promise.all(
      ["/streams", "/streams/none", "/ping", "/nothing"].map(async (path) =>
        (await api.call("GET", path)).headers.get("iggy-view"),
      ),
    );
    expect(views).toEqual(["0", null, null, null]);
  });
});

describe("documents", () => {
  it("the page loads nothing from elsewhere", async () => {
    const answer = await new Api(api.base, "").call("GET", "/docs");
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(answer.text).not.toMatch(/<script|src=|https?:\/\//);
    expect(answer.text).toContain("/streams/{stream_id}/topics");
  });

  it("the document tells the version and the rights", async () => {
    const { json } = await new Api(api.base, "").call("GET", "/openapi.json");
    expect(json).toMatchObject({
      openapi: "3.1.0",
      paths: { "/snapshot": { post: { "x-iggy-right": "manageServers", security: [{ token: [] }] } } },
    });
  });
});

describe("over TLS", () => {
  let directory: string;
  let secure: RunningServer;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "iggy-http-tls-"));
    const { cert, key } = await loadTlsMaterial({ enabled: true, selfSigned: true, certFile: "", keyFile: "" });
    const certFile = join(directory, "cert.pem");
    const keyFile = join(directory, "key.pem");
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    secure = await startServer({
      config: { "http.tls.enabled": true, "http.tls.cert_file": certFile, "http.tls.key_file": keyFile },
    });
  });

  afterAll(async () => {
    await secure.close();
    await rm(directory, { recursive: true });
  });

  it("HTTP/2 is spoken with who offers it", async () => {
    const session = connectHttp2(`https://${secure.addresses.http ?? ""}`, { rejectUnauthorized: false });
    const body = JSON.stringify({ username: "iggy", password: "iggy" });
    const login = session.request({ ":method": "POST", ":path": "/users/login", "content-type": "application/json" });
    login.end(body);
    const [headers] = (await once(login, "response")) as [Record<string, string | number>];
    expect([headers[":status"], headers["iggy-view"]]).toEqual([200, "0"]);
    login.resume();
    await once(login, "end");
    const large = session.request({ ":method": "POST", ":path": "/users/login", "content-type": "application/json" });
    large.on("error", () => undefined);
    large.end(Buffer.alloc(3_000_000, "x"));
    const [refused] = (await once(large, "response")) as [Record<string, string | number>];
    expect([refused[":status"], refused["connection"]]).toEqual([413, undefined]);
    session.destroy();
  });

  it("HTTP/1.1 is spoken with the others", async () => {
    const request = httpsRequest(`https://${secure.addresses.http ?? ""}/ping`, { rejectUnauthorized: false });
    request.end();
    const [response] = (await once(request, "response")) as [
      { statusCode: number; httpVersion: string; resume(): void },
    ];
    expect([response.statusCode, response.httpVersion]).toEqual([200, "1.1"]);
    response.resume();
  });
});

describe("the end of the node", () => {
  it("waits for what is under way, refuses what comes, and closes every connection", async () => {
    const stopping = await startServer();
    const caller = await Api.signIn(stopping);
    const topic = await caller.makeTopic();
    const parked = caller.call("GET", `${topic}/messages/deferred`, {
      query: { wait_us: 60_000_000, request_timeout_us: 70_000_000 },
    });
    // Its connection is accepted behind the one of the read that waits.
    await caller.call("GET", "/ping");
    await stopping.close();
    expect((await parked).status).toBe(503);
    await expect(caller.call("GET", "/ping")).rejects.toThrow();
  });

  it("without HTTP nothing listens, and the cluster's metadata say so", async () => {
    await using plain = await startServer({ config: { "http.enabled": false } });
    expect(plain.addresses.http).toBeUndefined();
  });
});
