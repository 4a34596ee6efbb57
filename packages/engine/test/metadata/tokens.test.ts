import {
  createPersonalAccessToken,
  createUser,
  decode,
  deletePersonalAccessToken,
  deleteUser,
  ErrorCode,
  getPersonalAccessTokens,
  Operation,
  optionString,
  OptionScope,
  U64_MAX,
  updateResource,
} from "@iggy/protocol";
import { tokenHash } from "@iggy/engine";
import { beforeEach, describe, expect, it } from "vitest";
import { id, type TestClient, TestNode } from "./node.js";

let node: TestNode;
let root: TestClient;
beforeEach(() => {
  node = new TestNode();
  root = node.signIn();
});

const create = (name: string, expiry = 0n, by = root) => node.send(by, createPersonalAccessToken, { name, expiry });
const text = (payload: Uint8Array) => decode(createPersonalAccessToken.response, payload).token;
const login = (token: string, nowMicros = node.nowMicros) => node.machine.authenticateToken(token, nowMicros);
const account = { kind: "account", account: { userId: 0, userCreatedAtMicros: expect.any(Number) as number } };

describe("a personal access token", () => {
  it("is shown once, and only its hash enters the log", async () => {
    const { payload } = await create("ci");
    const token = text(payload);
    expect(token).toMatch(/^[A-Za-z0-9+/]{67}=$/);
    const logged = new TextDecoder().decode(node.log.at(-1)?.body);
    expect(logged).toContain(tokenHash(token));
    expect(logged).not.toContain(token);
    expect(login(token)).toEqual(account);
    expect(login(`${token} `)).toEqual({ kind: "refused", reason: "unknown-token" });
  });

  it("hashes as BLAKE3 in lower-case hex", () => {
    expect(tokenHash("")).toBe("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  });

  it("has a name of its own among those of its user", async () => {
    await create("ci");
    expect(await create("ci")).toMatchObject({
      code: ErrorCode.PersonalAccessTokenAlreadyExists,
      isCommitted: true,
    });
    const { user } = await node.do(root, createUser, {
      username: "alice",
      password: "password",
      status: 1,
      permissions: null,
      options: [],
    });
    const alice = node.signIn(user.id);
    expect((await create("ci", 0n, alice)).code).toBe(0);
    expect(node.read(alice, getPersonalAccessTokens, {})).toEqual({ tokens: [{ name: "ci", expiryAt: 0n }] });
    await node.do(alice, deletePersonalAccessToken, { name: "ci" });
    expect(node.read(root, getPersonalAccessTokens, {})).toMatchObject({ tokens: [{ name: "ci" }] });
  });

  it("counts against the limit of its user before its name counts", async () => {
    node = new TestNode({ tokensPerUserMax: 2 });
    root = node.signIn();
    await create("a");
    await create("b");
    expect((await create("b")).code).toBe(ErrorCode.PersonalAccessTokensLimitReached);
    await node.do(root, deletePersonalAccessToken, { name: "a" });
    expect((await create("b")).code).toBe(ErrorCode.PersonalAccessTokenAlreadyExists);
  });

  it("expires so long after it was committed, or never", async () => {
    const token = text((await create("hour", 3_600_000_000n)).payload);
    const expiry = node.nowMicros + 3_600_000_000;
    for (const [name, never] of [
      ["zero", 0n],
      ["max", U64_MAX],
    ] as const) {
      await create(name, never);
    }
    expect(node.read(root, getPersonalAccessTokens, {})).toEqual({
      tokens: [
        { name: "hour", expiryAt: BigInt(expiry) },
        { name: "max", expiryAt: 0n },
        { name: "zero", expiryAt: 0n },
      ],
    });
    expect(login(token, expiry - 1)).toEqual(account);
    expect(login(token, expiry)).toEqual({ kind: "refused", reason: "expired-token" });
    expect((await create("over", U64_MAX - 1n)).code).toBe(ErrorCode.InvalidPersonalAccessTokenExpiry);
  });

  it("is cleaned up once it has expired, and not one of the same name that replaced it", async () => {
    await create("ci", 1000n);
    await create("forever");
    expect(node.machine.expiredTokens(node.nowMicros)).toEqual([]);
    const [due] = node.machine.expiredTokens(node.nowMicros + 2000);
    if (due === undefined) throw new Error("nothing due");
    await node.do(root, deletePersonalAccessToken, { name: "ci" });
    await create("ci", 1_000_000n);
    expect(node.applyServer(due).code).toBe(0);
    expect(node.read(root, getPersonalAccessTokens, {})).toMatchObject({
      tokens: [{ name: "ci" }, { name: "forever" }],
    });
    node.nowMicros += 2_000_000;
    expect(node.applyServer(due).code).toBe(0);
    expect(node.read(root, getPersonalAccessTokens, {})).toMatchObject({ tokens: [{ name: "forever" }] });
    expect(node.applyServer(due).code).toBe(ErrorCode.ResourceNotFound);
  });

  it("is cleaned up in bounded numbers", async () => {
    for (const name of ["a", "b", "c"]) await create(name, 1n);
    expect(node.machine.expiredTokens(Number.MAX_SAFE_INTEGER, 2)).toHaveLength(2);
  });

  it("goes with its user, and rests while its user is inactive", async () => {
    const { user } = await node.do(root, createUser, {
      username: "alice",
      password: "password",
      status: 1,
      permissions: null,
      options: [],
    });
    const token = text((await create("ci", 0n, node.signIn(user.id))).payload);
    await node.do(root, updateResource, {
      target: { scope: OptionScope.user, userId: id("alice") },
      reset: [],
      options: [optionString("status", "inactive")],
    });
    expect(login(token)).toEqual({ kind: "refused", reason: "inactive-token-owner" });
    await node.do(root, deleteUser, { userId: id("alice") });
    expect(login(token)).toEqual({ kind: "refused", reason: "unknown-token" });
  });

  it("that does not exist can't be deleted", async () => {
    expect(await node.send(root, deletePersonalAccessToken, { name: "ci" })).toMatchObject({
      code: ErrorCode.ResourceNotFound,
      isCommitted: true,
    });
  });

  it("is not told again to a retry of its creation", async () => {
    await create("ci");
    const { client, session, request } = root;
    const check = node.machine.checkRequest({
      client,
      session,
      request,
      operation: Operation.CreatePersonalAccessToken,
    });
    expect(check).toMatchObject({
      kind: "replay",
      reply: { code: ErrorCode.PersonalAccessTokenAlreadyExists, payload: new Uint8Array(0) },
    });
  });
});
