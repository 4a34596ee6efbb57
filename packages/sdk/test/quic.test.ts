import { buildRequest, cancelDeferredRequest, Operation, writeReplyEcho, RequestHeader } from "@iggy/protocol";
import { expect, test } from "vitest";
import { Client, parseConnectionString } from "../src/index.js";
import { findQuicProvider, quicTransport } from "../src/transport/quic.js";
import type { Connection, QuicDial, QuicHandlers, QuicProvider } from "../src/transport/index.js";

/** A QUIC stack in memory: the test plays the server. */
class FakeQuic implements QuicProvider {
  readonly dials: QuicDial[] = [];
  readonly sent: Uint8Array[] = [];
  handlers!: QuicHandlers;
  isCongested = false;
  isClosed = false;
  refuses: Error | undefined;

  connect(dial: QuicDial, handlers: QuicHandlers) {
    if (this.refuses !== undefined) return Promise.reject(this.refuses);
    this.dials.push(dial);
    this.handlers = handlers;
    const isCongested = (): boolean => this.isCongested;
    return Promise.resolve({
      request: (bytes: Uint8Array) => this.sent.push(bytes),
      get isCongested() {
        return isCongested();
      },
      close: () => (this.isClosed = true),
    });
  }
}

const options = {
  tls: {},
  serverName: undefined,
  responseBytesMax: 1000,
  initialMtu: undefined,
  sendWindowBytes: undefined,
  receiveWindowBytes: undefined,
  keepAliveMillis: 5000,
  idleTimeoutMillis: 10_000,
};
const endpoint = { host: "broker.example", port: 8080 };

async function open(quic = new FakeQuic()) {
  const received: Uint8Array[] = [];
  const ends: (Error | undefined)[] = [];
  let drains = 0;
  const connection: Connection = await quicTransport(quic, options).connect(
    endpoint,
    { onData: (bytes) => received.push(bytes), onDrain: () => drains++, onClose: (error) => ends.push(error) },
    new AbortController().signal,
  );
  return { quic, connection, received, ends, drains: () => drains };
}

const request = (number: number): Uint8Array =>
  buildRequest({ client: 1n, session: 1, request: number, operation: Operation.NonReplicated, commandCode: 1 });
const cancelOf = (number: number): Uint8Array =>
  buildRequest({
    client: 1n,
    session: 1,
    request: number,
    operation: Operation.NonReplicated,
    commandCode: cancelDeferredRequest.code,
  });

function replyTo(frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(256);
  writeReplyEcho(bytes, 0, new RequestHeader().at(frame, 0), { status: 0, bodyLength: 0 });
  return bytes;
}

test("each frame leaves on a stream of its own, and replies come in any order", async () => {
  const { quic, connection, received } = await open();
  expect(connection.send(request(1))).toBe(true);
  quic.isCongested = true;
  expect(connection.send(request(2))).toBe(false);
  quic.handlers.onReply(2, replyTo(request(2)));
  quic.handlers.onReply(1, replyTo(request(1)));
  expect(received).toEqual([replyTo(request(2)), replyTo(request(1))]);
});

test("the reply to another request on a stream ends the connection", async () => {
  const { quic, connection, received, ends } = await open();
  connection.send(request(1));
  quic.handlers.onReply(1, replyTo(request(9)));
  expect(received).toEqual([]);
  expect(ends).toEqual([expect.objectContaining({ code: 3 })]);
  expect(quic.isClosed).toBe(true);
});

test("a stream that ends without a reply is EmptyResponse, unless it carried a cancel", async () => {
  const { quic, connection, received, ends } = await open();
  connection.send(cancelOf(1));
  quic.handlers.onReply(1, new Uint8Array(0));
  expect([received, ends]).toEqual([[], []]);
  connection.send(request(2));
  quic.handlers.onReply(2, new Uint8Array(0));
  expect(ends).toEqual([expect.objectContaining({ code: 304 })]);
});

test("a failed stream ends the connection once; nothing is heard of it afterwards", async () => {
  const { quic, connection, received, ends, drains } = await open();
  connection.send(request(1));
  connection.send(request(2));
  quic.handlers.onFailed(1, new Error("reset"));
  quic.handlers.onReply(2, replyTo(request(2)));
  quic.handlers.onDrain();
  quic.handlers.onClose(undefined);
  expect(ends).toEqual([expect.objectContaining({ code: 8, message: expect.stringContaining("reset") as string })]);
  expect([received, drains()]).toEqual([[], 0]);
  expect(connection.send(request(3))).toBe(true);
  expect(quic.sent.length).toBe(2);
});

test("what the provider says of a failed dial is passed on with the endpoint", async () => {
  const quic = new FakeQuic();
  quic.refuses = new Error("UDP is blocked");
  await expect(open(quic)).rejects.toThrow("no connection to broker.example:8080: UDP is blocked");
});

test("a connection string reaches the provider: certificates, windows, periods", async () => {
  const quic = new FakeQuic();
  const text =
    "iggy+quic://iggy:iggy@broker.example:8080?initial_mtu=1300&send_window=5000&receive_window=6000&keep_alive_interval=0&max_idle_timeout=20000&response_buffer_size=70000";
  const config = parseConnectionString(text);
  await using client = new Client({
    ...config,
    options: { ...config.options, provider: quic },
    reconnect: { enabled: false },
  });
  await expect(client.connect({ signal: AbortSignal.timeout(300) })).rejects.toThrow();
  expect(quic.dials[0]).toEqual({
    host: "broker.example",
    port: 8080,
    serverName: "broker.example",
    rejectUnauthorized: false,
    responseBytesMax: 70_000,
    initialMtu: 1300,
    sendWindowBytes: 5000,
    receiveWindowBytes: 6000,
    keepAliveMillis: 0,
    idleTimeoutMillis: 20_000,
  });
});

test("without options certificates are validated for the host", async () => {
  const { quic } = await open();
  expect(quic.dials[0]).toMatchObject({ serverName: "broker.example", rejectUnauthorized: true });
});

test("what is not installed, does not work or is no provider is refused by name", async () => {
  const absent = Promise.resolve(undefined);
  await expect(findQuicProvider(undefined, () => absent)).rejects.toMatchObject({
    code: 5,
    message: expect.stringContaining("needs the package @iggy/quic") as string,
  });
  const broken = { probe: () => ({ available: false, reason: "no addon", remedy: "build it" }), connect: () => absent };
  await expect(findQuicProvider(broken)).rejects.toMatchObject({
    code: 5,
    message: "there is no QUIC here: no addon; build it",
  });
  await expect(findQuicProvider({ connect: 1 })).rejects.toMatchObject({ code: 2 });
});

test("the installed package is found by itself", async () => {
  const provider = await findQuicProvider(undefined).catch((error: unknown) => error);
  const isFound = typeof provider === "object" && provider !== null && "connect" in provider;
  if (!isFound)
    expect(provider).toMatchObject({ code: 5, message: expect.stringContaining("no native addon") as string });
});
