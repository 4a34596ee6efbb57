import {
  createStream,
  createTopic,
  createUser,
  decode,
  deleteStream,
  encode,
  ErrorCode,
  EvictionReason,
  loginRegister,
  logoutUser,
  Operation,
  PROTOCOL_VERSION,
  updateResource,
  OptionScope,
  optionString,
} from "@iggy/protocol";
import {
  bindVerifier,
  loginEviction,
  MetadataMachine,
  type Session,
  registration,
  registrationEviction,
  Refusal,
} from "@iggy/engine";
import { beforeEach, describe, expect, it } from "vitest";
import { id, secretOf, startMicros, type TestClient, TestNode } from "./node.js";

let node: TestNode;
let root: TestClient;
beforeEach(() => {
  node = new TestNode();
  root = node.signIn();
});

const rootAccount = { userId: 0, userCreatedAtMicros: startMicros + 1 };
const bind = (client: TestClient, over: Partial<{ session: bigint; secret: Uint8Array; watermark: bigint }> = {}) =>
  node.machine.sessionToBind(
    {
      clientId: client.client,
      session: over.session ?? BigInt(client.session),
      metadataWatermark: over.watermark ?? 0n,
    },
    over.secret ?? secretOf(client.client),
  );
const check = (request: number, over: Partial<{ session: number; operation: number; client: bigint }> = {}) =>
  node.machine.checkRequest({
    client: root.client,
    session: root.session,
    operation: Operation.CreateStream,
    ...over,
    request,
  });
const end = (client: bigint): Session => {
  const session = node.machine.session(client);
  if (session === undefined) throw new Error("no session");
  return session;
};

describe("registering", () => {
  it("answers the op of the registration as the session", () => {
    const applied = node.register(0, 9n);
    const session = node.machine.appliedOp;
    expect(decode(loginRegister.response, applied.payload)).toEqual({
      userId: 0,
      session: BigInt(session),
      serverProtocolVersion: PROTOCOL_VERSION,
      serverVersion: "0.10.0",
    });
    expect(applied.effects).toEqual([{ kind: "session-registered", clientId: 9n, session, userId: 0 }]);
    expect(node.machine.isLiveSession(9n, session)).toBe(true);
  });

  it("answers the same session to the same proof, and moves nothing", () => {
    const first = node.register(0, 9n);
    const again = node.register(0, 9n);
    expect(again).toEqual({ ...first, effects: [] });
  });

  it("refuses the client id of someone else, and another secret", async () => {
    const alice = await newUser("alice");
    node.register(0, 9n);
    expect(node.register(alice, 9n).code).toBe(ErrorCode.InvalidClientId);
    expect(node.register(0, 9n, new Uint8Array(32).fill(1)).code).toBe(ErrorCode.InvalidClientId);
    expect(node.machine.registrationRefusal(9n, rootAccount, secretOf(9n))).toBeUndefined();
    expect(node.machine.registrationRefusal(9n, rootAccount, secretOf(8n))).toBe(ErrorCode.InvalidClientId);
    expect(registrationEviction(ErrorCode.InvalidClientId)).toBe(EvictionReason.SessionError);
  });

  it("refuses an account that changed since its credentials were verified", async () => {
    const alice = await newUser("alice");
    const stale = registration({ userId: alice, userCreatedAtMicros: 5 }, secretOf(9n));
    const apply = (userId: number) =>
      node.machine.apply({
        op: node.machine.appliedOp + 1,
        timestampMicros: ++node.nowMicros,
        checksum: 1n,
        operation: Operation.Register,
        client: 9n,
        session: 0,
        request: 0,
        requestChecksum: 0n,
        view: 0,
        userId,
        body: stale.body,
      });
    expect(apply(alice).code).toBe(ErrorCode.Unauthenticated);
    expect(apply(99).code).toBe(ErrorCode.Unauthenticated);
    await node.do(root, updateResource, {
      target: { scope: OptionScope.user, userId: id(alice) },
      reset: [],
      options: [optionString("status", "inactive")],
    });
    expect(node.register(alice, 9n).code).toBe(ErrorCode.Unauthenticated);
    expect(registrationEviction(ErrorCode.Unauthenticated)).toBe(EvictionReason.SessionError);
  });

  it("has so many places as the first operation fixed, and frees them by retirement alone", async () => {
    node = new TestNode({ clientsTableMax: 2 });
    root = node.signIn();
    const second = node.signIn();
    expect(node.register(0, 77n).code).toBe(ErrorCode.TransientNotAccepted);
    expect(node.machine.registrationRefusal(77n, rootAccount, secretOf(77n))).toBe(ErrorCode.TransientNotAccepted);
    expect(registrationEviction(ErrorCode.TransientNotAccepted)).toBeUndefined();
    await node.send(second, logoutUser, {});
    expect(node.register(0, 77n).code).toBe(ErrorCode.TransientNotAccepted);
    // The ended session's own client id is not free either.
    expect(node.register(0, second.client).code).toBe(ErrorCode.TransientNotAccepted);
    expect(node.machine.finalizations(() => false)).toEqual([]);
    for (const operation of node.machine.finalizations(() => true)) node.applyServer(operation);
    expect(node.register(0, second.client).code).toBe(0);
    expect(end(second.client).epoch).toBeGreaterThan(second.session);
    expect(node.register(0, 77n).code).toBe(ErrorCode.TransientNotAccepted);
  });

  it("keeps the capacity of the first operation when the configured one changes", () => {
    node = new TestNode({ clientsTableMax: 1 });
    root = node.signIn();
    node.machine = MetadataMachine.restore(node.machine.snapshot(), { ...node.config, clientsTableMax: 100 });
    expect(node.register(0, 77n).code).toBe(ErrorCode.TransientNotAccepted);
  });

  it("lets the header of the first operation decide the capacity", () => {
    const [first] = node.log;
    if (first === undefined) throw new Error("no log");
    node.machine = new MetadataMachine(node.config);
    node.machine.apply({ ...first, retryCapacity: 1 });
    expect(node.register(0, 76n).code).toBe(0);
    expect(node.register(0, 77n).code).toBe(ErrorCode.TransientNotAccepted);
  });
});

