import { readdirSync, readlinkSync } from "node:fs";
import { getClients, getMe, ping } from "@iggy/protocol";
import { probe } from "@iggy/uring";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { ConfigOverrides } from "../../src/config/index.js";
import type { RunningServer } from "../../src/index.js";
import { startServerOn } from "../../src/start-server.js";
import { thisMachine } from "../../src/system/index.js";
import { freshTopic, messages, RawLink, RawSession } from "../raw-client/index.js";

const SHARDS = 3;
/** Connections of the test that looks for sockets that nobody closes. */
const CONNECTIONS = Number(process.env["IGGY_TEST_CONNECTIONS"] ?? 1000);

const WITHIN = { timeout: 60_000, interval: 50 };

const open: { close(): Promise<void> }[] = [];

const start = (config: ConfigOverrides = {}): Promise<RunningServer> =>
  startServerOn(
    { ...thisMachine({}), allowedCores: [0, 1, 2] },
    { config: { "sharding.cpu_allocation": SHARDS, ...config } },
  );

async function startForTest(config: ConfigOverrides = {}): Promise<RunningServer> {
  const server = await start(config);
  open.push(server);
  return server;
}

async function signIn({ port }: RunningServer): Promise<RawSession> {
  const session = await RawSession.open(port);
  open.push(session);
  return session;
}

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** The shard that serves a connection follows from its number. */
const shardOf = ({ clientId }: { readonly clientId: number }): number => (clientId - 1) % SHARDS;

const socketsOfProcess = (): number =>
  readdirSync("/proc/self/fd").filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith("socket:");
    } catch {
      // The listing itself had it open.
      return false;
    }
  }).length;

const found = probe();

describe.skipIf(!found.ring)("connections of a node with several shards", { timeout: 120_000 }, () => {
  let server: RunningServer;

  beforeAll(async () => {
    server = await start();
  }, 60_000);

  afterAll(() => server.close());

  it("go to the shards in turn, with numbers of their own, and are listed together", async () => {
    const sessions: RawSession[] = [];
    for (let count = 0; count < 2 * SHARDS; count++) sessions.push(await signIn(server));
    const own = [];
    for (const session of sessions) own.push((await session.call(getMe, {})).client);
    const ids = own.map(({ clientId }) => clientId);
    expect(new Set(ids).size).toBe(sessions.length);
    expect(own.map(shardOf)).toEqual([0, 1, 2, 0, 1, 2]);
    for (const session of sessions) {
      const { clients } = await session.call(getClients, {});
      expect(clients.map(({ clientId }) => clientId).sort((a, b) => a - b)).toEqual([...ids].sort((a, b) => a - b));
    }
  });

  it("reach every partition from every shard", async () => {
    const [first, ...others] = [await signIn(server), await signIn(server), await signIn(server)];
    const topic = await freshTopic(first, { partitions: 6 });
    for (const partition of topic.partitions) await partition.send(messages(3));
    for (const session of others) {
      const link = await RawLink.connect(server.port);
      expect((await first.bind(link)).kind).toBe("ok");
      for (const partition of topic.partitions) expect(await partition.readAll()).toHaveLength(3);
      await session.close();
    }
  });

  it("keep off the first shard when that is asked for", async () => {
    const server = await startForTest({ "cluster.coordinator.skip_shard_zero_for_clients": true });
    const shards: number[] = [];
    for (let count = 0; count < 4; count++) shards.push(shardOf((await (await signIn(server)).call(getMe, {})).client));
    expect(shards).toEqual([1, 2, 1, 2]);
  });

  it("are as many as the node may have, whichever shards serve them", async () => {
    const server = await startForTest({ "message_bus.connections_max": 4 });
    const sessions: RawSession[] = [];
    for (let count = 0; count < 4; count++) sessions.push(await signIn(server));
    const refused = await RawLink.connect(server.port);
    await refused.closed;
    // That of another shard than the one that accepts.
    await sessions[1]?.close();
    await vi.waitFor(async () => {
      const link = await RawLink.connect(server.port);
      const session = new RawSession(link);
      expect((await session.login()).kind).toBe("ok");
      open.push(session);
    }, WITHIN);
    const another = await RawLink.connect(server.port);
    await another.closed;
  });

  it("end with the node on every shard, and leave no socket open", async () => {
    const before = socketsOfProcess();
    const server = await startForTest();
    const links: RawLink[] = [];
    for (let count = 0; count < 9; count++) links.push(await RawLink.connect(server.port));
    const session = await signIn(server);
    expect(await session.try(ping, {})).toBe("ok");
    await server.close();
    await Promise.all(links.map(({ closed }) => closed));
    await vi.waitFor(() => expect(socketsOfProcess()).toBeLessThanOrEqual(before), WITHIN);
  });

  it(`leave no socket behind after ${CONNECTIONS} of them, however they end`, { timeout: 300_000 }, async () => {
    const session = await signIn(server);
    const before = socketsOfProcess();
    const garbage = new Uint8Array(300).fill(0xff);
    let started = 0;
    const connectAndLeave = async (): Promise<void> => {
      while (started < CONNECTIONS) {
        const way = started++ % 4;
        const link = await RawLink.connect(server.port);
        if (way === 1) link.write(garbage);
        else if (way === 2) link.socket.resetAndDestroy();
        else link.socket.end(garbage.subarray(0, way === 3 ? 10 : 0));
        await link.closed;
      }
    };
    await Promise.all(Array.from({ length: 32 }, connectAndLeave));
    expect(await session.try(ping, {})).toBe("ok");
    await vi.waitFor(async () => {
      expect(socketsOfProcess()).toBeLessThanOrEqual(before);
      expect((await session.call(getClients, {})).clients).toHaveLength(1);
    }, WITHIN);
  });
});
