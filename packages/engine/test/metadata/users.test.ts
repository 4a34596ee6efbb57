import {
  changePassword,
  createUser,
  deleteTopic,
  deleteUser,
  encode,
  ErrorCode,
  getUser,
  getUsers,
  noPermissions,
  Operation,
  optionString,
  optionU8,
  OptionScope,
  type Permissions,
  updatePermissions,
  updateResource,
  UserStatus,
} from "@iggy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { id, type TestClient, TestNode } from "./node.js";

let node: TestNode;
let root: TestClient;
beforeEach(() => {
  node = new TestNode();
  root = node.signIn();
});

const PASSWORD = "password-1";
const user = (username: string, permissions: Permissions | null = null, status: number = UserStatus.active) => ({
  username,
  password: PASSWORD,
  status,
  permissions,
  options: [],
});
const create = async (username: string, permissions: Permissions | null = null): Promise<number> =>
  (await node.do(root, createUser, user(username, permissions))).user.id;
const patch = (target: number | string, options: ReturnType<typeof optionString>[], by = root) =>
  node.send(by, updateResource, {
    target: { scope: OptionScope.user, userId: id(target) },
    reset: [],
    options,
  });
const grantOn = (streamId: number, topicId?: number): Permissions => ({
  ...noPermissions,
  streams: [
    {
      streamId,
      manageStream: false,
      readStream: true,
      manageTopics: false,
      readTopics: false,
      pollMessages: false,
      sendMessages: false,
      topics:
        topicId === undefined
          ? []
          : [{ topicId, manageTopic: true, readTopic: false, pollMessages: false, sendMessages: false }],
    },
  ],
});
const shown = (target: number | string) => {
  const reply = node.read(root, getUser, { userId: id(target) });
  if (typeof reply === "number") throw new Error("refused");
  return reply;
};

describe("the first user", () => {
  it("is root, with id 0 and every permission", () => {
    const reply = shown(0);
    expect(reply?.user).toMatchObject({ id: 0, username: "iggy", status: UserStatus.active });
    expect(Object.values(reply?.permissions?.global ?? {})).toEqual(Array(10).fill(true));
    expect(node.machine.logId).toBe(1_000_003n);
  });

  it("can be neither deleted, deactivated, renamed nor stripped", async () => {
    expect(await node.send(root, deleteUser, { userId: id(0) })).toMatchObject({ code: 48, isCommitted: true });
    expect((await node.send(root, updatePermissions, { userId: id("iggy"), permissions: null })).code).toBe(49);
    expect((await patch(0, [optionString("status", "inactive")])).code).toBe(ErrorCode.CannotModifyRootUser);
    expect((await patch(0, [optionString("username", "admin")])).code).toBe(ErrorCode.CannotModifyRootUser);
    expect((await patch(0, [optionString("username", "iggy")])).code).toBe(0);
    const change = { userId: id(0), currentPassword: "iggy", newPassword: "iggy-2" };
    expect((await node.send(root, changePassword, change)).code).toBe(0);
  });
});