async function newUser(username: string): Promise<number> {
  const reply = await node.do(root, createUser, {
    username,
    password: "password-1",
    status: 1,
    permissions: null,
    options: [],
  });
  return reply.user.id;
}

describe("binding a connection", () => {
  it("takes the secret of the registration, and finds a session whose number is lost", () => {
    expect(bind(root)).toMatchObject({ epoch: root.session, userId: 0 });
    expect(bind(root, { session: 0n })).toMatchObject({ epoch: root.session });
    expect(bindVerifier(secretOf(root.client))).toEqual(end(root.client).verifier);
  });

  it.each([
    ["another secret", { secret: new Uint8Array(32) }, 40],
    ["a secret of another length", { secret: new Uint8Array(3) }, 40],
    ["another session", { session: 999n }, 40],
    ["metadata that this node has not applied", { watermark: 999n }, 58],
  ])("refuses %s", (_what, over, code) => {
    const refused = bind(root, over);
    expect(refused).toBeInstanceOf(Refusal);
    expect(refused).toMatchObject({ code });
  });

  it("waits for a session that this node may not have seen yet, and not for a wrong proof", () => {
    expect(bind({ ...root, client: 5n }, { watermark: 999n })).toMatchObject({ code: 58 });
    expect(bind(root, { secret: new Uint8Array(32), watermark: 999n })).toMatchObject({ code: 40 });
  });

  it("refuses an unknown client, an ended session and an inactive user alike", async () => {
    expect(bind({ ...root, client: 5n })).toMatchObject({ code: 40 });
    const alice = await newUser("alice");
    const client = node.signIn(alice);
    expect(bind(client)).toMatchObject({ userId: alice });
    node.applyServer(node.machine.sessionExpiry(end(client.client)));
    expect(bind(client)).toMatchObject({ code: 40 });
  });
});

