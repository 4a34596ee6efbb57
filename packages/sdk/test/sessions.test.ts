import {
  bindSession,
  changePassword,
  createStream,
  decodeRequest,
  ErrorCode,
  getClusterMetadata,
  getStream,
  loginRegister,
  loginRegisterWithPat,
  logoutUser,
  ping,
  sendMessages,
} from "@iggy/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import {
  AuthenticationError,
  ClientShutdownError,
  DisconnectedError,
  IncompatibleProtocolVersionError,
  InvalidCredentialsError,
  OperationUncertainError,
  Partitioning,
  TimeoutError,
  UnauthenticatedError,
  ValidationError,
} from "../src/index.js";
import { hexOf } from "./support/captures.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { type Received, ScriptedNode } from "./support/scripted-node.js";

let clients: ClientCore[] = [];
afterEach(async () => {
  await Promise.all(clients.map((client) => client.destroy()));
  clients = [];
});

function setUp(config: Parameters<MemoryNetwork["client"]>[0] = {}) {
  const node = new ScriptedNode();
  const network = new MemoryNetwork(node);
  const client = network.client(config);
  clients.push(client);
  return { node, network, client };
}

const refuseFirst = (node: ScriptedNode, command: { readonly code: number }, ...steps: ((r: Received) => void)[]) => {
  node.handler = (received) => {
    const step = received.code === command.code ? steps.shift() : undefined;
    if (step === undefined) node.answer(received);
    else step(received);
  };
};

const loginOf = (received: Received | undefined) => {
  if (received === undefined) throw new Error("no login came");
  return decodeRequest(loginRegister, received.body);
};

describe("sign-in", () => {
  test("the first call connects and signs in; concurrent calls share one attempt", async () => {
    const { node, client } = setUp();
    await Promise.all([client.stream.list(), client.stream.list(), client.connect(), client.connect()]);
    expect(node.of(loginRegister)).toHaveLength(1);
    expect(node.dials).toBe(1);
  });

  test("57 and 58 repeat the same registration", async () => {
    const { node, client } = setUp();
    refuseFirst(
      node,
      loginRegister,
      (r) => node.reject(r, 58),
      (r) => node.reject(r, 57),
    );
    await client.connect();
    const frames = node.of(loginRegister).map(({ frame }) => hexOf(frame));
    expect(frames).toHaveLength(3);
    expect(new Set(frames).size).toBe(1);
  });

  test("a lost reply registers again with the same identity on the next link", async () => {
    const { node, client } = setUp();
    refuseFirst(node, loginRegister, ({ wire }) => wire.reset());
    await client.connect();
    const frames = node.of(loginRegister).map(({ frame }) => hexOf(frame));
    expect(frames).toHaveLength(2);
    expect(new Set(frames).size).toBe(1);
  });

  test.each([
    ["InvalidCredentials", InvalidCredentialsError, 42],
    ["InvalidToken", AuthenticationError, 53],
    ["UserInactive", UnauthenticatedError, 40],
    ["SessionError", UnauthenticatedError, 40],
    ["MalformedLogin", ValidationError, 4],
    ["IncompatibleProtocol", IncompatibleProtocolVersionError, 14003],
  ] as const)("%s ends the sign-in; nothing tries again by itself", async (reason, type, code) => {
    const { node, client } = setUp();
    node.handler = (received) => {
      if (received.code === loginRegister.code) node.evict(received.wire, reason);
      else node.answer(received);
    };
    const refused = await client.connect().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(type);
    expect(refused).toMatchObject({ code });
    const later = await client.stream.list().catch((error: unknown) => error);
    expect(later).toBeInstanceOf(UnauthenticatedError);
    expect((later as Error).cause).toMatchObject({ code });
    expect(node.of(loginRegister)).toHaveLength(1);
    // Whoever asks for it gets another attempt.
    node.handler = undefined;
    await client.connect();
    await client.stream.list();
  });

  test("the version refusal names both versions", async () => {
    const { node, client } = setUp();
    node.handler = ({ wire }) => node.evict(wire, "IncompatibleProtocol");
    await expect(client.connect()).rejects.toMatchObject({
      client: "0.12.2",
      serverMin: "0.12.3",
      serverMax: "0.12.3",
    });
  });

  test("without credentials protected calls fail at once, and ping works", async () => {
    const node = new ScriptedNode();
    const client = new MemoryNetwork(node).client();
    clients.push(client);
    await client.session.login({ username: "iggy", password: "iggy" });
    await client.session.logout();
    await expect(client.stream.list()).rejects.toBeInstanceOf(UnauthenticatedError);
    await expect(client.system.ping()).resolves.toBe(true);
    expect(node.of(ping)[0]?.request).toBe(0);
  });

  test("credentials come from a function, asked for each sign-in", async () => {
    let asked = 0;
    const { node, client } = setUp({
      credentials: () => Promise.resolve({ token: `token-${String(++asked)}` }),
    });
    await client.connect();
    refuseFirst(node, bindSession, (r) => node.refuse(r, 40));
    node.dropAll();
    await client.stream.list();
    expect(asked).toBe(2);
    const tokens = node.of(loginRegister).map(({ body }) => decodeRequest(loginRegisterWithPat, body).token);
    expect(tokens).toEqual(["token-1", "token-2"]);
  });

  test("bounds of credentials are checked before anything is sent, and stay out of the errors", async () => {
    const { node, client } = setUp();
    await client.connect();
    node.received.length = 0;
    const error = await client.session.login({ username: "ab", password: "tops" }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: ErrorCode.InvalidUsername });
    const long = "s".repeat(101);
    const other = await client.session.login({ username: "iggy", password: long }).catch((e: unknown) => e);
    expect(other).toMatchObject({ code: ErrorCode.InvalidPassword });
    expect(JSON.stringify(other)).not.toContain("sss");
    expect(node.received).toHaveLength(0);
  });
});

