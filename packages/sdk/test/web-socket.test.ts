import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer, type Server } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { getStream, pollMessagesDeferred } from "@iggy/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { Client, Consumer, PollingStrategy, TimeoutError } from "../src/index.js";
import { tcpTransport } from "../src/transport/tcp.js";
import { nodeWebSocketTransport } from "../src/transport/web-socket-node.js";
import { clientOf } from "./support/clients.js";
import { ScriptedPartition } from "./support/poll-replies.js";
import { ScriptedNode, type Wire } from "./support/scripted-node.js";

/*
 * The WebSocket client of Node.js against `ws`, which nobody here has written, and against servers that break the rules.
 */

const fixture = (name: string): URL => new URL(`./fixtures/${name}`, import.meta.url);
const cert = readFileSync(fixture("localhost-cert.pem"));
const key = readFileSync(fixture("localhost-key.pem"));

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A scripted node behind `ws`. */
class WebSocketNode extends ScriptedNode {
  readonly sockets: WebSocket[] = [];
  readonly requests: { readonly url: string | undefined; readonly protocols: string | undefined }[] = [];
  /** Lengths of messages, and whether one came as text. */
  readonly messages: { readonly bytes: number; readonly isBinary: boolean }[] = [];
  /** Replies are cut into fragments of this size. */
  fragmentBytes = Infinity;

  static async start({ tls = false, chooses }: { tls?: boolean; chooses?: string } = {}): Promise<WebSocketNode> {
    const node = new WebSocketNode();
    const http: Server | ReturnType<typeof createHttpServer> = tls
      ? createHttpsServer({ cert, key })
      : createHttpServer();
    const server = new WebSocketServer({
      server: http,
      maxPayload: 100_000_000,
      handleProtocols: () => chooses ?? false,
    });
    server.on("connection", (socket, request) => {
      node.requests.push({ url: request.url, protocols: request.headers["sec-websocket-protocol"] });
      node.#serve(socket);
    });
    await once(http.listen(0, "127.0.0.1"), "listening");
    node.port = (http.address() as AddressInfo).port;
    stops.push(async () => {
      for (const socket of node.sockets) socket.terminate();
      await new Promise((resolve) => http.close(resolve));
    });
    return node;
  }

  #serve(socket: WebSocket): void {
    this.sockets.push(socket);
    const wire: Wire = {
      write: (bytes) => {
        for (let at = 0; at < bytes.length; at += this.fragmentBytes) {
          const fin = at + this.fragmentBytes >= bytes.length;
          socket.send(bytes.subarray(at, at + this.fragmentBytes), { fin, binary: true });
        }
      },
      end: () => socket.close(1000, "done"),
      reset: () => socket.terminate(),
    };
    const take = this.accept(wire);
    socket.on("close", () => this.wires.delete(wire));
    socket.on("message", (data: Buffer, isBinary) => {
      this.messages.push({ bytes: data.length, isBinary });
      take(data);
    });
  }
}

const over = (port: number, config: Parameters<typeof clientOf>[1] = {}): Client =>
  clientOf({ port }, { transport: "WS", ...config });

const poll = {
  streamId: 1,
  topicId: 1,
  partitionId: 0,
  consumer: Consumer.Named(1),
  pollingStrategy: PollingStrategy.First,
} as const;

