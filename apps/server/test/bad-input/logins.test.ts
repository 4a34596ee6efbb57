import {
  bindSession,
  createPersonalAccessToken,
  createStream,
  createUser,
  deletePersonalAccessToken,
  deleteUser,
  encodeRequest,
  ErrorCode,
  EvictionReason,
  getMe,
  loginRegister,
  loginRegisterWithPat,
  logoutUser,
  changePassword,
  namedId,
  numericId,
  OptionScope,
  optionString,
  packVersion,
  ping,
  PROTOCOL_VERSION,
  updateResource,
} from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  type Answer,
  eventually,
  freshName,
  outcome,
  randomU128,
  RawLink,
  RawSession,
  root,
  versionInfo,
} from "../raw-client/index.js";

let server: RunningServer;
let admin: RawSession;
const links: RawLink[] = [];

beforeAll(async () => {
  server = await startServer();
  admin = await RawSession.open(server.port);
});
afterEach(async () => {
  for (const link of links.splice(0)) await link.end();
});
afterAll(async () => {
  await admin.close();
  await server.close();
});

async function connect(): Promise<RawLink> {
  const link = await RawLink.connect(server.port);
  links.push(link);
  return link;
}

const newcomer = async (): Promise<RawSession> => new RawSession(await connect());

const password = "s3cret";

async function newUser(): Promise<{ readonly username: string; readonly password: string; readonly id: number }> {
  const username = freshName("user");
  const status = 1;
  const { user } = await admin.call(createUser, { username, password, status, permissions: null, options: [] });
  return { username, password, id: user.id };
}

const setStatus = (userId: number, status: "active" | "inactive"): Promise<unknown> =>
  admin.call(updateResource, {
    target: { scope: OptionScope.user, userId: numericId(userId) },
    reset: [],
    options: [optionString("status", status)],
  });

const loginBody = (username: string, secret: string, protocolVersion = PROTOCOL_VERSION): Uint8Array =>
  encodeRequest(loginRegister, {
    versionInfo: { ...versionInfo, protocolVersion },
    bindSecret: new Uint8Array(32),
    username,
    password: secret,
    clientContext: null,
  });

const sentAs = async (body: Uint8Array): Promise<Answer> => {
  const session = await newcomer();
  return session.link.ask(session.registerFrame(body));
};

describe("protocol versions", () => {
  const others = [
    packVersion({ major: 0, minor: 12, patch: 1 }),
    packVersion({ major: 0, minor: 12, patch: 3 }),
    packVersion({ major: 0, minor: 11, patch: 0 }),
    packVersion({ major: 0, minor: 13, patch: 0 }),
    packVersion({ major: 1, minor: 12, patch: 2 }),
    0,
    0xffff_ffff,
    PROTOCOL_VERSION + 2 ** 30,
  ];

  it.each(others)(
    "%i is refused with the window of versions that are served, before anything else is read",
    async (version) => {
      const body = loginBody(root.username, root.password, version);
      const token = encodeRequest(loginRegisterWithPat, {
        versionInfo: { ...versionInfo, protocolVersion: version },
        bindSecret: new Uint8Array(32),
        token: "none",
        clientContext: null,
      });
      const cut = body.subarray(0, 4 + 11 + 6);
      for (const answer of [await sentAs(body), await sentAs(token), await sentAs(cut)]) {
        expect(answer).toMatchObject({
          kind: "evicted",
          reason: EvictionReason.IncompatibleProtocol,
          header: { serverProtocolVersion: 12_290, serverProtocolVersionMin: 12_290 },
        });
      }
    },
  );

  it("of a bind are judged alike", async () => {
    const identity = { clientId: admin.client, session: admin.session, metadataWatermark: 0n };
    const foreign = { ...versionInfo, protocolVersion: 1 };
    const body = encodeRequest(bindSession, { versionInfo: foreign, identity, bindSecret: admin.secret });
    const link = await connect();
    expect(await link.ask(admin.frame(bindSession, body))).toMatchObject({
      reason: EvictionReason.IncompatibleProtocol,
      header: { serverProtocolVersion: 12_290, serverProtocolVersionMin: 12_290 },
    });
  });
});

