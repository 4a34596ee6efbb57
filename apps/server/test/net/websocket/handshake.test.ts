import { createHash } from "node:crypto";
import { buildRequest, Operation, ping, ReplyHeader } from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../../start-server.js";
import {
  clientFrame,
  eventually,
  randomU128,
  RawSession,
  RawWebSocket,
  sleep,
  upgradeRequest,
  type UpgradeOptions,
} from "../../raw-client/index.js";

const GRACE_MILLIS = 400;

let server: RunningServer;
let port: number;

beforeAll(async () => {
  server = await startServer({ config: { "message_bus.handshake_grace": `${GRACE_MILLIS}ms` } });
  port = portOf(server.addresses.websocket);
});
afterAll(() => server.close());

const portOf = (address = ""): number => Number(address.slice(address.lastIndexOf(":") + 1));

const CLIENT = randomU128();
const pingFrame = (request: number): Uint8Array =>
  buildRequest({ client: CLIENT, operation: Operation.NonReplicated, commandCode: ping.code, request });

const answered = (link: RawWebSocket): number[] =>
  link.messages.map((message) => new ReplyHeader().at(message, 0).request);

it.each<[string, UpgradeOptions]>([
  ["with any path", { path: "/some/where?x=1" }],
  ["of any origin", { headers: { Origin: "https://evil.example" } }],
  [
    "that offers subprotocols and extensions",
    { headers: { "Sec-WebSocket-Protocol": "a, b", "Sec-WebSocket-Extensions": "permessage-deflate" } },
  ],
  ["in other letters", { headers: { Upgrade: "WebSocket", Connection: "keep-alive, upgrade" } }],
])("an upgrade %s is accepted, and none of the offers taken", async (_name, options) => {
  const link = await RawWebSocket.open(port, options);
  const [status, ...lines] = link.response.split("\r\n");
  expect(status).toBe("HTTP/1.1 101 Switching Protocols");
  const accept = createHash("sha1")
    .update("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
    .digest("base64");
  expect(lines.sort()).toEqual(["Connection: Upgrade", `Sec-WebSocket-Accept: ${accept}`, "Upgrade: websocket"]);
  link.send(pingFrame(1));
  await link.until(() => link.messages.length === 1);
  await link.end();
});

it.each<[string, UpgradeOptions, number, string]>([
  ["of another version", { headers: { "Sec-WebSocket-Version": "8" } }, 426, "Sec-WebSocket-Version: 13"],
  ["without a version", { headers: { "Sec-WebSocket-Version": undefined } }, 426, "Sec-WebSocket-Version: 13"],
  ["without a key", { headers: { "Sec-WebSocket-Key": undefined } }, 400, ""],
  ["with a key that is too short", { headers: { "Sec-WebSocket-Key": "AAAA" } }, 400, ""],
  ["to something else", { headers: { Upgrade: "h2c" } }, 426, "Upgrade: websocket"],
  ["by POST", { method: "POST" }, 400, ""],
  ["of HTTP/1.0", { httpVersion: "1.0" }, 400, ""],
  ["that is none", { headers: { Upgrade: undefined, Connection: undefined } }, 426, "Upgrade: websocket"],
  ["with headers without end", { headers: { "X-Long": "x".repeat(20_000) } }, 431, ""],
])("an upgrade %s is refused, and the connection closed", async (_name, options, status, line) => {
  const link = await RawWebSocket.open(port, options);
  await link.closed;
  expect(link.response.split("\r\n")[0]).toContain(`HTTP/1.1 ${status} `);
  if (line !== "") expect(link.response.split("\r\n")).toContain(line);
});

it("what is no HTTP is refused, and nobody else notices", async () => {
  const session = await RawSession.open(port, undefined, { webSocket: true });
  const link = await RawWebSocket.dial(port);
  link.write(pingFrame(1));
  await link.closed;
  expect(link.response).toContain("HTTP/1.1 400");
  expect(await session.try(ping, {})).toBe("ok");
  await session.close();
});

it.each<[string, string]>([
  ["says nothing", ""],
  ["stops in the middle", upgradeRequest().slice(0, 40)],
  ["does not leave when it was refused", upgradeRequest({ headers: { "Sec-WebSocket-Key": "x" } })],
])("whoever %s is cut off when the grace is over", async (_name, sent) => {
  const link = await RawWebSocket.dial(port);
  // It keeps its side open, so only a reset ends it.
  link.socket.removeAllListeners("end");
  if (sent !== "") link.write(sent);
  await sleep(2 * GRACE_MILLIS);
  await eventually("it is reset", () => {
    link.write("still here");
    return link.socket.destroyed;
  });
});

it("a connection behind its handshake has no such limit", async () => {
  const link = await RawWebSocket.open(port);
  await sleep(2 * GRACE_MILLIS);
  link.send(pingFrame(1));
  await link.until(() => link.messages.length === 1);
  await link.end();
});

it("requests behind the handshake in the same segment are answered", async () => {
  const link = await RawWebSocket.dial(port);
  link.write(Buffer.concat([Buffer.from(upgradeRequest()), clientFrame(pingFrame(1)), clientFrame(pingFrame(2))]));
  await link.until(() => link.messages.length === 2);
  expect(answered(link)).toEqual([1, 2]);
  await link.end();
});

it("handshake and requests may be cut anywhere", { timeout: 60_000 }, async () => {
  const head = Buffer.from(upgradeRequest());
  const stream = Buffer.concat([head, clientFrame(pingFrame(1)), clientFrame(pingFrame(2))]);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const tryCut = async (cut: number): Promise<void> => {
    const link = await RawWebSocket.dial(port);
    link.write(stream.subarray(0, cut));
    for (let i = 0; i < 3; i++) await turn();
    link.write(stream.subarray(cut));
    await link.until(() => link.messages.length === 2);
    expect(answered(link), `cut at ${cut}`).toEqual([1, 2]);
    expect(link.messages.map(({ length }) => length)).toEqual([256, 256]);
    await link.end();
  };
  for (let cut = 1; cut < stream.length; cut += 16) {
    await Promise.all(Array.from({ length: Math.min(16, stream.length - cut) }, (_, i) => tryCut(cut + i)));
  }
});
