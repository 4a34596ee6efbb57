import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quicProvider } from "@iggy/quic";
import { Client, Consumer, Partitioning, type PolledMessages, PollingStrategy, type QuicProvider } from "@iggy/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../../start-server.js";
import { portOf, title, without } from "./raw-quic.js";

describe.skipIf(without)(`the SDK ${title}`, () => {
  let server: RunningServer;
  let port: number;
  let client: Client;
  beforeAll(async () => {
    server = await startServer();
    port = portOf(server.addresses.quic);
    client = connectTo(port);
    await client.connect();
    await makeTopic("quic");
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  it("writes and reads messages from one byte to many megabytes", { timeout: 60_000 }, async () => {
    for (const bytes of [1, 1000, 70_000, 1_000_000, 30_000_000]) {
      const payload = Buffer.alloc(bytes, `${bytes}`);
      await send("quic", payload);
      const [message] = (await poll("quic", PollingStrategy.Last)).messages;
      expect(Buffer.compare(message?.payload ?? new Uint8Array(), payload), `${bytes} bytes`).toBe(0);
    }
  });

  it("has a hundred requests under way at once", async () => {
    await makeTopic("many");
    await Promise.all(Array.from({ length: 100 }, (_, at) => send("many", Buffer.from(`${at}`))));
    const { messages } = await poll("many", PollingStrategy.First, 100);
    const numbers = messages.map(({ payload }) => Number(Buffer.from(payload).toString()));
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, at) => at));
  });

  it("takes the stack that it is given", async () => {
    const provider: QuicProvider = quicProvider;
    await using other = new Client({
      transport: "QUIC",
      options: { host: "127.0.0.1", port, provider },
      tls: { rejectUnauthorized: false },
      credentials: { username: "iggy", password: "iggy" },
    });
    await other.connect();
    expect(other.getConnectionInfo().protocol).toBe("quic");
  });

  it("names a certificate that nobody trusts", async () => {
    await using other = new Client({
      transport: "QUIC",
      options: { host: "127.0.0.1", port },
      reconnect: { maxRetries: 0 },
    });
    await expect(other.connect()).rejects.toThrow(/TLS: this side refused .*certificate/);
  });

  it("gives up a poll that waits, while other requests go on", async () => {
    await makeTopic("waiting");
    const control = new AbortController();
    const waiting = poll("waiting", PollingStrategy.First, 1, 20_000, control.signal);
    await client.system.ping();
    control.abort();
    await expect(waiting).rejects.toThrow();
    await send("waiting", Buffer.from("later"));
    expect((await poll("waiting", PollingStrategy.First)).messages.length).toBe(1);
  });

  it("wakes a poll that waits", async () => {
    await makeTopic("woken");
    const waiting = poll("woken", PollingStrategy.First, 1, 20_000);
    await client.system.ping();
    await send("woken", Buffer.from("there"));
    expect((await waiting).messages.length).toBe(1);
  });

  it("is listed as a client over QUIC", async () => {
    expect(await client.client.getMe()).toMatchObject({ transport: "quic" });
    const own = (await client.client.list()).filter(({ transport }) => transport === "quic");
    expect(own.length).toBe(1);
    expect(own[0]?.address).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it("finds the port that was bound in the metadata of the cluster and in the written configuration", async () => {
    const { nodes } = await client.cluster.getClusterMetadata();
    expect(nodes[0]?.endpoints.quic).toBe(port);
    const written = await readFile(join(server.dataDirectory, "runtime", "current_config.toml"), "utf8");
    expect(written).toContain(`"127.0.0.1:${port}"`);
  });

  it("comes back by itself after a restart of the server", { timeout: 60_000 }, async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), "iggy-quic-"));
    const before = await startServer({ dataDirectory });
    const quicPort = portOf(before.addresses.quic);
    await using other = connectTo(quicPort);
    await other.stream.create({ name: "kept" });
    await before.close();
    const after = await startServer({ dataDirectory, config: { "quic.address": `127.0.0.1:${quicPort}` } });
    expect((await other.stream.list()).map(({ name }) => name)).toEqual(["kept"]);
    await other.close();
    await after.close();
    await rm(dataDirectory, { recursive: true });
  });

  const connectTo = (to: number): Client =>
    new Client({
      transport: "QUIC",
      options: { host: "127.0.0.1", port: to },
      tls: { rejectUnauthorized: false },
      credentials: { username: "iggy", password: "iggy" },
    });

  async function makeTopic(name: string): Promise<void> {
    await client.stream.create({ name });
    await client.topic.create({ streamId: name, name, partitionCount: 1 });
  }

  const send = (name: string, payload: Uint8Array): Promise<unknown> =>
    client.message.send({
      streamId: name,
      topicId: name,
      partition: Partitioning.PartitionId(0),
      messages: [{ payload }],
    });

  const poll = (
    name: string,
    pollingStrategy: PollingStrategy,
    count = 1,
    maxWait = 0,
    signal?: AbortSignal,
  ): Promise<PolledMessages> =>
    client.message.poll(
      {
        streamId: name,
        topicId: name,
        partitionId: 0,
        consumer: Consumer.Single,
        pollingStrategy,
        options: { count, maxWait },
      },
      signal === undefined ? {} : { signal },
    );
});
