import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bindSession, encodeRequest, getClusterMetadata, ping } from "@iggy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type RunningServer, startServer } from "../../start-server.js";
import {
  developmentEnvironment,
  eventually,
  first,
  freshPartition,
  outcome,
  RawLink,
  type RawPartition,
  RawSession,
  RawWebSocket,
  ServerProcess,
  versionInfo,
} from "../../raw-client/index.js";

/*
 * Large and many messages over WebSocket, slow readers, and `ws` as a peer that nobody here has written.
 */

const portOf = (address = ""): number => Number(address.slice(address.lastIndexOf(":") + 1));

describe.each([{ tls: false }, { tls: true }])("messages with TLS $tls", ({ tls }) => {
  let server: RunningServer;
  let session: RawSession;
  beforeAll(async () => {
    server = await startServer({ config: { "websocket.tls.enabled": tls } });
    session = await RawSession.open(portOf(server.addresses.websocket), undefined, { webSocket: true, tls });
  });
  afterAll(async () => {
    await session.close();
    await server.close();
  });

  it.each([1, 125, 4096, 65_535, 65_536, 1_000_000, 10_000_000, 60_000_000])(
    "of %i bytes come back as they were",
    { timeout: 60_000 },
    async (bytes) => {
      const partition = await freshPartition(session);
      const payload = Buffer.alloc(bytes);
      for (let i = 0; i < bytes; i += 997) payload[i] = i % 251;
      expect(await partition.send([{ payload, originTimestamp: 1 }])).toBe(0);
      const [message] = (await partition.poll(first)).messages;
      expect(message !== undefined && payload.equals(message.payload)).toBe(true);
    },
  );

  it("are answered to ws, whole and in one binary frame each", async () => {
    const scheme = tls ? "wss" : "ws";
    const partition = await freshPartition(session);
    await partition.send([{ payload: Buffer.alloc(200_000, "w"), originTimestamp: 1 }]);
    const socket = new WebSocket(`${scheme}://${server.addresses.websocket ?? ""}/x`, ["iggy"], {
      rejectUnauthorized: false,
    });
    // It was offered one, and fails when none is chosen.
    await once(socket, "error");
    const plain = new WebSocket(`${scheme}://${server.addresses.websocket ?? ""}/x`, { rejectUnauthorized: false });
    await once(plain, "open");
    const replies: [Buffer, boolean][] = [];
    plain.on("message", (data: Buffer, isBinary: boolean) => replies.push([data, isBinary]));
    plain.send(bindFrame(session));
    await eventually("the sign-in", () => replies.length === 1);
    for (let i = 0; i < 50; i++) plain.send(partition.pollFrame(first));
    await eventually("50 replies", () => replies.length === 51);
    for (const [data, isBinary] of replies.slice(1)) {
      expect(isBinary).toBe(true);
      expect(data.length).toBeGreaterThan(200_000);
      expect(data.readUInt32LE(48)).toBe(data.length);
    }
    plain.ping("are you there");
    const [pong] = (await once(plain, "pong")) as [Buffer];
    expect(String(pong)).toBe("are you there");
    plain.close(1000, "Client requested shutdown");
    expect(await once(plain, "close")).toEqual([1000, Buffer.alloc(0)]);
  });
});

/** Binds a further connection to a session. */
function bindFrame(session: RawSession): Uint8Array {
  const identity = { clientId: session.client, session: session.session, metadataWatermark: 0n };
  return session.frame(bindSession, encodeRequest(bindSession, { versionInfo, identity, bindSecret: session.secret }));
}

