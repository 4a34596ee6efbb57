import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createTcpServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import {
  bindSession,
  encodeUserHeaders,
  getClusterMetadata,
  getStream,
  loginRegister,
  pollMessagesDeferred,
} from "@iggy/protocol";
import { describe, expect, test } from "vitest";
import { Client, Consumer, PollingStrategy, TimeoutError } from "../src/index.js";
import { clientOf } from "./support/clients.js";
import { ScriptedPartition } from "./support/poll-replies.js";
import { ScriptedNode, type Wire } from "./support/scripted-node.js";
import { ScriptedServer } from "./support/scripted-server.js";

const fixture = (name: string): URL => new URL(`./fixtures/${name}`, import.meta.url);
const cert = readFileSync(fixture("localhost-cert.pem"));
const key = readFileSync(fixture("localhost-key.pem"));

describe("TCP", () => {
  test("a large request and a large reply pass whole", async () => {
    await using server = await ScriptedServer.start();
    server.handler = (received) => {
      if (received.code === getStream.code) server.reply(received, new Uint8Array(5_000_000));
      else server.answer(received);
    };
    await using client = clientOf(server);
    const payload = new Uint8Array(10_000_000).fill(7);
    await client.message.send({
      streamId: 1,
      topicId: 1,
      messages: [{ payload }],
      partition: { kind: "partition_id", partitionId: 0 },
    });
    expect(server.received.at(-1)?.body.length).toBeGreaterThan(10_000_000);
    const reply = await client.sendBinaryRequest(getStream.code, Uint8Array.of(1, 4, 1, 0, 0, 0));
    expect(reply).toHaveLength(5_000_000);
  });

  test("bytes are Buffers, in whatever pieces a reply arrives", async () => {
    await using server = await ScriptedServer.start();
    const partition = new ScriptedPartition();
    partition.append([
      {
        id: 1n,
        payload: new TextEncoder().encode("hello"),
        originTimestamp: 1000,
        userHeaders: encodeUserHeaders([["k", Uint8Array.of(1)]]),
      },
    ]);
    let inPieces = false;
    server.handler = (received) => {
      const { wire } = received;
      const pieces = inPieces ? { ...wire, write: (bytes: Uint8Array): void => splitWrite(wire, bytes, 100) } : wire;
      const via = { ...received, wire: pieces };
      if (received.code === pollMessagesDeferred.code) partition.serve(server, via);
      else server.answer(via);
    };
    await using client = clientOf(server);
    await client.connect();
    for (inPieces of [false, true]) {
      const { messages } = await client.message.poll({
        streamId: 1,
        topicId: 1,
        partitionId: 0,
        consumer: Consumer.Named(1),
        pollingStrategy: PollingStrategy.First,
      });
      const [message] = messages;
      expect(message?.payload).toBeInstanceOf(Buffer);
      expect(String(message?.payload)).toBe("hello");
      expect(message?.copy().payload).toBeInstanceOf(Buffer);
      expect(message?.userHeaders[0]?.value.value).toBeInstanceOf(Buffer);
      await expect(client.sendBinaryRequest(getClusterMetadata.code, new Uint8Array(0))).resolves.toBeInstanceOf(
        Buffer,
      );
    }
  });

  test("a server restart: calls during it end in their time, the client comes back by itself", async () => {
    const first = await ScriptedServer.start();
    const { port } = first;
    const byLogin = clientOf(first);
    await byLogin.session.login({ username: "iggy", password: "iggy" });
    const byString = new Client(
      `iggy://iggy:iggy@127.0.0.1:${String(port)}?reconnection_interval=10ms&heartbeat_interval=1h`,
    );
    await byString.connect();
    await first.close();
    for (const client of [byLogin, byString]) {
      const started = performance.now();
      await expect(client.stream.list({ timeout: 150 })).rejects.toBeInstanceOf(TimeoutError);
      expect(performance.now() - started).toBeLessThan(1000);
    }
    // The new server knows nothing of the sessions.
    const second = await ScriptedServer.start(undefined, port);
    second.session = 9000n;
    second.handler = (received) => {
      if (received.code === bindSession.code) second.refuse(received, 40);
      else second.answer(received);
    };
    await expect(byLogin.stream.list()).resolves.toEqual([]);
    await expect(byString.stream.list()).resolves.toEqual([]);
    expect(second.of(loginRegister)).toHaveLength(2);
    await byLogin.close();
    await byString.close();
    await second.close();
  });

  test("a peer that accepts and says nothing costs a dial its time, not more", async () => {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await using client = clientOf({ port });
    await expect(client.connect({ timeout: 200 })).rejects.toBeInstanceOf(TimeoutError);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});

function splitWrite(wire: Wire, bytes: Uint8Array, at: number): void {
  wire.write(bytes.slice(0, at));
  setTimeout(() => wire.write(bytes.slice(at)), 20);
}

describe("TLS", () => {
  async function tlsServer() {
    const node = new ScriptedNode();
    const sockets = new Set<Socket>();
    const server = createTlsServer({ cert, key }, (socket) => {
      sockets.add(socket);
      const take = node.accept({
        write: (bytes) => void socket.write(bytes),
        end: () => void socket.end(),
        reset: () => void socket.destroy(),
      });
      socket.on("error", () => undefined);
      socket.on("data", take);
    });
    server.on("tlsClientError", () => undefined);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return {
      node,
      port: address.port,
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  test("connects with the server's own root, from memory or from a file", async () => {
    await using server = await tlsServer();
    for (const tls of [{ ca: cert }, { caFile: fixture("localhost-cert.pem").pathname, servername: "localhost" }]) {
      await using client = clientOf(server, {
        transport: "TLS",
        options: { host: "127.0.0.1", port: server.port },
        tls,
      });
      await expect(client.stream.list()).resolves.toEqual([]);
    }
  });

  test("by connection string", async () => {
    await using server = await tlsServer();
    const caFile = fixture("localhost-cert.pem").pathname;
    await using client = new Client(
      `iggy://iggy:iggy@127.0.0.1:${String(server.port)}?tls=true&tls_domain=localhost&tls_ca_file=${caFile}`,
    );
    await expect(client.system.ping()).resolves.toBe(true);
  });

  test("an unknown certificate is refused, unless nobody is to look", async () => {
    await using server = await tlsServer();
    const options = { host: "localhost", port: server.port };
    await using strict = clientOf(server, { transport: "TLS", options, reconnect: { maxRetries: 0 } });
    await expect(strict.connect()).rejects.toMatchObject({ code: 9 });
    await using lax = clientOf(server, { transport: "TLS", options, tls: { rejectUnauthorized: false } });
    await lax.connect();
  });

  test.each([
    [{ caFile: "/nowhere.pem" }, 65],
    [{ ca: "no certificate" }, 66],
    [{ ca: "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----" }, 66],
    [{ servername: "bad name" }, 64],
  ])("%j is a fault of the configuration: no retries", async (tls, code) => {
    await using server = await tlsServer();
    await using client = clientOf(server, { transport: "TLS", tls });
    await expect(client.connect()).rejects.toMatchObject({ code });
  });
});

describe("the end of the process", () => {
  const run = async (script: string, port: number) => {
    const source = `
      import { Client, CommitPolicy } from "./src/index.ts";
      const port = ${String(port)};
      ${script}
      console.log("end", Date.now());
    `;
    const child = spawn(
      process.execPath,
      ["--conditions=@iggy/source", "--import", "tsx", "--input-type=module", "--eval", source],
      { cwd: new URL("..", import.meta.url), stdio: ["ignore", "pipe", "pipe"] },
    );
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    const end = Number(/end (\d+)/.exec(output)?.[1] ?? Number.NaN);
    return { code, errors, msAfterEnd: Date.now() - end };
  };

  const config = `{ options: { port }, credentials: { username: "iggy", password: "iggy" } }`;

  test.each([
    ["after close", `const client = new Client(${config}); await client.stream.list(); await client.close();`],
    [
      "after await using",
      `const client = new Client(${config}); await client.connect(); await client[Symbol.asyncDispose]();`,
    ],
    [
      "after a consumer and a producer",
      `const client = new Client(${config});
       const consumer = client.consumer({ name: "c", streamId: 1, topicId: 1, partitions: [0], pollOptions: { commit: CommitPolicy.Auto() } });
       const producer = client.producer({ streamId: 1, topicId: 1 });
       await Promise.allSettled([consumer.next(), producer.send([{ payload: "x" }])]);
       await client.close();`,
    ],
    [
      "after destroy with calls under way",
      `const client = new Client(${config}); void client.stream.list().catch(() => 0); await client.destroy();`,
    ],
    [
      "after a connect that gave up",
      `const client = new Client({ ...${config}, options: { port: 1 } }); await client.connect({ timeout: 100 }).catch(() => 0);`,
    ],
  ])(
    "comes by itself %s",
    async (_what, script) => {
      await using server = await ScriptedServer.start();
      const { code, errors, msAfterEnd } = await run(script, server.port);
      expect(errors).toBe("");
      expect(code).toBe(0);
      expect(msAfterEnd).toBeLessThan(1000);
    },
    30_000,
  );
});