describe("requests of a session", () => {
  it("are new above the highest number that was applied", async () => {
    expect(check(1)).toEqual({ kind: "new" });
    root.request = 40;
    await node.stream(root, "s");
    expect(check(42)).toEqual({ kind: "new" });
    expect(check(41)).toMatchObject({ kind: "replay" });
  });

  it("are answered from their receipts, refusals as well", async () => {
    const created = await node.send(root, createStream, { name: "s", options: [] });
    await node.send(root, createStream, { name: "s", options: [] });
    expect(check(1)).toEqual({
      kind: "replay",
      reply: {
        request: 1,
        requestChecksum: 1n,
        op: node.machine.appliedOp - 1,
        timestampMicros: node.nowMicros - 1,
        operation: Operation.CreateStream,
        view: 0,
        code: 0,
        payload: created.payload,
      },
    });
    expect(check(2)).toMatchObject({ kind: "replay", reply: { code: ErrorCode.StreamNameAlreadyExists } });
  });

  it("are known under the operation that the client sent", async () => {
    await node.stream(root, "s");
    await node.topic(root, 0, "t");
    expect(check(2, { operation: Operation.CreateTopic })).toMatchObject({
      kind: "replay",
      reply: { operation: Operation.CreateTopicWithAssignments },
    });
    expect(check(2, { operation: Operation.CreateStream })).toEqual({ kind: "deny", code: ErrorCode.InvalidCommand });
  });

  it("keep five receipts, and know nothing of older numbers", async () => {
    for (const name of ["a", "b", "c", "d", "e", "f"]) await node.stream(root, name);
    expect(check(1)).toEqual({ kind: "deny", code: ErrorCode.RequestTooOld });
    expect(check(2)).toMatchObject({ kind: "replay" });
  });

  it("keep the newest reply however large, and older ones within a budget", async () => {
    await node.stream(root, "s");
    for (const name of ["a", "b"]) await node.topic(root, 0, name, 1000);
    const creates = { operation: Operation.CreateTopic };
    expect(check(3, creates)).toMatchObject({ kind: "replay" });
    expect(check(2, creates)).toEqual({ kind: "deny", code: ErrorCode.RequestAlreadyApplied });
    await node.stream(root, "z");
    expect(check(3, creates)).toEqual({ kind: "deny", code: ErrorCode.RequestAlreadyApplied });
  });

  it("are fenced by the epoch", async () => {
    expect(check(1, { client: 5n })).toEqual({ kind: "evict", reason: EvictionReason.NoSession });
    expect(check(1, { session: root.session - 1 })).toEqual({
      kind: "evict",
      reason: EvictionReason.SessionTooLow,
    });
    expect(check(1, { session: root.session + 1 })).toEqual({ kind: "deny", code: ErrorCode.InvalidSession });
    await node.send(root, logoutUser, {});
    expect(check(9)).toEqual({ kind: "evict", reason: EvictionReason.NoSession });
  });

  it("never run twice, even when they are ordered twice", async () => {
    await node.stream(root, "s");
    const body = encode(deleteStream.request, { streamId: id("s") });
    const first = node.applyRaw(root, Operation.DeleteStream, body, 2);
    await node.stream(node.signIn(), "s");
    const second = node.applyRaw(root, Operation.DeleteStream, body, 2);
    expect(second).toEqual({ ...first, effects: [] });
    expect(node.machine.totals(node.stats).streamsCount).toBe(1);
  });

  it("are refused when their session ended while they waited", () => {
    const client = node.signIn();
    node.applyServer(node.machine.sessionExpiry(end(client.client)));
    const body = encode(createTopic.request, { streamId: id(0), partitionsCount: 1, name: "t", options: [] });
    expect(node.applyRaw(client, Operation.CreateTopic, body).code).toBe(ErrorCode.Unauthenticated);
    const impostor = { ...root, userId: 3 };
    expect(node.applyRaw(impostor, Operation.CreateStream, new Uint8Array(0)).code).toBe(ErrorCode.Unauthenticated);
    expect(node.applyRaw({ ...root, session: 1 }, Operation.CreateStream, new Uint8Array(0)).code).toBe(
      ErrorCode.Unauthenticated,
    );
  });
});