describe("creating a user", () => {
  it("keeps the hash, never the password", async () => {
    const { payload } = await node.send(root, createUser, user("alice"));
    expect(payload).toEqual(
      encode(createUser.response, {
        user: {
          id: 1,
          createdAt: BigInt(node.nowMicros),
          status: UserStatus.active,
          username: "alice",
          options: [],
          derivedOptions: [],
        },
        permissions: null,
      }),
    );
    const logged = node.log.at(-1)?.body ?? new Uint8Array(0);
    expect(new TextDecoder().decode(logged)).toContain(`hash of ${PASSWORD}`);
    const stored = new TextDecoder().decode(node.machine.snapshot());
    expect(stored.replaceAll(`hash of ${PASSWORD}`, "")).not.toContain(PASSWORD);
  });

  it("takes the lowest free id", async () => {
    await create("alice");
    await create("bob");
    await node.do(root, deleteUser, { userId: id("alice") });
    expect(await create("carol")).toBe(1);
    expect(node.read(root, getUsers, {})).toMatchObject({
      users: [{ username: "iggy" }, { username: "carol" }, { username: "bob" }],
    });
  });

  it.each([
    ["a name of 2 bytes", { username: "ab" }, 43],
    ["a name of 51 bytes", { username: "x".repeat(51) }, 43],
    ["a password of 2 bytes", { password: "ab" }, 44],
    ["a password of 101 bytes", { password: "x".repeat(101) }, 44],
    ["an unknown status", { status: 3 }, 45],
    ["an option", { options: [optionString("quota", "1")] }, 4041],
    ["a column among the options", { options: [optionString("status", "active")] }, 4042],
    ["a taken name", { username: "iggy" }, 46],
  ])("refuses %s before a hash is computed", async (_what, change, code) => {
    let hashes = 0;
    node.secrets.hashPassword = () => {
      hashes++;
      return Promise.resolve("hash");
    };
    const refused = await node.send(root, createUser, { ...user("dave"), ...change });
    expect(refused).toMatchObject({ code, isCommitted: false });
    expect(hashes).toBe(0);
  });

  it("refuses grants on what does not exist", async () => {
    await node.stream(root, "s");
    expect((await node.send(root, createUser, user("alice", grantOn(7)))).code).toBe(ErrorCode.StreamIdNotFound);
    expect((await node.send(root, createUser, user("alice", grantOn(0, 3)))).code).toBe(ErrorCode.TopicIdNotFound);
    expect(await create("alice", grantOn(0))).toBe(1);
  });

  it("refuses a name that was taken while the password was hashed", async () => {
    const body = encode(createUser.request, user("alice"));
    const slow = await node.resolve({ operation: Operation.CreateUser, client: root.client, userId: 0, body });
    await create("alice");
    if (slow.kind !== "propose") throw new Error("denied");
    expect(node.applyRaw(root, slow.operation, slow.body).code).toBe(ErrorCode.UserAlreadyExists);
  });
});

describe("permissions of a user", () => {
  it("are replaced as a whole, and removed when absent", async () => {
    await node.stream(root, "s");
    await create("alice", grantOn(0));
    const update = (permissions: Permissions | null) =>
      node.send(root, updatePermissions, { userId: id("alice"), permissions });
    const global = { ...noPermissions, global: { ...noPermissions.global, readServers: true } };
    expect((await update(global)).code).toBe(0);
    expect(shown("alice")?.permissions).toEqual(global);
    expect((await update(null)).code).toBe(0);
    expect(shown("alice")?.permissions).toBeNull();
    expect((await update(grantOn(3))).code).toBe(ErrorCode.StreamIdNotFound);
    const missing = { userId: id("missing"), permissions: null };
    expect(await node.send(root, updatePermissions, missing)).toMatchObject({ code: 20, isCommitted: true });
  });

  it("lose their grants with the resource, as ids are used again", async () => {
    await node.stream(root, "s");
    await node.topic(root, 0, "a");
    await node.topic(root, 0, "b");
    await create("alice", grantOn(0, 0));
    await node.do(root, deleteTopic, { streamId: id(0), topicId: id("b") });
    expect(shown("alice")?.permissions?.streams[0]?.topics).toHaveLength(1);
    await node.do(root, deleteTopic, { streamId: id(0), topicId: id("a") });
    expect(shown("alice")?.permissions?.streams).toMatchObject([{ streamId: 0, topics: [] }]);
  });
});

describe("changing a password", () => {
  const change = (by: TestClient, target: number | string, currentPassword: string, newPassword: string) =>
    node.send(by, changePassword, { userId: id(target), currentPassword, newPassword });

  it("needs the current one, whoever asks", async () => {
    const alice = await create("alice");
    const client = node.signIn(alice);
    expect(await change(client, "alice", "password-2", "password-3")).toMatchObject({
      code: ErrorCode.InvalidCredentials,
      isCommitted: true,
    });
    expect((await change(client, alice, PASSWORD, "password-2")).code).toBe(0);
    expect((await change(root, alice, PASSWORD, "password-3")).code).toBe(ErrorCode.InvalidCredentials);
    expect((await change(root, alice, "password-2", "password-3")).code).toBe(0);
    expect(await node.machine.authenticatePassword(node.secrets, "alice", "password-3")).toMatchObject({
      kind: "account",
    });
    expect(node.machine.session(client.client)).toBeDefined();
  });

  it("of another user needs the right to manage users", async () => {
    const client = node.signIn(await create("alice"));
    await create("bob");
    expect(await change(client, "bob", PASSWORD, "password-2")).toMatchObject({ code: 41, isCommitted: true });
    expect(await change(client, "missing", PASSWORD, "password-2")).toMatchObject({ code: 20, isCommitted: true });
  });

  it("keeps to the bounds, and reaches the user that was named when it was sent", async () => {
    const alice = await create("alice");
    expect((await change(root, alice, PASSWORD, "ab")).code).toBe(ErrorCode.InvalidPassword);
    expect((await change(root, alice, "ab", "password-2")).code).toBe(ErrorCode.InvalidPassword);
    const body = encode(changePassword.request, {
      userId: id("alice"),
      currentPassword: PASSWORD,
      newPassword: "password-2",
    });
    const slow = await node.resolve({ operation: Operation.ChangePassword, client: root.client, userId: 0, body });
    await patch("alice", [optionString("username", "alice-2")]);
    await create("alice");
    if (slow.kind !== "propose") throw new Error("denied");
    node.applyRaw(root, slow.operation, slow.body);
    const { secrets } = node;
    expect(await node.machine.authenticatePassword(secrets, "alice", "password-2")).toMatchObject({
      kind: "refused",
    });
    expect(await node.machine.authenticatePassword(secrets, "alice-2", "password-2")).toMatchObject({
      kind: "account",
    });
  });
});