describe("reconnecting", () => {
  test("a lost link binds the session that lives, with its secret, and no second registration", async () => {
    const { node, client } = setUp();
    await client.connect();
    node.dropAll();
    await client.stream.list();
    expect(node.of(loginRegister)).toHaveLength(1);
    const [bind] = node.of(bindSession);
    if (bind === undefined) throw new Error("no bind came");
    const request = decodeRequest(bindSession, bind.body);
    expect(request.identity).toMatchObject({ session: 4711n, metadataWatermark: 4711n, clientId: bind.header.client });
    expect(hexOf(request.bindSecret)).toBe(hexOf(loginOf(node.of(loginRegister)[0]).bindSecret));
    expect(bind.header.session).toBe(4711);
  });

  test.each([40, 57])("a bind refused with %i registers a new session on the same connection", async (code) => {
    const { node, client } = setUp();
    await client.connect();
    refuseFirst(node, bindSession, (r) => {
      node.session = 5000n;
      node.refuse(r, code);
    });
    node.dropAll();
    await client.stream.list();
    expect(node.dials).toBe(2);
    const [first, second] = node.of(loginRegister).map(loginOf);
    expect(node.of(loginRegister)[0]?.header.client).not.toBe(node.of(loginRegister)[1]?.header.client);
    expect(hexOf(first?.bindSecret ?? new Uint8Array(0))).not.toBe(hexOf(second?.bindSecret ?? new Uint8Array(0)));
    expect(node.of(getStream)).toHaveLength(0);
    const last = node.received.at(-1);
    expect(last?.header.session).toBe(5000);
  });

  test("request numbers go on over links and sessions", async () => {
    const { node, client } = setUp();
    await client.connect();
    refuseFirst(node, bindSession, (r) => node.refuse(r, 40));
    node.dropAll();
    await client.stream.list();
    await client.session.logout();
    await client.session.login({ username: "iggy", password: "iggy" });
    const numbers = node.received.map(({ request }) => request).filter((request) => request > 0);
    expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  });

  test("58 on a bind tries again; the session is kept", async () => {
    const { node, client } = setUp();
    await client.connect();
    refuseFirst(
      node,
      bindSession,
      (r) => node.refuse(r, 58),
      (r) => node.refuse(r, 58),
    );
    node.dropAll();
    await client.stream.list();
    expect(node.of(bindSession)).toHaveLength(3);
    expect(node.of(loginRegister)).toHaveLength(1);
  });

  test("status 40 on a read of a bound session closes the link, binds again and repeats the read", async () => {
    const { node, client } = setUp();
    await client.connect();
    refuseFirst(node, getStream, (r) => node.refuse(r, 40));
    await expect(client.stream.get({ streamId: 1 })).resolves.toBeNull();
    expect(node.of(bindSession)).toHaveLength(1);
    const [first, second] = node.of(getStream);
    expect(hexOf(first?.frame ?? new Uint8Array(0))).toBe(hexOf(second?.frame ?? new Uint8Array(0)));
  });

  test("a write is replayed as it was when its session survived the link", async () => {
    const { node, client } = setUp();
    await client.connect();
    await client.cluster.getRoute({ streamId: 1, topicId: 1, partitionId: 0 });
    refuseFirst(node, sendMessages, ({ wire }) => wire.reset());
    await client.message.send({
      streamId: 1,
      topicId: 1,
      partition: Partitioning.PartitionId(0),
      messages: [{ payload: "x" }],
    });
    const frames = node.of(sendMessages).map(({ frame }) => hexOf(frame));
    expect(frames).toHaveLength(2);
    expect(new Set(frames).size).toBe(1);
  });

  test("a write whose session is gone is uncertain, and can not be resolved", async () => {
    const { node, client } = setUp();
    await client.connect();
    node.handler = (received) => {
      if (received.code === createStream.code) received.wire.reset();
      else if (received.code === bindSession.code) node.refuse(received, 40);
      else node.answer(received);
    };
    const error = await client.stream.create({ name: "orders" }).catch((e: unknown) => e);
    if (!(error instanceof OperationUncertainError)) throw new Error("expected an uncertain operation");
    expect(node.of(createStream)).toHaveLength(1);
    await expect(client.operation.resolve({ operationId: error.operationId })).rejects.toMatchObject({ code: 14008 });
    // The lane is free.
    node.handler = undefined;
    await expect(client.stream.delete({ streamId: 1 })).resolves.toBe(true);
  });

  test("a write that was refused continues under the new session, with a new number", async () => {
    const { node, client } = setUp();
    await client.connect();
    let attempts = 0;
    node.handler = (received) => {
      if (received.code === createStream.code && attempts++ === 0) {
        node.refuse(received, 58);
        received.wire.end();
      } else if (received.code === bindSession.code) {
        node.session = 6000n;
        node.refuse(received, 40);
      } else if (received.code === createStream.code) node.reject(received, 1012, { committed: true });
      else node.answer(received);
    };
    await expect(client.stream.create({ name: "orders" })).rejects.toMatchObject({ code: 1012 });
    const [first, second] = node.of(createStream);
    expect(first?.header.session).toBe(4711);
    expect(second?.header.session).toBe(6000);
    expect(second?.request).not.toBe(first?.request);
  });

  test("an eviction ends the link for every call; the session is bound again", async () => {
    const { node, client } = setUp();
    const evictions: string[] = [];
    client.on("eviction", ({ reason }) => evictions.push(reason));
    await client.connect();
    let isFirst = true;
    node.handler = (received) => {
      if (received.code === getStream.code && isFirst) {
        isFirst = false;
        node.evict(received.wire, "StaleClient");
      } else node.answer(received);
    };
    await Promise.all([client.stream.get({ streamId: 1 }), client.stream.get({ streamId: 2 })]);
    expect(evictions).toEqual(["StaleClient"]);
    expect(node.of(loginRegister)).toHaveLength(1);
    expect(node.of(bindSession)).toHaveLength(1);
  });

  test("an eviction that says that the request is wrong is not met twice", async () => {
    const { node, client } = setUp();
    await client.connect();
    node.handler = (received) => {
      if (received.code === getStream.code) node.evict(received.wire, "InvalidRequestBody");
      else node.answer(received);
    };
    await expect(client.stream.get({ streamId: 1 })).rejects.toMatchObject({ code: 3 });
    expect(node.of(getStream)).toHaveLength(1);
  });

  test("calls during an outage end with their own timeout, and say why there is no link", async () => {
    const { node, network, client } = setUp();
    await client.connect();
    network.isDown = true;
    node.dropAll();
    const error = await client.stream.list({ timeout: 100 }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 58 });
    expect(((error as Error).cause as Error).cause).toMatchObject({ code: 9 });
    network.isDown = false;
    await expect(client.stream.list()).resolves.toEqual([]);
  });

  test("attempts end when nobody needs a link", async () => {
    const node = new ScriptedNode();
    const network = new MemoryNetwork(node);
    network.isDown = true;
    const client = network.client();
    clients.push(client);
    let attempts = 0;
    client.on("reconnecting", () => attempts++);
    await expect(client.connect({ timeout: 30 })).rejects.toBeInstanceOf(TimeoutError);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const after = attempts;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(attempts).toBe(after);
  });

  test("the number of passes is bounded when it is asked for", async () => {
    const node = new ScriptedNode();
    const network = new MemoryNetwork(node);
    network.isDown = true;
    const client = network.client({ reconnect: { maxRetries: 2, interval: 1, maxInterval: 1 } });
    clients.push(client);
    await expect(client.connect()).rejects.toMatchObject({ code: 9 });
  });

  test("without reconnecting a lost link stays down until connect()", async () => {
    const { node, client } = setUp({ reconnect: { enabled: false } });
    await client.connect();
    node.dropAll();
    await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(client.stream.list()).rejects.toBeInstanceOf(DisconnectedError);
    await client.connect();
    await expect(client.stream.list()).resolves.toEqual([]);
  });

  test("further servers are tried in order", async () => {
    const { node, network, client } = setUp({ servers: ["127.0.0.1:9001", "[::1]:9002"] });
    const tried: string[] = [];
    const { transport } = network;
    Object.defineProperty(network, "transport", {
      get: () => ({
        ...transport,
        connect: (endpoint: { host: string; port: number }, ...rest: [never, never]) => {
          tried.push(`${endpoint.host} ${String(endpoint.port)}`);
          if (endpoint.port !== 9002) return Promise.reject(new Error("connection refused"));
          return transport.connect(endpoint, ...rest);
        },
      }),
    });
    await client.connect();
    expect(tried).toEqual(["127.0.0.1 8090", "127.0.0.1 9001", "::1 9002"]);
    expect(node.dials).toBe(1);
    expect(client.getConnectionInfo()).toEqual({ protocol: "tcp", serverAddress: "[::1]:9002" });
  });
});

