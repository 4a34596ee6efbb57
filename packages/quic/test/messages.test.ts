import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { echo, listen, silent, TestClient, title, until, without } from "./support/quic.js";

const MIB = 1024 * 1024;

describe.skipIf(without)(`messages ${title}`, () => {
  test("a request comes back whole, whatever its size", async () => {
    const { port } = listen();
    const client = await TestClient.connect(port);
    for (const size of [0, 1, 256, 16_383, 16_384, 16_385, 1_000_000, 40 * MIB]) {
      const bytes = randomBytes(size);
      expect(Buffer.compare(await client.ask(bytes), bytes), `${size} bytes`).toBe(0);
    }
  });

  test("any pieces of a reply arrive back to back", async () => {
    let pieces: readonly Uint8Array[] = [];
    const { port } = listen((connection, stream) => connection.respond(stream, pieces));
    const client = await TestClient.connect(port);
    const lists = fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(lists, async (list) => {
        pieces = list;
        expect(Buffer.compare(await client.ask(Buffer.from("?")), Buffer.concat(list))).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  test("replies come in any order, each on the stream of its request", async () => {
    const held: (() => void)[] = [];
    const { port } = listen((connection, stream, bytes) => held.push(() => connection.respond(stream, [bytes])));
    const client = await TestClient.connect(port);
    const streams = Array.from({ length: 50 }, (_, at) => client.client.request(Buffer.from(`request ${at}`)));
    await until(() => held.length === 50);
    for (const answer of held.reverse()) answer();
    await until(() => client.replies.size === 50);
    streams.forEach((stream, at) => {
      expect(Buffer.from(client.replies.get(stream) ?? []).toString()).toBe(`request ${at}`);
    });
  });

  test("IPv6 serves and is shown as what it is, IPv4 on a wildcard too", async () => {
    const { port, accepted } = listen(echo, { host: "::" });
    const six = await TestClient.connect(port, { host: "::1" });
    const four = await TestClient.connect(port, { host: "127.0.0.1" });
    expect(await six.ask(Buffer.from("6"))).toEqual(Buffer.from("6"));
    expect(await four.ask(Buffer.from("4"))).toEqual(Buffer.from("4"));
    expect(accepted.map(({ connection }) => connection.peerAddress.replace(/\d+$/, ""))).toEqual([
      "[::1]:",
      "127.0.0.1:",
    ]);
  });

  test("several endpoints live side by side, and a closed one frees its port", async () => {
    const first = listen();
    const second = listen();
    const clients = await Promise.all([first.port, second.port].map((port) => TestClient.connect(port)));
    await first.listener.close();
    await until(() => clients[0]!.isClosed);
    expect(await clients[1]!.ask(Buffer.from("still here"))).toEqual(Buffer.from("still here"));
    const again = listen(echo, { port: first.port });
    expect(again.port).toBe(first.port);
    expect(await (await TestClient.connect(again.port)).ask(Buffer.from("again"))).toEqual(Buffer.from("again"));
  });

  test("a taken port is refused with its address", () => {
    const { port } = listen();
    expect(() => listen(echo, { port })).toThrow(
      expect.objectContaining({
        code: "QUIC_BIND",
        message: expect.stringContaining(`EADDRINUSE 127.0.0.1:${port}`) as string,
      }),
    );
  });

  test("a client hears the code and the reason with which the server closed", async () => {
    const { port, accepted } = listen();
    const client = await TestClient.connect(port);
    await until(() => accepted.length === 1);
    accepted[0]!.connection.close(0x1003, "bye");
    await until(() => client.isClosed);
    expect(client.error).toMatchObject({ code: "QUIC_CLOSED", detail: 0x1003 });
    expect(client.error?.message).toContain("bye");
  });

  test("a client that closes says code 0, and hears of no error", async () => {
    const { port, accepted } = listen();
    const client = await TestClient.connect(port);
    await client.ask(Buffer.from("x"));
    client.client.close();
    await until(() => accepted[0]?.ending !== undefined && client.isClosed);
    expect(client.error).toBeUndefined();
    expect(accepted[0]?.ending).toMatchObject({ cause: "application", code: 0 });
  });

  test("a graceful end delivers what was answered, however large, then closes", async () => {
    const reply = randomBytes(5 * MIB);
    const { port } = listen((connection, stream) => {
      connection.respond(stream, [reply]);
      connection.finish(0x1003, "", 10_000);
    });
    const client = await TestClient.connect(port);
    expect(Buffer.compare(await client.ask(Buffer.from("?")), reply)).toBe(0);
    await until(() => client.isClosed);
    expect(client.error).toMatchObject({ detail: 0x1003 });
  });

  test("an abandoned request reaches the server as a stop, and its stream is free again", async () => {
    const { port, accepted } = listen(silent, { streamsMax: 1 });
    const client = await TestClient.connect(port);
    const stream = client.client.request(Buffer.from("wait"));
    await until(() => accepted[0]?.messages.length === 1);
    client.client.abandon(stream);
    await until(() => accepted[0]?.stopped.length === 1);
    const [{ connection, messages, stopped }] = accepted as [(typeof accepted)[0]];
    expect(stopped).toEqual([messages[0]?.stream]);
    connection.respond(messages[0]!.stream, []);
    client.client.request(Buffer.from("next"));
    await until(() => messages.length === 2);
    expect(client.replies.size + client.failures.size).toBe(0);
  });

  test("no more streams are served at once than allowed; the next wait for their turn", async () => {
    const { port, accepted } = listen(silent, { streamsMax: 2 });
    const client = await TestClient.connect(port);
    for (const number of [1, 2, 3]) client.client.request(Buffer.from([number]));
    await until(() => accepted[0]?.messages.length === 2);
    const [{ connection, messages }] = accepted as [(typeof accepted)[0]];
    connection.respond(messages[0]!.stream, [Buffer.from("done")]);
    await until(() => messages.length === 3);
    await until(() => client.replies.size === 1);
  });

  test("a request above the limit ends the connection as a violation; the limit can change", async () => {
    const { port, accepted } = listen(echo, { messageBytesMax: 1000 });
    const large = await TestClient.connect(port);
    await expect(large.ask(Buffer.alloc(1001))).rejects.toMatchObject({ detail: 0x1004 });
    const client = await TestClient.connect(port);
    expect((await client.ask(Buffer.alloc(1000))).length).toBe(1000);
    accepted[1]!.connection.setMessageLimit(10 * MIB);
    expect((await client.ask(Buffer.alloc(9 * MIB))).length).toBe(9 * MIB);
  });

  test("a reply above the limit of the client fails its request", async () => {
    const { port } = listen((connection, stream) => connection.respond(stream, [Buffer.alloc(2000)]));
    const client = await TestClient.connect(port, { responseBytesMax: 1999 });
    await expect(client.ask(Buffer.from("?"))).rejects.toMatchObject({ code: "QUIC_STREAM" });
  });

  test("connections above the bound are refused, those that end make room", async () => {
    const { port, accepted } = listen(echo, { connectionsMax: 1 });
    const first = await TestClient.connect(port);
    await expect(TestClient.connect(port)).rejects.toMatchObject({ code: "QUIC_CLOSED", detail: 2 });
    first.client.close();
    await until(() => accepted[0]?.ending !== undefined);
    expect(await (await TestClient.connect(port)).ask(Buffer.from("room"))).toEqual(Buffer.from("room"));
  });

  test("a listener that stopped accepting serves whom it has", async () => {
    const { port, listener } = listen();
    const client = await TestClient.connect(port);
    listener.stopAccepting();
    await expect(TestClient.connect(port, { connectMillis: 500 })).rejects.toThrow();
    expect(await client.ask(Buffer.from("on"))).toEqual(Buffer.from("on"));
  });
});