describe("a patch of a user", () => {
  it("renames, and refuses taken and unknown names in the log", async () => {
    await create("alice");
    await create("bob");
    expect((await patch("alice", [optionString("username", "alice-2")])).code).toBe(0);
    expect((await patch("alice-2", [optionString("username", "alice-2")])).code).toBe(0);
    expect(await patch("alice-2", [optionString("username", "bob")])).toMatchObject({ code: 46, isCommitted: true });
    expect(await patch("alice", [optionString("username", "carol")])).toMatchObject({ code: 20, isCommitted: true });
  });

  it.each([
    ["an unknown status", [optionString("status", "asleep")], 45],
    ["a status of another kind", [optionU8("status", 1)], 45],
    ["a short name", [optionString("username", "a")], 43],
    ["a key of another scope", [optionString("name", "alice")], 4041],
  ])("refuses %s before it is ordered", async (_what, options, code) => {
    expect(await patch(0, options)).toMatchObject({ code, isCommitted: false });
  });

  it("ends the sessions of a user that it deactivates, and lets it back in later", async () => {
    const alice = await create("alice");
    const client = node.signIn(alice);
    const { effects } = await patch(alice, [optionString("status", "inactive")]);
    expect(effects).toEqual([
      {
        kind: "session-ended",
        clientId: client.client,
        session: client.session,
        userId: alice,
        reason: "revoked",
      },
    ]);
    expect(node.machine.session(client.client)).toBeUndefined();
    expect(await node.machine.authenticatePassword(node.secrets, "alice", PASSWORD)).toEqual({
      kind: "refused",
      reason: "inactive-user",
    });
    await patch(alice, [optionString("status", "active")]);
    expect(node.signIn(alice).userId).toBe(alice);
  });
});

describe("deleting a user", () => {
  it("ends its sessions, after which nobody acts for it", async () => {
    const alice = await create("alice", { ...noPermissions, global: { ...noPermissions.global, manageUsers: true } });
    const client = node.signIn(alice);
    const { effects } = await node.send(root, deleteUser, { userId: id("alice") });
    expect(effects).toMatchObject([{ kind: "session-ended", reason: "revoked", userId: alice }]);
    // A request that was ordered before the end of its session, and a user of the same id by now.
    await create("mallory");
    const late = node.applyRaw(client, Operation.DeleteUser, encode(deleteUser.request, { userId: id("mallory") }));
    expect(late.code).toBe(ErrorCode.Unauthenticated);
    expect(shown("alice")).toBeNull();
    expect(await node.send(root, deleteUser, { userId: id("alice") })).toMatchObject({ code: 20, isCommitted: true });
  });
});

describe("reading users", () => {
  it("shows everyone their own record, and others to those who may", async () => {
    const alice = node.signIn(await create("alice"));
    expect(node.read(alice, getUser, { userId: id("alice") })).toMatchObject({ user: { username: "alice" } });
    expect(node.read(alice, getUser, { userId: id(0) })).toBe(ErrorCode.Unauthorized);
    expect(node.read(alice, getUser, { userId: id("missing") })).toBeNull();
    expect(node.read(alice, getUsers, {})).toBe(ErrorCode.Unauthorized);
  });
});
