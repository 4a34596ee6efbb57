import {
  bindSession,
  decodeRequest,
  getClusterMetadata,
  loginRegister,
  logoutUser,
  ping,
  syncConsumerGroup,
} from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { Consumer, DisconnectedError, PollingStrategy, UnauthenticatedError, ValidationError } from "../src/index.js";
import { hexOf } from "./support/captures.js";
import { ScriptedCluster } from "./support/scripted-cluster.js";

let clients: ClientCore[] = [];
beforeEach(() => vi.useFakeTimers());
afterEach(async () => {
  await Promise.all(clients.map((client) => client.destroy()));
  clients = [];
  vi.useRealTimers();
});

function setUp({ nodes = 3, ...config }: { readonly nodes?: number } & Parameters<ScriptedCluster["client"]>[0] = {}) {
  const cluster = new ScriptedCluster(nodes);
  const client = cluster.client(config);
  clients.push(client);
  const ups: (number | undefined)[] = [];
  const downs: (number | undefined)[] = [];
  client.on("link-up", ({ replicaId }) => ups.push(replicaId));
  client.on("link-down", ({ replicaId }) => downs.push(replicaId));
  return { cluster, client, ups, downs };
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const openWires = (cluster: ScriptedCluster): number[] => cluster.replicas.map(({ wires }) => wires.size);

describe("links", () => {
  test("one per replica: the bootstrap's is that of its replica, the others bind with the session's secret", async () => {
    const { cluster, client, ups } = setUp();
    await client.connect();
    await settle();
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    expect(ups.sort()).toEqual([0, 1, 2]);
    expect(cluster.registrations).toBe(1);
    const secret = hexOf(
      decodeRequest(loginRegister, cluster.of(loginRegister)[0]?.body ?? new Uint8Array()).bindSecret,
    );
    const binds = cluster.of(bindSession).map(({ body }) => decodeRequest(bindSession, body));
    expect(binds).toHaveLength(2);
    expect(binds.every(({ bindSecret }) => hexOf(bindSecret) === secret)).toBe(true);
    // Only the link that signed in asks who is there.
    expect(cluster.of(getClusterMetadata)).toHaveLength(1);
  });

  test("a replica is known by the address that its name led to", async () => {
    const { cluster, client } = setUp({ options: { host: "localhost", port: 9001 } });
    cluster.aliases.set("localhost:9001", 1);
    await client.connect();
    await settle();
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    expect(cluster.of(bindSession)).toHaveLength(2);
  });

  test("behind an address that says nothing the bootstrap keeps a link of its own", async () => {
    const { cluster, client } = setUp({ options: { host: "balancer", port: 80 } });
    cluster.aliases.set("balancer:80", 1);
    cluster.tellsRemoteHost = false;
    await client.connect();
    await settle();
    expect(openWires(cluster)).toEqual([1, 2, 1]);
    // It is the one that serves when no replica can be reached.
    for (const replica of cluster.replicas) replica.advertised = { host: "10.9.9.9", port: replica.port };
    await expect(client.stream.list()).resolves.toEqual([]);
  });

  test("a node without a port for the transport gets none", async () => {
    const { cluster, client } = setUp();
    cluster.replica(2).advertised = { host: "127.0.0.1", port: 0 };
    await client.connect();
    await settle();
    expect(openWires(cluster)).toEqual([1, 1, 0]);
  });

  test("a roster with one node to dial is dialed where it was configured", async () => {
    const { cluster, client } = setUp({ nodes: 1 });
    cluster.replica(0).advertised = { host: "10.9.9.9", port: 1 };
    await client.connect();
    await settle();
    cluster.replica(0).dropAll();
    await client.stream.list();
    expect(new Set(cluster.dials)).toEqual(new Set(["127.0.0.1:9000"]));
    expect(openWires(cluster)).toEqual([1]);
  });

  test("a roster that names a replica twice is refused", async () => {
    const { cluster, client } = setUp({ reconnect: { maxRetries: 0 } });
    const whole = cluster.roster.bind(cluster);
    cluster.roster = (teller) => {
      const { name, nodes } = whole(teller);
      return { name, nodes: nodes.map((node) => ({ ...node, replicaId: 0 })) };
    };
    await expect(client.connect()).rejects.toMatchObject({ code: 4 });
  });

  test("at most four are dialed at once, the first time without a pause", async () => {
    const { cluster, client } = setUp({ nodes: 9, random: () => 1 });
    cluster.dialMillis = 100;
    const connecting = client.connect();
    await vi.advanceTimersByTimeAsync(100);
    await connecting;
    await vi.advanceTimersByTimeAsync(100);
    expect(openWires(cluster).filter((wires) => wires > 0)).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(100);
    expect(openWires(cluster)).toEqual(Array.from({ length: 9 }, () => 1));
    expect(cluster.mostDialing).toBe(4);
  });

  test("a lost one comes back after a pause that doubles, up to its limit; one that lasted starts over", async () => {
    const { cluster, client } = setUp({ random: () => 1, reconnect: { interval: 1000, maxInterval: 4000 } });
    const delays: number[] = [];
    client.on("reconnecting", ({ delay, replicaId }) => {
      expect(replicaId).toBe(2);
      delays.push(delay);
    });
    await client.connect();
    await settle();
    cluster.replica(2).kill();
    await vi.advanceTimersByTimeAsync(14_999);
    expect(delays).toEqual([1000, 2000, 4000, 4000, 4000]);
    cluster.replica(2).start();
    await vi.advanceTimersByTimeAsync(4000);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    // Up for less than five seconds: the pauses go on where they were.
    cluster.replica(2).dropAll();
    await vi.advanceTimersByTimeAsync(4000);
    expect(delays.at(-1)).toBe(4000);
    await vi.advanceTimersByTimeAsync(5000);
    cluster.replica(2).dropAll();
    await vi.advanceTimersByTimeAsync(1000);
    expect(delays.at(-1)).toBe(1000);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
  });

  test("one that used up its retries is dialed again by connect() and by the heartbeat", async () => {
    const { cluster, client } = setUp({ reconnect: { maxRetries: 2, interval: 1, maxInterval: 1 } });
    cluster.replica(2).kill();
    await client.connect();
    await vi.advanceTimersByTimeAsync(100);
    const dialsOf2 = (): number => cluster.dials.filter((address) => address.endsWith("9002")).length;
    expect(dialsOf2()).toBe(3);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(dialsOf2()).toBe(3);
    cluster.replica(2).start();
    await client.connect();
    await settle();
    expect(openWires(cluster)).toEqual([1, 1, 1]);

    const beating = setUp({ heartbeatInterval: 5000, reconnect: { maxRetries: 0 } });
    beating.cluster.replica(2).kill();
    await beating.client.connect();
    await settle();
    beating.cluster.replica(2).start();
    await vi.advanceTimersByTimeAsync(5001);
    expect(openWires(beating.cluster)).toEqual([1, 1, 1]);
  });

  test("without reconnecting a lost one stays down, and the client with the last", async () => {
    const { cluster, client } = setUp({ reconnect: { enabled: false }, heartbeatInterval: 5000 });
    await client.connect();
    await settle();
    cluster.replica(0).dropAll();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(openWires(cluster)).toEqual([0, 1, 1]);
    await expect(client.stream.list()).resolves.toEqual([]);
    cluster.replica(1).dropAll();
    cluster.replica(2).dropAll();
    await expect(client.stream.list()).rejects.toBeInstanceOf(DisconnectedError);
  });

  test("nodes that come, go and move: the links follow, and requests on a retired one end there", async () => {
    const { cluster, client, ups, downs } = setUp();
    cluster.replica(2).isMember = false;
    await client.connect();
    await settle();
    expect(openWires(cluster)).toEqual([1, 1, 0]);
    cluster.replica(2).isMember = true;
    cluster.replica(1).isMember = false;
    // A read waits on the node that goes.
    let held: (() => void) | undefined;
    cluster.movePartition(0, 1);
    cluster.intercept = (replica, received) => {
      if (received.code !== 106 || held !== undefined) return false;
      held = () => cluster.answer(replica, received);
      return true;
    };
    const poll = client.message.poll({
      streamId: 1,
      topicId: 1,
      partitionId: 0,
      consumer: Consumer.Named("app"),
      pollingStrategy: PollingStrategy.First,
      options: { maxWait: 1000 },
    });
    await settle();
    expect(held).toBeDefined();
    await expect(client.sendBinaryRequestToReplica(1, "", 2)).resolves.toHaveLength(0);
    await settle();
    expect(ups.at(-1)).toBe(2);
    expect(downs).toEqual([1]);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    held?.();
    expect((await poll).messages).toEqual([]);
    await settle();
    expect(openWires(cluster)).toEqual([1, 0, 1]);
    // A node under another address.
    cluster.aliases.set("n2.example:9102", 2);
    cluster.replica(2).advertised = { host: "n2.example", port: 9102 };
    await client.sendBinaryRequestToReplica(1, "", 7).catch(() => undefined);
    await settle();
    expect(cluster.dials.at(-1)).toBe("n2.example:9102");
    expect(openWires(cluster)).toEqual([1, 0, 1]);
  });

  test("a node that moved is found although nobody asks for the roster", async () => {
    const { cluster, client } = setUp();
    await client.connect();
    await settle();
    cluster.replica(2).kill();
    cluster.replica(2).port = 9202;
    cluster.replica(2).advertised = { host: "127.0.0.1", port: 9202 };
    cluster.replica(2).start();
    await vi.advanceTimersByTimeAsync(100);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
  });
});

describe("heartbeats", () => {
  test("go to every link at once; one that does not answer is retired, the others go on", async () => {
    const { cluster, client, downs } = setUp({ heartbeatInterval: 5000 });
    await client.connect();
    await settle();
    await vi.advanceTimersByTimeAsync(5000);
    expect(cluster.replicas.map((replica) => replica.of(ping).length)).toEqual([2, 1, 1]);
    cluster.replica(1).isFrozen = true;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(cluster.replicas.map((replica) => replica.of(ping).length)).toEqual([8, 2, 7]);
    expect(downs).toEqual([]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(downs).toEqual([1]);
  });

  test("assignments that polls use are read again", async () => {
    const { cluster, client } = setUp({ heartbeatInterval: 5000 });
    await client.connect();
    const poll = {
      streamId: 1,
      topicId: 1,
      partitionId: null,
      consumer: Consumer.Group("g"),
      pollingStrategy: PollingStrategy.First,
      count: 1,
      autocommit: false,
    };
    await client.message.poll(poll);
    expect(cluster.of(syncConsumerGroup)).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(cluster.of(syncConsumerGroup)).toHaveLength(3);
    await client.message.poll(poll);
    expect(cluster.of(syncConsumerGroup)).toHaveLength(3);
    // Nobody polls any more.
    await vi.advanceTimersByTimeAsync(120_000);
    expect(cluster.of(syncConsumerGroup).length).toBeLessThan(20);
  });
});

describe("the session", () => {
  test("lost everywhere: however many links notice, one registers and the others bind to what it got", async () => {
    const { cluster, client } = setUp({ heartbeatInterval: 1000 });
    let resets = 0;
    client.on("sessionReset", () => resets++);
    await client.connect();
    await settle();
    cluster.endSessions();
    for (const replica of cluster.replicas) replica.dropAll();
    await vi.advanceTimersByTimeAsync(5000);
    expect(cluster.registrations).toBe(2);
    expect(resets).toBe(1);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    await expect(client.stream.list()).resolves.toEqual([]);
  });

  test("calls that meet the loss on several links at once cost one registration", async () => {
    const { cluster, client } = setUp();
    await client.connect();
    await settle();
    cluster.endSessions();
    const calls = [0, 1, 2].flatMap((partitionId) => [
      client.cluster.getRoute({ streamId: 1, topicId: 1, partitionId }),
      client.message.poll({
        streamId: 1,
        topicId: 1,
        partitionId,
        consumer: Consumer.Named("app"),
        pollingStrategy: PollingStrategy.First,
        options: {},
      }),
      client.stream.list(),
    ]);
    const settled = Promise.allSettled(calls);
    await vi.advanceTimersByTimeAsync(5000);
    expect((await settled).map(({ status }) => status)).toEqual(calls.map(() => "fulfilled"));
    expect(cluster.registrations).toBe(2);
  });

  test("its user is gone: one clear error, no endless loop, and nobody is signed in until the caller does", async () => {
    const { cluster, client } = setUp({ heartbeatInterval: 1000 });
    await client.connect();
    await settle();
    cluster.users.delete("iggy");
    cluster.endSessions();
    for (const replica of cluster.replicas) replica.dropAll();
    await vi.advanceTimersByTimeAsync(60_000);
    const logins = cluster.of(loginRegister).length;
    expect(logins).toBe(2);
    await expect(client.stream.list()).rejects.toMatchObject({ code: 40, cause: { code: 42 } });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(cluster.of(loginRegister)).toHaveLength(logins);
    cluster.users.set("other", "secret");
    await client.session.login({ username: "other", password: "secret" });
    await expect(client.stream.list()).resolves.toEqual([]);
  });

  test("a login ends the earlier one on every link", async () => {
    const { cluster, client } = setUp();
    cluster.users.set("other", "secret");
    await client.connect();
    await settle();
    await client.session.login({ username: "other", password: "secret" });
    await settle();
    expect(cluster.of(logoutUser)).toHaveLength(1);
    expect([...cluster.sessions.values()].map(({ user }) => user)).toEqual(["other"]);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    const clientId = [...cluster.sessions.keys()][0];
    for (const replica of cluster.replicas) expect([...replica.bound.values()].at(-1)).toBe(clientId);
  });

  test("a logout that nobody confirms frees no connection: the next user never runs in the session of the last", async () => {
    const { cluster, client } = setUp();
    cluster.users.set("other", "secret");
    await client.connect();
    await settle();
    cluster.intercept = (replica, received) => {
      if (received.code !== logoutUser.code) return false;
      replica.refuse(received, 5);
      return true;
    };
    await client.session.login({ username: "other", password: "secret" });
    const login = cluster.of(loginRegister).at(-1);
    const logout = cluster.of(logoutUser)[0];
    expect(login?.wire).not.toBe(logout?.wire);
    expect(login?.header.client).not.toBe(logout?.header.client);
  });

  test("two logins at once through one client never mix", async () => {
    const { cluster, client } = setUp();
    for (const user of ["first", "second"]) cluster.users.set(user, "secret");
    await client.connect();
    await Promise.all(["first", "second"].map((username) => client.session.login({ username, password: "secret" })));
    await settle();
    expect([...cluster.sessions.values()].map(({ user }) => user)).toEqual(["second"]);
    await client.stream.list();
  });

  test("a session that is replaced while another link binds is not bound twice", async () => {
    const { cluster, client } = setUp();
    await client.connect();
    await settle();
    cluster.replica(1).dropAll();
    let late: (() => void) | undefined;
    cluster.intercept = (replica, received) => {
      if (received.code !== bindSession.code || late !== undefined) return false;
      late = () => cluster.answer(replica, received);
      return true;
    };
    await vi.advanceTimersByTimeAsync(5);
    expect(late).toBeDefined();
    await client.session.login({ username: "iggy", password: "iggy" });
    late?.();
    await vi.advanceTimersByTimeAsync(5);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    await client.stream.list();
    const [session] = [...cluster.sessions.values()];
    expect(BigInt(cluster.replicas.flatMap(({ received }) => received).at(-1)?.header.session ?? 0)).toBe(
      session?.epoch,
    );
  });

  test("disconnect closes every link; close does, and nothing dials afterwards", async () => {
    const { cluster, client } = setUp({ heartbeatInterval: 1000 });
    await client.connect();
    await settle();
    await client.disconnect();
    await settle();
    expect(openWires(cluster)).toEqual([0, 0, 0]);
    expect(cluster.sessions.size).toBe(0);
    await client.connect();
    await settle();
    expect(openWires(cluster)).toEqual([1, 1, 1]);
    await client.close();
    const dials = cluster.dials.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(openWires(cluster)).toEqual([0, 0, 0]);
    expect(cluster.dials).toHaveLength(dials);
  });

  test("the whole cluster is away for a while: calls end in their time, then everything comes back", async () => {
    const reconnect = { interval: 100, maxInterval: 1000 };
    const { cluster, client } = setUp({ heartbeatInterval: 5000, reconnect, random: () => 0.5 });
    await client.connect();
    await settle();
    for (const replica of cluster.replicas) replica.kill();
    const during = client.stream.list({ timeout: 2000 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(await during).toMatchObject({ code: 58 });
    for (const replica of cluster.replicas) replica.start();
    await vi.advanceTimersByTimeAsync(1000);
    await expect(client.stream.list()).resolves.toEqual([]);
    expect(cluster.registrations).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(openWires(cluster)).toEqual([1, 1, 1]);
  });

  test("a call without credentials fails at once, also with links to several nodes", async () => {
    const { client } = setUp();
    await client.connect();
    await settle();
    await client.session.logout();
    await expect(client.stream.list()).rejects.toBeInstanceOf(UnauthenticatedError);
  });
});

describe("a raw request to a chosen replica", () => {
  test("goes there, and its refusal is the answer", async () => {
    const { cluster, client } = setUp();
    await client.connect();
    for (const replica of cluster.replicas) {
      const before = replica.of(getClusterMetadata).length;
      await client.sendBinaryRequestToReplica(getClusterMetadata.code, "", replica.replicaId);
      expect(replica.of(getClusterMetadata)).toHaveLength(before + 1);
    }
    cluster.intercept = (replica, received) => {
      if (received.code !== 11) return false;
      replica.refuse(received, 89);
      return true;
    };
    await expect(client.sendBinaryRequestToReplica(11, "", 2)).rejects.toMatchObject({ code: 89 });
    await expect(client.sendBinaryRequestToReplica(1, "", 9)).rejects.toBeInstanceOf(ValidationError);
  });

  test("an unreachable one is waited for until the deadline, and the error names its address", async () => {
    const { cluster, client } = setUp({ reconnect: { interval: 100, maxInterval: 100 }, random: () => 0.5 });
    cluster.replica(2).isCutOff = true;
    await client.connect();
    const call = client.sendBinaryRequestToReplica(1, "", 2, { timeout: 500 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(600);
    const error = await call;
    expect(error).toMatchObject({ code: 58 });
    expect(JSON.stringify((error as Error).cause)).toContain("127.0.0.1:9002");
    cluster.replica(2).isCutOff = false;
    const later = client.sendBinaryRequestToReplica(1, "", 2);
    await vi.advanceTimersByTimeAsync(2000);
    await expect(later).resolves.toHaveLength(0);
  });
});
