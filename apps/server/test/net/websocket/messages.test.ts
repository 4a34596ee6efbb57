import {
  buildRequest,
  createStream,
  encodeRequest,
  getMe,
  HEADER_SIZE,
  Operation,
  ping,
  RequestHeader,
  WebSocketOpcode,
} from "@iggy/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../../start-server.js";
import { first, freshPartition, type FramePart, randomU128, RawSession, RawWebSocket } from "../../raw-client/index.js";

const MESSAGE_MAX = 2_000_000;
const FRAME_MAX = 1_000_000;
/** What a connection that is not signed in may send. */
const UNBOUND_MAX = 64 * 1024;

let server: RunningServer;
let bystander: RawSession;
let port: number;
let link: RawWebSocket;

beforeAll(async () => {
  server = await startServer({
    config: { "websocket.max_message_size": MESSAGE_MAX, "websocket.max_frame_size": FRAME_MAX },
  });
  const { websocket = "" } = server.addresses;
  port = Number(websocket.split(":")[1]);
  bystander = await RawSession.open(port, undefined, { webSocket: true });
});
beforeEach(async () => {
  link = await RawWebSocket.open(port);
});
afterAll(async () => {
  await bystander.close();
  await server.close();
});

const CLIENT = randomU128();
const pingFrame = (request = 1, bodyLength = 0): Uint8Array =>
  buildRequest(
    { client: CLIENT, operation: Operation.NonReplicated, commandCode: ping.code, request },
    new Uint8Array(bodyLength),
  );

/** A frame whose header claims another size than it has. */
function claiming(size: number, bytes: number): Uint8Array {
  const frame = pingFrame(1, bytes - HEADER_SIZE);
  new RequestHeader().at(frame, 0);
  new DataView(frame.buffer, frame.byteOffset).setUint32(48, size, true);
  return frame;
}

describe("what a message must be", () => {
  const { text, close, continuation } = WebSocketOpcode;
  const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

  it.each<[string, Uint8Array, FramePart, number]>([
    ["text", Buffer.from("hello"), { opcode: text }, 1003],
    ["a frame as text", pingFrame(), { opcode: text }, 1003],
    ["no mask", pingFrame(), { key: undefined }, 1002],
    ["nothing in it", bytes(), {}, 1007],
    ["half a frame", pingFrame().subarray(0, 255), {}, 1007],
    ["a frame and a byte", claiming(256, 257), {}, 1007],
    ["two frames", Buffer.concat([pingFrame(), pingFrame()]), {}, 1007],
    ["a frame that claims more", claiming(300, 256), {}, 1007],
    ["a frame that claims less than a header", claiming(255, 256), {}, 1007],
    ["a frame that claims more than may be", claiming(UNBOUND_MAX + 1, 256), {}, 1009],
    ["more than may be sent before the sign-in", pingFrame(1, UNBOUND_MAX), {}, 1009],
    ["a continuation of nothing", pingFrame(), { opcode: continuation }, 1002],
    ["an unknown opcode", pingFrame(), { opcode: 5 }, 1002],
    ["a ping in parts", bytes(1), { opcode: WebSocketOpcode.ping, isFinal: false }, 1002],
    ["a close with half a code", bytes(3), { opcode: close }, 1002],
    ["a close with a code that must not be sent", bytes(3, 0xed), { opcode: close }, 1002],
    ["a close whose reason is no UTF-8", bytes(3, 0xe8, 0xff, 0xfe), { opcode: close }, 1007],
  ])("%s closes the connection with its code, and no other", async (_name, payload, part, code) => {
    link.send(payload, part);
    expect(await link.closeCode()).toBe(code);
    expect(link.messages).toEqual([]);
    expect(await bystander.try(ping, {})).toBe("ok");
  });

  it("nothing behind a broken rule is looked at", async () => {
    const name = `never-${randomU128()}`;
    link.send(pingFrame(1), { opcode: text });
    link.send(encodeRequest(createStream, { name, options: [] }));
    link.send(pingFrame(2));
    expect(await link.closeCode()).toBe(1003);
    expect(link.messages).toEqual([]);
  });

  it("a message may come in parts, with pings between them", async () => {
    const frame = pingFrame(1);
    link.send(frame.subarray(0, 10), { isFinal: false });
    link.send(Buffer.from("?"), { opcode: WebSocketOpcode.ping });
    link.send(frame.subarray(10, 200), { opcode: continuation, isFinal: false });
    link.send(bytes(), { opcode: continuation, isFinal: false });
    link.send(frame.subarray(200), { opcode: continuation, isFinal: false });
    link.send(bytes(), { opcode: continuation });
    await link.until(() => link.messages.length === 1);
    expect(link.pongs).toEqual(["?"]);
    await link.end();
  });

  it("above the limits of frame and message is too big, by the header alone", async () => {
    const session = await RawSession.open(port, undefined, { webSocket: true });
    const { socket } = session.link;
    let code: number | undefined;
    socket.on("data", (chunk: Buffer) => (code = chunk.readUInt16BE(2)));
    // A header of a frame of FRAME_MAX + 1 bytes, and not one byte more.
    const header = Buffer.alloc(14);
    header.set([0x82, 0xff]);
    header.writeBigUInt64BE(BigInt(FRAME_MAX + 1), 2);
    socket.write(header);
    await session.link.closed;
    expect(code).toBe(1009);
  });

  it("within the limits of frame and message passes once signed in, and not above", async () => {
    const session = await RawSession.open(port, undefined, { webSocket: true });
    const partition = await freshPartition(session);
    const payload = Buffer.alloc(FRAME_MAX - 2000, "x");
    expect(await partition.send([{ payload, originTimestamp: 1 }])).toBe(0);
    expect((await partition.poll(first)).messages[0]?.payload.length).toBe(payload.length);
    const tooBig = partition.sendFrame([{ payload: Buffer.alloc(FRAME_MAX), originTimestamp: 1 }]);
    session.link.write(tooBig);
    expect(await session.link.closes()).toBe(true);
  });
});