describe("a client over WebSocket", () => {
  test("sends one binary message for each request, of any size, and takes replies of any size", async () => {
    const node = await WebSocketNode.start();
    node.handler = (received) => {
      if (received.code === getStream.code) node.reply(received, new Uint8Array(5_000_000));
      else node.answer(received);
    };
    await using client = over(node.port);
    for (const bytes of [1, 60_000, 70_000, 10_000_000]) {
      await client.message.send({
        streamId: 1,
        topicId: 1,
        messages: [{ payload: new Uint8Array(bytes).fill(7) }],
        partition: { kind: "partition_id", partitionId: 0 },
      });
      const sent = node.received.at(-1);
      expect(node.messages.at(-1)).toEqual({ bytes: sent?.frame.length, isBinary: true });
      expect(sent?.body.subarray(-bytes).every((byte) => byte === 7)).toBe(true);
    }
    const reply = await client.sendBinaryRequest(getStream.code, Uint8Array.of(1, 4, 1, 0, 0, 0));
    expect(reply).toHaveLength(5_000_000);
    expect(client.getConnectionInfo()).toMatchObject({ protocol: "ws" });
    expect(node.requests).toEqual([{ url: "/", protocols: undefined }]);
    expect(node.messages).toHaveLength(node.received.length);
  });

  test("takes replies in fragments, and gives bytes as Buffers", async () => {
    const node = await WebSocketNode.start();
    const partition = new ScriptedPartition();
    partition.appendTexts("one", "two");
    node.handler = (received) => {
      if (received.code === pollMessagesDeferred.code) partition.serve(node, received);
      else node.answer(received);
    };
    await using client = over(node.port);
    for (node.fragmentBytes of [1, 100, Infinity]) {
      const { messages } = await client.message.poll(poll);
      expect(messages.map((message) => String(message.payload))).toEqual(["one", "two"]);
      expect(messages[0]?.payload).toBeInstanceOf(Buffer);
    }
  });

  test("answers pings, and says why it goes", async () => {
    const node = await WebSocketNode.start();
    const client = over(node.port);
    await client.connect();
    const socket = node.sockets[0]!;
    socket.ping("are you there");
    const [pong] = (await once(socket, "pong")) as [Buffer];
    expect(String(pong)).toBe("are you there");
    const closed = once(socket, "close") as Promise<[number, Buffer]>;
    await client.close();
    const [code, reason] = await closed;
    expect([code, String(reason)]).toEqual([1000, "Client requested shutdown"]);
  });

  test("comes back when the server closes, and its calls say how it went", async () => {
    const node = await WebSocketNode.start();
    await using client = over(node.port);
    await client.connect();
    node.sockets[0]?.close(1001, "maintenance");
    await expect.poll(async () => (await client.stream.list()).length).toBe(0);
    await expect.poll(() => node.dials).toBe(2);
  });

  test.each([
    { tls: { ca: cert } },
    { tls: { caFile: fixture("localhost-cert.pem").pathname, servername: "localhost" } },
  ])("trusts the roots it is given (%#)", async ({ tls }) => {
    const node = await WebSocketNode.start({ tls: true });
    await using client = over(node.port, { transport: "WSS", tls });
    await expect(client.stream.list()).resolves.toEqual([]);
  });

  test("refuses an unknown certificate, unless nobody is to look", async () => {
    const node = await WebSocketNode.start({ tls: true });
    await using strict = over(node.port, { transport: "WSS", reconnect: { maxRetries: 0 } });
    await expect(strict.connect()).rejects.toMatchObject({ code: 9 });
    // As of the official client: strings of WebSocket do not look by default.
    const address = `127.0.0.1:${String(node.port)}`;
    await using lax = new Client(`iggy+ws://iggy:iggy@${address}?tls=true`);
    await lax.connect();
    const roots = `tls_validate_certificate=true&tls_domain=localhost&tls_ca_file=${fixture("localhost-cert.pem").pathname}`;
    await using checked = new Client(`iggy+ws://iggy:iggy@${address}?tls=true&${roots}`);
    await checked.connect();
  });

  test("goes where a URL says, and offers the subprotocols it is told", async () => {
    const node = await WebSocketNode.start({ chooses: "iggy" });
    const url = `ws://127.0.0.1:${String(node.port)}/behind/a/proxy?key=1`;
    await using client = over(node.port, { options: { url, protocols: ["mqtt", "iggy"] } });
    await client.connect();
    expect(node.requests).toEqual([{ url: "/behind/a/proxy?key=1", protocols: "mqtt, iggy" }]);
  });

  test.each([
    [{ url: "broker.example:8092" }],
    [{ url: "wss://broker.example" }],
    [{ url: "ws://user:secret@broker.example" }],
    [{ url: "ws://broker.example/#x" }],
    [{ url: "ws://broker.example", port: 8092 }],
  ])("refuses %j as its address", (options) => {
    expect(() => new Client({ transport: "WS", options })).toThrow(expect.objectContaining({ code: 37 }));
  });
});