describe("a client that takes its replies slowly", () => {
  const MIB = 2 ** 20;
  let dataDirectory: string;
  let server: ServerProcess;
  let port: number;
  let session: RawSession;
  let partition: RawPartition;

  beforeAll(async () => {
    dataDirectory = await mkdtemp(join(tmpdir(), "iggy-slow-"));
    server = await ServerProcess.start({ dataDirectory, environment: developmentEnvironment });
    const shown = await readFile(join(dataDirectory, "runtime", "current_config.toml"), "utf8");
    port = Number(/\[websocket\][^[]*?\naddress = "127\.0\.0\.1:(\d+)"/.exec(shown)?.[1]);
    session = await RawSession.open(port, undefined, { webSocket: true });
    partition = await freshPartition(session);
    for (let i = 0; i < 8; i++) await partition.send([{ payload: Buffer.alloc(MIB, i), originTimestamp: 1 }]);
  });
  afterAll(async () => {
    await session.close();
    expect(await server.stop()).toBe(0);
    await rm(dataDirectory, { recursive: true });
  });

  it("gets them all", async () => {
    const slow = await RawSession.open(port, undefined, { webSocket: true });
    slow.link.socket.pause();
    const answers = Array.from({ length: 20 }, () =>
      slow.link.ask(partition.by(slow).pollFrame(first, { count: 1000 })),
    );
    expect(await session.try(ping, {})).toBe("ok");
    slow.link.socket.resume();
    expect(new Set((await Promise.all(answers)).map(outcome))).toEqual(new Set(["ok"]));
    await slow.close();
  });

  it(
    "is read no further, so the memory of the server stays bounded and others are served",
    { timeout: 60_000 },
    async () => {
      const quietBytes = server.residentBytes;
      const greedy = await RawSession.open(port, undefined, { webSocket: true });
      greedy.link.socket.pause();
      const frames = Array.from({ length: 100 }, () => partition.by(greedy).pollFrame(first, { count: 1000 }));
      // One at a time, so that the server may stop to read between them.
      for (const frame of frames) {
        greedy.link.write(frame);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      expect(await session.try(ping, {})).toBe("ok");
      // 100 replies of 8 MiB were asked for.
      expect(server.residentBytes - quietBytes).toBeLessThan(300 * MIB);
      greedy.link.socket.destroy();
      expect(await session.try(ping, {})).toBe("ok");
    },
  );
});

describe("the listeners of a server", () => {
  it("publish their ports to clients, to the program and to the file for tools", async () => {
    await using server = await startServer({ config: { "quic.enabled": false } });
    const { tcp, websocket } = server.addresses;
    expect(tcp).toBe(server.address);
    const session = await RawSession.open(portOf(websocket), undefined, { webSocket: true });
    const { nodes } = await session.call(getClusterMetadata, {});
    expect(nodes.map(({ tcpPort, websocketPort, quicPort }) => [tcpPort, websocketPort, quicPort])).toEqual([
      [portOf(tcp), portOf(websocket), 0],
    ]);
    const shown = await readFile(join(server.dataDirectory, "runtime", "current_config.toml"), "utf8");
    expect(shown).toMatch(new RegExp(`\\[websocket\\][^[]*\naddress = "${websocket ?? ""}"`));
    await session.close();
  });

  it("serve one session over several transports", async () => {
    await using server = await startServer();
    const session = await RawSession.open(server.port);
    const partition = await freshPartition(session);
    await partition.send([{ payload: Buffer.from("over TCP"), originTimestamp: 1 }]);
    expect(
      outcome(await session.bind(await RawLink.connect(portOf(server.addresses.websocket), { webSocket: true }))),
    ).toBe("ok");
    expect((await partition.poll(first)).messages.map(({ payload }) => Buffer.from(payload).toString())).toEqual([
      "over TCP",
    ]);
    await session.close();
  });

  it("share the limit of open sockets, which counts those behind no handshake, too", async () => {
    await using server = await startServer({ config: { "message_bus.connections_max": 2 } });
    const port = portOf(server.addresses.websocket);
    const tcp = await RawSession.open(server.port);
    const silent = await RawWebSocket.dial(port);
    await eventually("both are counted", async () => {
      const late = await RawWebSocket.dial(port).catch(() => undefined);
      if (late === undefined) return true;
      const isClosed = await Promise.race([late.closed.then(() => true), tcp.try(ping, {}).then(() => false)]);
      await late.end();
      return isClosed;
    });
    expect(await tcp.try(ping, {})).toBe("ok");
    await silent.end();
    await eventually("there is room again", async () => {
      const late = await RawWebSocket.open(port);
      const { isOpen } = late;
      await late.end();
      return isOpen;
    });
    await tcp.close();
  });

  it("that can't be opened refuse the start, all in one error", async () => {
    await using holder = await startServer();
    const { tcp = "", websocket = "" } = holder.addresses;
    const failure: unknown = await startServer({
      config: { "tcp.address": tcp, "websocket.address": websocket },
    }).catch((error: unknown) => error);
    expect(String(failure)).toContain(`tcp.address = ${tcp}`);
    expect(String(failure)).toContain(`websocket.address = ${websocket}`);
    expect(String(failure)).toContain("2 listeners can't be opened");
  });
});