describe("control frames", () => {
  it("a ping is answered with its payload", async () => {
    link.send(Buffer.from("a"), { opcode: WebSocketOpcode.ping });
    link.send(new Uint8Array(0), { opcode: WebSocketOpcode.ping });
    link.send(Buffer.alloc(125, "b"), { opcode: WebSocketOpcode.ping });
    await link.until(() => link.pongs.length === 3);
    expect(link.pongs).toEqual(["a", "", "b".repeat(125)]);
    await link.end();
  });

  it("a pong that nobody asked for is passed over", async () => {
    link.send(Buffer.from("x"), { opcode: WebSocketOpcode.pong });
    link.send(pingFrame());
    await link.until(() => link.messages.length === 1);
    await link.end();
  });

  it.each([
    [Buffer.from([0x03, 0xe8]), 1000],
    [Buffer.from([0x0f, 0xa0, 0x62, 0x79, 0x65]), 4000],
    [Buffer.alloc(0), 1005],
  ])("a close (%j) is answered with a close, behind what was asked before it", async (payload, code) => {
    link.send(pingFrame(1));
    link.send(payload, { opcode: WebSocketOpcode.close });
    link.send(pingFrame(2));
    expect(await link.closeCode()).toBe(code);
    expect(link.messages).toHaveLength(1);
  });

  it("a flood of pings from whoever takes no answers does not pile up", { timeout: 60_000 }, async () => {
    const pingBytes = 125;
    link.socket.pause();
    const many = Buffer.concat(
      Array.from({ length: 8000 }, () => {
        const frame = Buffer.alloc(6 + pingBytes);
        frame.set([0x89, 0x80 | pingBytes]);
        return frame;
      }),
    );
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    for (let i = 0; i < 40; i++) {
      if (!link.socket.write(many)) await new Promise<void>((resolve) => link.socket.once("drain", resolve));
    }
    const grown = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed - before;
    expect(grown).toBeLessThan(64 * 2 ** 20);
    link.socket.resume();
    link.send(Buffer.from("last"), { opcode: WebSocketOpcode.ping });
    await link.until(() => link.pongs.includes("last"));
    await link.end();
  });
});

it("the end of the server closes with 1000, and says so to whoever is signed in or not", async () => {
  const own = await startServer();
  const ownPort = Number(own.addresses.websocket?.split(":")[1]);
  const waiting = await RawWebSocket.open(ownPort);
  const closing = own.close();
  expect(await waiting.closeCode()).toBe(1000);
  await closing;
});

it("unmasked frames are taken where the configuration says so", async () => {
  await using own = await startServer({ config: { "websocket.accept_unmasked_frames": true } });
  const opened = await RawWebSocket.open(Number(own.addresses.websocket?.split(":")[1]));
  opened.send(pingFrame(1), { key: undefined });
  opened.send(pingFrame(2));
  await opened.until(() => opened.messages.length === 2);
  await opened.end();
});

it("a connection says that it is one of WebSocket", async () => {
  const { client } = await bystander.call(getMe, {});
  expect(client.transport).toBe(4);
  expect(client.address).toMatch(/^127\.0\.0\.1:\d+$/);
});