describe("the end of a session", () => {
  it("comes with a logout, once", async () => {
    const { effects, code } = await node.send(root, logoutUser, {});
    expect(code).toBe(0);
    expect(effects).toEqual([
      { kind: "session-ended", clientId: root.client, session: root.session, userId: 0, reason: "logout" },
    ]);
    const again = node.applyRaw(root, Operation.Logout, new Uint8Array(0));
    expect(again).toEqual({ code: 0, payload: new Uint8Array(0), effects: [] });
  });

  it("comes with the lease, for that epoch alone", () => {
    const old = end(root.client);
    const { effects } = node.applyServer(node.machine.sessionExpiry(old));
    expect(effects).toMatchObject([{ kind: "session-ended", reason: "expired" }]);
    for (const operation of node.machine.finalizations(() => true)) node.applyServer(operation);
    node.register(0, root.client);
    expect(node.applyServer(node.machine.sessionExpiry(old)).effects).toEqual([]);
    expect(node.machine.session(root.client)).toBeDefined();
  });

  it("can't be brought about by a client in the name of the server", () => {
    const expiry = node.machine.sessionExpiry(end(root.client));
    const { effects } = node.applyRaw(root, Operation.Logout, expiry.body);
    expect(effects).toMatchObject([{ kind: "session-ended", reason: "logout" }]);
  });

  it("is final only for the set of partitions that it was proven for", async () => {
    const client = node.signIn();
    await node.send(client, logoutUser, {});
    const [finalization] = node.machine.finalizations(() => true);
    if (finalization === undefined) throw new Error("nothing to finalize");
    await node.stream(root, "s");
    await node.topic(root, 0, "t");
    expect(node.applyServer(finalization).code).toBe(ErrorCode.LifecycleBusy);
    const [again] = node.machine.finalizations(() => true);
    if (again === undefined) throw new Error("nothing to finalize");
    expect(node.applyServer(again).code).toBe(0);
    expect(node.machine.finalizations(() => true)).toEqual([]);
    expect(node.applyServer(again).code).toBe(0);
    expect(node.applyRaw(root, Operation.FinalizeSession, again.body).code).toBe(ErrorCode.InvalidCommand);
  });

  it("never finalizes a live session", () => {
    expect(node.machine.finalizations(() => true)).toEqual([]);
    expect([...node.machine.sessions()].map((session) => session.clientId)).toEqual([root.client]);
  });
});

describe("signing in with a password", () => {
  const secrets = () => {
    const calls: (string | undefined)[] = [];
    return {
      calls,
      ...node.secrets,
      verifyPassword: (password: string, hash: string | undefined) => {
        calls.push(hash);
        return node.secrets.verifyPassword(password, hash);
      },
    };
  };

  it("gives the account", async () => {
    const { kind, ...rest } = await node.machine.authenticatePassword(node.secrets, "iggy", "iggy");
    expect(kind).toBe("account");
    expect(rest).toEqual({ account: rootAccount });
  });

  it.each([
    ["an unknown user", "nobody", "password", "unknown-user"],
    ["a wrong password", "iggy", "ziggy", "wrong-password"],
    ["a short name", "ig", "iggy", "out-of-bounds"],
    ["a long password", "iggy", "x".repeat(101), "out-of-bounds"],
  ])("costs one comparison for %s too, and looks alike outside", async (_what, username, password, reason) => {
    const counted = secrets();
    const refused = await node.machine.authenticatePassword(counted, username, password);
    expect(refused).toEqual({ kind: "refused", reason });
    expect(counted.calls).toHaveLength(1);
    expect(loginEviction(reason as "unknown-user")).toBe(EvictionReason.InvalidCredentials);
  });

  it("ends with its own reasons for tokens", () => {
    expect(loginEviction("unknown-token")).toBe(EvictionReason.InvalidToken);
    expect(loginEviction("expired-token")).toBe(EvictionReason.InvalidToken);
    expect(loginEviction("inactive-token-owner")).toBe(EvictionReason.UserInactive);
  });
});