describe("a peer that is no WebSocket server", () => {
  /** A server that answers the upgrade as told; `{accept}` stands for the right key. */
  async function answering(response: (key: string) => Uint8Array | string | undefined): Promise<number> {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("data", (chunk) => {
        const sent = response(/^Sec-WebSocket-Key: (.*)\r$/m.exec(String(chunk))?.[1] ?? "");
        if (sent !== undefined) socket.write(sent);
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    stops.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  const switching = (...lines: string[]): string =>
    ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", ...lines, "", ""].join("\r\n");

  test.each<[string, string, RegExp]>([
    ["of another kind", "HTTP/1.1 404 Not Found\r\n\r\n", /refused the upgrade to WebSocket: 404 Not Found/],
    ["of no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", /does not speak HTTP/],
    ["for another key", switching("Sec-WebSocket-Accept: AAAA"), /answered the upgrade for something else/],
    ["without end", "HTTP/1.1 101 x\r\nX: ".padEnd(20_000, "x"), /exceeds 16384 bytes/],
  ])("is told apart by a response %s", async (_name, response, why) => {
    const port = await answering(() => response);
    await using client = over(port, { reconnect: { maxRetries: 0 } });
    await expect(client.connect()).rejects.toMatchObject({ code: 9, message: expect.stringMatching(why) as string });
  });

  test("costs a dial its time when it says nothing", async () => {
    const port = await answering(() => undefined);
    await using client = over(port);
    await expect(client.connect({ timeout: 200 })).rejects.toBeInstanceOf(TimeoutError);
  });
});

describe("a connection", () => {
  /** Opens one to a server that does as told with its side; gives the reason for which it ended. */
  async function ending(serve: (socket: WebSocket, raw: Socket) => void): Promise<Error | undefined> {
    const http = createHttpServer();
    const server = new WebSocketServer({ server: http });
    server.on("connection", (socket, { socket: raw }) => serve(socket, raw));
    await once(http.listen(0, "127.0.0.1"), "listening");
    stops.push(() => {
      for (const socket of server.clients) socket.terminate();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    const transport = nodeWebSocketTransport(tcpTransport(), { secure: false, maxMessageSize: 1000 });
    return new Promise((resolve, reject) => {
      const handlers = { onData: () => undefined, onDrain: () => undefined, onClose: resolve };
      transport.connect({ host: "127.0.0.1", port }, handlers, new AbortController().signal).catch(reject);
    });
  }

  test.each<[string, (socket: WebSocket, raw: Socket) => void, RegExp]>([
    ["the server closes", (socket) => socket.close(1008, "no more"), /closed it with code 1008, no more/],
    ["the server vanishes", (socket) => socket.terminate(), /the server closed the connection/],
    ["a message is too large", (socket) => socket.send(new Uint8Array(1001)), /1001 bytes exceeds the limit of 1000/],
    ["a frame is masked", (_socket, raw) => raw.write(Buffer.from("828100000000ff", "hex")), /is masked/],
    ["an extension is used", (_socket, raw) => raw.write(Buffer.from("c2017f", "hex")), /uses an extension/],
  ])("ends with the reason when %s", async (_what, serve, why) => {
    const error = await ending(serve);
    expect(error?.message).toMatch(why);
  });

  test("tells a server that breaks the rules which one", async () => {
    let told: Promise<unknown[]> | undefined;
    await ending((socket, raw) => {
      told = once(socket, "close");
      raw.write(Buffer.from("c2017f", "hex"));
    });
    const [code] = (await told) ?? [];
    expect(code).toBe(1002);
  });

  test("whose peer takes nothing says that it is full, and when there is room again", async () => {
    const http = createHttpServer();
    const server = new WebSocketServer({ server: http, maxPayload: 2 ** 30 });
    let peer: WebSocket | undefined;
    server.on("connection", (socket) => {
      peer = socket;
      socket.pause();
    });
    await once(http.listen(0, "127.0.0.1"), "listening");
    stops.push(() => {
      peer?.terminate();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    const transport = nodeWebSocketTransport(tcpTransport(), { secure: false, maxMessageSize: 1000 });
    let drained = 0;
    const connection = await transport.connect(
      { host: "127.0.0.1", port },
      { onData: () => undefined, onDrain: () => drained++, onClose: () => undefined },
      new AbortController().signal,
    );
    const message = new Uint8Array(1_000_000);
    while (connection.send(message)) await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(0);
    peer?.resume();
    await expect.poll(() => drained).toBeGreaterThan(0);
    connection.close();
  });
});