describe("passwords", () => {
  it("unknown user, wrong password, inactive user and lengths out of bounds look alike", async () => {
    const active = await newUser();
    const inactive = await newUser();
    await setStatus(inactive.id, "inactive");
    const bodies = [
      loginBody("nobody-of-that-name", password),
      loginBody(active.username, "wrong"),
      loginBody(inactive.username, inactive.password),
      loginBody(inactive.username, "wrong"),
      loginBody("ab", password),
      loginBody("x".repeat(51), password),
      loginBody(active.username, "ab"),
      loginBody(active.username, "x".repeat(101)),
    ];
    for (const body of bodies) expect(outcome(await sentAs(body))).toBe("eviction 9");
  });

  it("and cost alike", async () => {
    const active = await newUser();
    const inactive = await newUser();
    await setStatus(inactive.id, "inactive");
    const kinds = new Map([
      ["unknown user", loginBody("nobody-of-that-name", password)],
      ["wrong password", loginBody(active.username, "wrong")],
      ["inactive user", loginBody(inactive.username, inactive.password)],
      ["out of bounds", loginBody("ab", password)],
    ]);
    const times = new Map<string, number[]>([...kinds.keys()].map((kind) => [kind, []]));
    for (let round = 0; round < 9; round++) {
      for (const [kind, body] of kinds) {
        const session = await newcomer();
        const startedAt = performance.now();
        await session.link.ask(session.registerFrame(body));
        times.get(kind)?.push(performance.now() - startedAt);
      }
    }
    const medians = [...times.values()].map((values) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0);
    // A comparison that is left out would show as a factor of ten and more.
    expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(3);
  });

  it("a changed password is the only one that signs in, and sessions go on", async () => {
    const user = await newUser();
    const session = await RawSession.open(server.port, user);
    links.push(session.link);
    const change = { userId: numericId(user.id), currentPassword: password, newPassword: "other" };
    expect(await session.try(changePassword, { ...change, currentPassword: "wrong" })).toBe("result 42");
    await session.call(changePassword, change);
    expect(await session.try(getMe, {})).toBe("ok");
    expect(outcome(await sentAs(loginBody(user.username, password)))).toBe("eviction 9");
    expect(outcome(await sentAs(loginBody(user.username, "other")))).toBe("ok");
  });
});

describe("tokens", () => {
  async function tokenOf(
    session: RawSession,
    expiryMicros = 0n,
  ): Promise<{ readonly name: string; readonly token: string }> {
    const name = freshName("token");
    const { token } = await session.call(createPersonalAccessToken, { name, expiry: expiryMicros });
    return { name, token };
  }

  it("sign in, unless unknown, expired or deleted: eviction 10", async () => {
    const { token, name } = await tokenOf(admin);
    expect(outcome(await (await newcomer()).loginWithToken(token))).toBe("ok");
    const expired = await tokenOf(admin, 1n);
    expect(outcome(await (await newcomer()).loginWithToken(expired.token))).toBe("eviction 10");
    await admin.call(deletePersonalAccessToken, { name });
    expect(outcome(await (await newcomer()).loginWithToken(token))).toBe("eviction 10");
    for (const unknown of ["x", "x".repeat(255), token.slice(0, -1)]) {
      expect(outcome(await (await newcomer()).loginWithToken(unknown))).toBe("eviction 10");
    }
  });

  it("of an inactive user: eviction 11; of a deleted one: eviction 10", async () => {
    const user = await newUser();
    const session = await RawSession.open(server.port, user);
    links.push(session.link);
    const { token } = await tokenOf(session);
    await setStatus(user.id, "inactive");
    expect(outcome(await (await newcomer()).loginWithToken(token))).toBe("eviction 11");
    await setStatus(user.id, "active");
    expect(outcome(await (await newcomer()).loginWithToken(token))).toBe("ok");
    await admin.call(deleteUser, { userId: numericId(user.id) });
    expect(outcome(await (await newcomer()).loginWithToken(token))).toBe("eviction 10");
  });
});

