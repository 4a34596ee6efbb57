import { type Account } from "@iggy/engine";
import { ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { type Caller, HttpSessions } from "../../src/http/commands/index.js";
import { SessionLeases } from "../../src/sessions/lease.js";
import { startServer } from "../start-server.js";
import { Api } from "./messages/api-client.js";

const account: Account = { userId: 1, userCreatedAtMicros: 1 };
const callerOf = (key: string, expiresAtMicros?: number): Caller => ({
  account,
  credential: { key, expiresAtMicros },
  reader: 1n,
  peerAddress: "",
});

class Registered {
  readonly clients: bigint[] = [];
  readonly leases = new SessionLeases();
  readonly ended: bigint[] = [];
  nowMillis = 1000;
  code = 0;
  readonly sessions: HttpSessions;

  constructor(clientsTableMax = 8) {
    this.sessions = new HttpSessions({
      registry: {
        register: (client) => {
          this.clients.push(client);
          return Promise.resolve({ code: this.code, session: this.clients.length, payload: new Uint8Array(0) });
        },
      },
      clientsTableMax,
      leases: this.leases,
      clock: { nowMicros: () => this.nowMillis * 1000, monotonicMillis: () => this.nowMillis },
      end: ({ client, session }) => {
        this.ended.push(client);
        const effect = { kind: "session-ended", clientId: client, session, userId: 1, reason: "logout" } as const;
        this.sessions.follow([effect]);
        return Promise.resolve(true);
      },
      log: { error: () => undefined },
    });
  }
}

describe("sessions of credentials", () => {
  it("concurrent first writes share one registration", async () => {
    const { sessions, clients } = new Registered();
    const opened = await Promise.all(Array.from({ length: 10 }, () => sessions.open(callerOf("jwt:a"))));
    expect([new Set(opened).size, clients.length]).toEqual([1, 1]);
    expect(await sessions.open(callerOf("jwt:b"))).not.toBe(opened[0]);
    sessions.close();
  });

  it("take half of the table, and then refuse without ending one", async () => {
    const { sessions, ended } = new Registered(4);
    await sessions.open(callerOf("a"));
    await sessions.open(callerOf("b"));
    await expect(sessions.open(callerOf("c"))).rejects.toMatchObject({ code: ErrorCode.TransientNotAccepted });
    await sessions.open(callerOf("a"));
    expect(ended).toEqual([]);
    await sessions.logout("a");
    await sessions.open(callerOf("c"));
    sessions.close();
  });

  it("a registration that fails is forgotten", async () => {
    const registered = new Registered();
    registered.code = ErrorCode.TransientNotAccepted;
    await expect(registered.sessions.open(callerOf("a"))).rejects.toMatchObject({ code: 58 });
    registered.code = ErrorCode.InvalidClientId;
    await expect(registered.sessions.open(callerOf("a"))).rejects.toMatchObject({ code: 101 });
    registered.code = 0;
    await registered.sessions.open(callerOf("a"));
    expect(registered.sessions.size).toBe(1);
    registered.sessions.close();
  });

  it("never use a request number twice, and run metadata writes one at a time in order", async () => {
    const { sessions } = new Registered();
    const session = await sessions.open(callerOf("a"));
    expect(new Set(Array.from({ length: 100 }, () => session.nextRequest())).size).toBe(100);
    const log: string[] = [];
    const write = (name: string, fails = false): Promise<void> =>
      session.inTurn(async () => {
        log.push(`${name} begins`);
        await Promise.resolve();
        log.push(`${name} ends`);
        if (fails) throw new Error(name);
      });
    const outcomes = await Promise.allSettled([write("a"), write("b", true), write("c")]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(log).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
    sessions.close();
  });

  it("are heard of with every request of their credential, and while one is under way", async () => {
    const registered = new Registered();
    const { sessions, leases } = registered;
    const session = await sessions.open(callerOf("a"));
    const silence = (): number => registered.nowMillis - (leases.heard()[0]?.heardMillis ?? 0);
    registered.nowMillis += 500;
    expect(silence()).toBe(500);
    sessions.heard("a");
    expect(silence()).toBe(0);
    registered.nowMillis += 500;
    sessions.heardBusy();
    expect(silence()).toBe(500);
    const write = session.inTurn(() => Promise.resolve());
    sessions.heardBusy();
    expect(silence()).toBe(0);
    await write;
    sessions.close();
  });

  it("end with the expiry of their credential", async () => {
    const registered = new Registered();
    const { sessions, clients, ended } = registered;
    await sessions.open(callerOf("a", 5_000_000));
    await sessions.open(callerOf("b"));
    registered.nowMillis = 5000;
    await expect.poll(() => ended, { timeout: 5000 }).toEqual([clients[0]]);
    expect(sessions.size).toBe(1);
    sessions.close();
  });
});

describe("over HTTP", () => {
  const sessionsOf = async (root: Api): Promise<number> => {
    const { text } = await root.call("GET", "/metrics");
    return Number(/^iggy_sessions (\d+)$/m.exec(text)?.[1]);
  };

  it("reads open no session, the first write does, and logout ends it", async () => {
    await using server = await startServer();
    const root = await Api.signIn(server);
    await root.call("GET", "/streams");
    expect(await sessionsOf(root)).toBe(0);
    await Promise.all(["a", "b", "c"].map((name) => root.call("POST", "/streams", { body: { name } })));
    expect(await sessionsOf(root)).toBe(1);
    expect((await root.call("DELETE", "/users/logout")).status).toBe(204);
    expect(await sessionsOf(root)).toBe(0);
    // The token holds on, and opens another session.
    expect((await root.call("POST", "/streams", { body: { name: "d" } })).status).toBe(200);
    expect(await sessionsOf(root)).toBe(1);
  });

  it("a lease that ran out is no obstacle to the next write", async () => {
    await using server = await startServer({ config: { "heartbeat.interval": "200ms" } });
    const root = await Api.signIn(server);
    const watcher = await Api.signIn(server);
    await root.call("POST", "/streams", { body: { name: "a" } });
    await expect.poll(() => sessionsOf(watcher), { timeout: 10_000 }).toBe(0);
    expect((await root.call("POST", "/streams", { body: { name: "b" } })).status).toBe(200);
  });

  it("a deactivated user's session ends", async () => {
    await using server = await startServer();
    const root = await Api.signIn(server);
    await root.call("POST", "/users", { body: { username: "alice", password: "secret", status: "active" } });
    const alice = await Api.signIn(server, "alice", "secret");
    await alice.call("POST", "/personal-access-tokens", { body: { name: "mine", expiry: 0 } });
    expect(await sessionsOf(root)).toBe(2);
    await root.call("PUT", "/users/alice", { body: { status: "inactive" } });
    expect(await sessionsOf(root)).toBe(1);
  });

  it("a full table refuses with 503 and nothing is ended", async () => {
    await using server = await startServer({ config: { "metadata.clients_table_max": 4 } });
    const callers = await Promise.all([1, 2, 3].map(() => Api.signIn(server)));
    const statuses: number[] = [];
    for (const [at, caller] of callers.entries()) {
      const answer = await caller.call("POST", "/streams", { body: { name: `s-${at}` } });
      statuses.push(answer.status);
      if (answer.status === 503) expect(answer.headers.get("retry-after")).toBe("1");
    }
    expect(statuses).toEqual([200, 200, 503]);
    expect((await callers[0]?.call("POST", "/streams", { body: { name: "again" } }))?.status).toBe(200);
  });

  it("the answer to many topics is one request", async () => {
    await using server = await startServer();
    const root = await Api.signIn(server);
    for (let at = 0; at < 5; at++) {
      await root.call("POST", "/streams", { body: { name: `s-${at}` } });
      await Promise.all(
        Array.from({ length: 20 }, (_, topic) =>
          root.call("POST", `/streams/s-${at}/topics`, { body: { name: `t-${topic}`, partitions_count: 2 } }),
        ),
      );
    }
    const streams = JSON.parse((await root.call("GET", "/streams")).text) as { topics_count: number }[];
    expect(streams.map(({ topics_count }) => topics_count)).toEqual([20, 20, 20, 20, 20]);
    const topics = JSON.parse((await root.call("GET", "/streams/s-0/topics")).text) as { partitions_count: number }[];
    expect([topics.length, topics[0]?.partitions_count]).toEqual([20, 2]);
  });
});

describe("with several shards", () => {
  it("everything is served alike, whoever owns the partition", async () => {
    const { startServerOn } = await import("../../src/start-server.js");
    const { thisMachine } = await import("../../src/system/index.js");
    const machine = { ...thisMachine({}), allowedCores: [0, 1] };
    await using server = await startServerOn(machine, { config: { "sharding.cpu_allocation": 2 } });
    const root = await Api.signIn(server);
    const topic = await root.makeTopic(8);
    for (let partition = 0; partition < 8; partition++) {
      expect((await root.send(topic, [{ payload: "aGVsbG8=" }], { partition })).status).toBe(201);
      const polled = await root.poll(topic, { partition_id: partition });
      expect([polled.status, polled.json["count"]]).toEqual([200, 1]);
    }
    const deferred = await root.call("GET", `${topic}/messages/deferred`, {
      query: { partition_id: 3, kind: "offset", value: 1, wait_us: 100_000 },
    });
    expect([deferred.status, deferred.json["count"]]).toEqual([200, 0]);
    const stats = await root.call("GET", "/stats");
    expect(stats.json["messages_count"]).toBe(8);
  });
});