describe("who is signed in", () => {
  test("a login signs the earlier user out first and makes a new identity on the same connection", async () => {
    const { node, client } = setUp();
    await client.connect();
    await client.session.login({ username: "other", password: "secret" });
    expect(node.received.map(({ code }) => code)).toEqual([
      loginRegister.code,
      getClusterMetadata.code,
      logoutUser.code,
      loginRegister.code,
      getClusterMetadata.code,
    ]);
    expect(node.dials).toBe(1);
    expect(node.of(loginRegister)[0]?.header.client).not.toBe(node.of(loginRegister)[1]?.header.client);
  });

  test("an explicit login is what signs in again after the session was lost", async () => {
    const { node, client } = setUp();
    await client.session.login({ username: "other", password: "secret" });
    refuseFirst(node, bindSession, (r) => node.refuse(r, 40));
    node.dropAll();
    await client.stream.list();
    expect(node.of(loginRegister).map((r) => loginOf(r).username)).toEqual(["other", "other"]);
  });

  test("a committed change of the own password is remembered", async () => {
    const { node, client } = setUp();
    await client.connect();
    await client.user.changePassword({ userId: "iggy", currentPassword: "iggy", newPassword: "newpass" });
    expect(node.of(changePassword)).toHaveLength(1);
    refuseFirst(node, bindSession, (r) => node.refuse(r, 40));
    node.dropAll();
    await client.stream.list();
    expect(node.of(loginRegister).map((r) => loginOf(r).password)).toEqual(["iggy", "newpass"]);
  });

  test("work of an earlier sign-in never runs under a later one", async () => {
    const { node, client } = setUp();
    await client.connect();
    let held: Received | undefined;
    node.handler = (received) => {
      if (received.code === getStream.code && held === undefined) held = received;
      else node.answer(received);
    };
    const work = client.stream.get({ streamId: 1 }).catch((e: unknown) => e);
    await node.until(getStream, 1);
    const login = client.session.login({ username: "other", password: "secret" });
    // A call that is made during the login belongs to the new user.
    const during = client.stream.get({ streamId: 2 });
    await login;
    await during;
    node.dropAll();
    expect(await work).toBeInstanceOf(UnauthenticatedError);
    expect(node.of(getStream)).toHaveLength(2);
  });

  test("two logins at the same time: the later one is who is signed in", async () => {
    const { node, client } = setUp();
    node.userId = 1;
    await client.connect();
    await Promise.all([
      client.session.login({ username: "first", password: "secret" }),
      client.session.login({ username: "second", password: "secret" }),
    ]);
    await client.stream.list();
    expect(loginOf(node.of(loginRegister).at(-1)).username).toBe("second");
    const last = node.received.at(-1);
    expect(last?.header.client).toBe(node.of(loginRegister).at(-1)?.header.client);
  });

  test("a refused login leaves the client signed out", async () => {
    const { node, client } = setUp();
    await client.connect();
    refuseFirst(node, loginRegister, ({ wire }) => node.evict(wire, "InvalidCredentials"));
    await expect(client.session.login({ username: "other", password: "wrong" })).rejects.toBeInstanceOf(
      InvalidCredentialsError,
    );
    await expect(client.stream.list()).rejects.toBeInstanceOf(UnauthenticatedError);
    expect(node.of(loginRegister)).toHaveLength(2);
  });

  test("disconnect ends the session; connect starts over with the configured credentials", async () => {
    const { node, client } = setUp();
    await client.session.login({ username: "other", password: "secret" });
    await client.disconnect();
    await client.disconnect();
    expect(node.of(logoutUser)).toHaveLength(1);
    await expect(client.stream.list()).rejects.toBeInstanceOf(DisconnectedError);
    await expect(client.system.ping()).rejects.toMatchObject({ code: 61 });
    await client.connect();
    expect(loginOf(node.of(loginRegister).at(-1)).username).toBe("iggy");
  });

  test("a closed client refuses everything", async () => {
    const { client } = setUp();
    await client.connect();
    await client.close();
    await client.close();
    await expect(client.stream.list()).rejects.toBeInstanceOf(ClientShutdownError);
    await expect(client.connect()).rejects.toBeInstanceOf(ClientShutdownError);
    await expect(client.session.login({ username: "iggy", password: "iggy" })).rejects.toBeInstanceOf(
      ClientShutdownError,
    );
  });

  test("a server that does not answer a farewell does not hold the close up", async () => {
    const { node, client } = setUp();
    await client.connect();
    node.handler = (received) => {
      if (received.code !== logoutUser.code) node.answer(received);
    };
    const started = performance.now();
    await client.close();
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