describe("registrations", () => {
  it("answer user, session, version, and positions of the log", async () => {
    const session = await newcomer();
    const answer = await session.login();
    const reply = session.decoded(loginRegister, answer);
    expect(reply).toMatchObject({ userId: 0, serverProtocolVersion: PROTOCOL_VERSION, serverVersion: "0.10.0" });
    expect(answer).toMatchObject({
      header: { client: session.client, request: 0, requestChecksum: session.registerChecksum, operation: 1 },
    });
    const header = answer.kind === "ok" ? answer.header : undefined;
    expect(BigInt(header?.op ?? 0)).toBe(reply.session);
    expect(header?.commit).toBeGreaterThanOrEqual(header?.op ?? Infinity);
  });

  it("that repeat identity, secret and user answer the first session, also on another connection", async () => {
    const session = await newcomer();
    await session.login();
    const first = session.session;
    const bound = session.link;
    session.link = await connect();
    await session.login();
    expect(session.session).toBe(first);
    session.link = bound;
    expect(await session.try(getMe, {})).toBe("ok");
  });

  it("on a bound connection change nothing, whoever they name", async () => {
    const user = await newUser();
    const session = await newcomer();
    await session.login();
    const before = session.session;
    const other = new RawSession(session.link);
    expect(outcome(await other.login(user))).toBe("ok");
    expect([other.session, other.userId]).toEqual([before, 0]);
  });

  it("with the client id of someone else, or another secret: eviction 12", async () => {
    const user = await newUser();
    const thief = new RawSession(await connect(), admin.client, admin.secret);
    expect(outcome(await thief.login(user))).toBe("eviction 12");
    const other = new RawSession(await connect(), admin.client);
    expect(outcome(await other.login())).toBe("eviction 12");
    expect(await admin.try(getMe, {})).toBe("ok");
  });

  it("of a second kind while the first is under way are told to come back", async () => {
    const session = await newcomer();
    const frame = session.registerFrame(loginBody(root.username, root.password));
    const answers = [session.link.answerTo(0), session.link.answerTo(0)];
    session.link.write(Buffer.concat([frame, frame]));
    expect((await Promise.all(answers)).map(outcome).sort()).toEqual(["ok", "result 58"]);
  });

  it("in a crowd: everyone gets in, some on a later try", async () => {
    const crowd = await Promise.all(Array.from({ length: 100 }, newcomer));
    const enter = async (session: RawSession): Promise<void> => {
      for (;;) {
        const answer = outcome(await session.login());
        if (answer === "ok") return;
        expect(answer).toBe("result 58");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    await Promise.all(crowd.map(enter));
    expect(new Set(crowd.map(({ session }) => session)).size).toBe(100);
  });

  it("whose connection is gone meanwhile leave no connection behind", async () => {
    const session = await newcomer();
    session.link.write(session.registerFrame(loginBody(root.username, root.password)));
    await session.link.reset();
    const other = await newcomer();
    expect(outcome(await other.login())).toBe("ok");
  });
});

describe("binds", () => {
  const refused = `status ${ErrorCode.Unauthenticated}`;

  it("with a wrong secret, client or session are refused with 40, and the connection can sign in", async () => {
    const wrongSecret = new RawSession(await connect(), admin.client);
    expect(outcome(await wrongSecret.bind(wrongSecret.link, { session: admin.session }))).toBe(refused);
    const unknown = await newcomer();
    expect(outcome(await unknown.bind(unknown.link, { session: admin.session }))).toBe(refused);
    const again = new RawSession(await connect(), admin.client, admin.secret);
    for (const session of [admin.session - 1n, admin.session + 1n, 2n ** 64n - 1n]) {
      expect(outcome(await again.bind(again.link, { session }))).toBe(refused);
    }
    expect(outcome(await again.login())).toBe("ok");
  });

  it("with session 0 find the session of the client", async () => {
    const again = new RawSession(await connect(), admin.client, admin.secret);
    expect(outcome(await again.bind(again.link, { session: 0n }))).toBe("ok");
    expect(again.session).toBe(admin.session);
  });

  it("ahead of this node's metadata are refused with 58 well before the client gives up", async () => {
    const ahead = new RawSession(await connect(), admin.client, admin.secret);
    ahead.watermark = 1_000_000;
    const startedAt = performance.now();
    expect(outcome(await ahead.bind(ahead.link, { session: admin.session }))).toBe("status 58");
    expect(performance.now() - startedAt).toBeLessThan(6500);
  });
});

describe("sessions that end", () => {
  interface Bound {
    readonly session: RawSession;
    readonly other: RawLink;
  }
  /** A session on two connections. */
  async function twofold(credentials = root): Promise<Bound> {
    const session = await newcomer();
    expect(outcome(await session.login(credentials))).toBe("ok");
    const { link } = session;
    const other = await connect();
    expect(outcome(await session.bind(other))).toBe("ok");
    session.link = link;
    return { session, other };
  }

  /** Reads are refused, writes evicted, a bind refused, on whichever connection. */
  async function expectEnded({ session, other }: Bound): Promise<void> {
    expect(outcome(await other.ask(session.frame(getMe, new Uint8Array(0))))).toBe("status 40");
    expect(outcome(await other.ask(session.frame(ping, new Uint8Array(0))))).toBe("ok");
    const write = encodeRequest(createStream, { name: "never", options: [] });
    expect(outcome(await other.ask(session.frame(createStream, write)))).toBe("eviction 1");
    expect(outcome(await session.bind(await connect()))).toBe("status 40");
  }

  it("by logout, on every connection; the one that asked may sign in again", async () => {
    const bound = await twofold();
    expect(await bound.session.try(logoutUser, {})).toBe("ok");
    const { link } = bound.session;
    await expectEnded(bound);
    const again = new RawSession(link);
    expect(outcome(await again.login())).toBe("ok");
  });

  it("logout needs no session, and none but its own", async () => {
    const unbound = await newcomer();
    expect(outcome(await unbound.send(logoutUser, new Uint8Array(0), { session: 5 }))).toBe("ok");
    const { session } = await twofold();
    for (const overrides of [{ client: randomU128() }, { session: session.session + 1n }]) {
      expect(outcome(await session.send(logoutUser, new Uint8Array(0), overrides))).toBe("status 40");
    }
    expect(await session.try(getMe, {})).toBe("ok");
  });

  it("by deactivation of their user", async () => {
    const user = await newUser();
    const bound = await twofold(user);
    await setStatus(user.id, "inactive");
    await expectEnded(bound);
  });

  it("by deletion of their user", async () => {
    const user = await newUser();
    const bound = await twofold(user);
    await admin.call(deleteUser, { userId: namedId(user.username) });
    await expectEnded(bound);
  });

  it("free their client id for a new session with a higher epoch, which fences the old one", async () => {
    const { session } = await twofold();
    const before = session.session;
    await session.call(logoutUser, {});
    await eventually("the session is retired", async () => outcome(await session.login()) === "ok");
    expect(session.session).toBeGreaterThan(before);
    const old = session.frame(getMe, new Uint8Array(0), { session: before });
    expect(outcome(await session.link.ask(old))).toBe("eviction 7");
  });
});

describe("a full session table", () => {
  it("refuses new sessions as retryable, keeps the live ones, and takes new ones when one has ended", async () => {
    await using small = await startServer({ config: { "metadata.clients_table_max": 2 } });
    const open = async (): Promise<RawSession> => {
      const session = new RawSession(await RawLink.connect(small.port));
      links.push(session.link);
      return session;
    };
    const [one, two, three] = [await open(), await open(), await open()];
    expect(outcome(await one.login())).toBe("ok");
    expect(outcome(await two.login())).toBe("ok");
    expect(outcome(await three.login())).toBe("result 58");
    expect(await one.try(getMe, {})).toBe("ok");
    await two.call(logoutUser, {});
    await eventually("the slot is free", async () => outcome(await three.login()) === "ok");
  });
});

it("a login body that is both a password's and a token's is judged as a token: one with an empty password", async () => {
  expect(outcome(await sentAs(loginBody(root.username, "")))).toBe("eviction 10");
});
