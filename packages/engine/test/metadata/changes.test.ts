import {
  type ChangeRecord,
  createConsumerGroup,
  createPersonalAccessToken,
  createStream,
  createTopic,
  createUser,
  decodeChange,
  deletePersonalAccessToken,
  deleteStream,
  deleteTopic,
  deleteUser,
  ErrorCode,
  getMetadataChanges,
  joinConsumerGroup,
  leaveConsumerGroup,
  type MetadataChangesPage,
  type MetadataChangesRequest,
  type MetadataCursor,
  MetadataGroup,
  MetadataPhase,
  MetadataStatus,
  noCursor,
  noPermissions,
  optionString,
  OptionScope,
  type PageToken,
  type StateItem,
  updateResource,
} from "@iggy/protocol";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { readMetadataChanges } from "../../src/metadata/changes/query.js";
import { MetadataState } from "../../src/metadata/state/state.js";
import { linesOf, Mirror } from "./mirror.js";
import { id, type TestClient, TestNode } from "./node.js";
import { steps, Workload } from "./workload.js";

let node: TestNode;
let root: TestClient;
beforeEach(() => {
  node = new TestNode();
  root = node.signIn();
});

function ask(
  start: MetadataChangesRequest["start"],
  over: Partial<MetadataChangesRequest> = {},
  target = node,
): MetadataChangesPage {
  const request = { start, since: null, until: null, limit: 1000, groups: [], ...over };
  const page = target.read(root, getMetadataChanges, request);
  if (typeof page === "number") throw new Error(`refused with ${String(page)}`);
  return page;
}
const after = (cursor: MetadataCursor, over: Partial<MetadataChangesRequest> = {}) =>
  ask({ mode: "after", cursor }, over);
const next = (page: MetadataChangesPage): MetadataCursor => {
  if (page.next === null) throw new Error("no cursor");
  return page.next;
};
const kinds = (records: readonly ChangeRecord[]): (string | undefined)[] =>
  records.map((record) => decodeChange(record)?.kind);
const status = (page: MetadataChangesPage): number => page.status;

function scan(groups: number[], limit: number): { items: StateItem[]; anchors: MetadataCursor[]; pages: number } {
  const items: StateItem[] = [];
  const anchors: MetadataCursor[] = [];
  let token: PageToken | null = null;
  for (let pages = 1; ; pages++) {
    const page: MetadataChangesPage = ask({ mode: "current", token }, { groups, limit });
    expect(page).toMatchObject({ status: MetadataStatus.ok, phase: MetadataPhase.current, records: [] });
    items.push(...page.items);
    anchors.push(next(page));
    expect(page.hasMore).toBe(page.currentPageToken !== null);
    token = page.currentPageToken;
    if (token === null) return { items, anchors, pages };
  }
}

describe("changes of an operation", () => {
  it("carry op, checksum, time and actor, and are numbered from 0", async () => {
    const alice = await node.do(root, createUser, {
      username: "alice",
      password: "password",
      status: 1,
      permissions: { ...noPermissions, global: { ...noPermissions.global, manageStreams: true } },
      options: [],
    });
    const client = node.signIn(alice.user.id);
    await node.send(client, createStream, { name: "s", options: [] });
    const op = BigInt(node.machine.appliedOp);
    const records = ask({ mode: "earliest" }).records;
    expect(records.at(-1)).toMatchObject({
      op,
      ordinal: 0,
      checksum: op * 1_000_003n,
      timestamp: BigInt(node.nowMicros),
      actorUserId: 1,
      group: MetadataGroup.streams,
      kind: 1,
    });
    // The bootstrap is the server's doing; whoever signs in acts for itself.
    expect(records[0]).toMatchObject({ op: 1n, actorUserId: null });
    expect(records.at(-2)).toMatchObject({ actorUserId: 1, group: MetadataGroup.sessions });
  });

  it("start with its own, then name what follows from it", async () => {
    await node.stream(root, "s");
    await node.topic(root, 0, "t", 2);
    await node.do(root, createConsumerGroup, { streamId: id(0), topicId: id(0), name: "g" });
    const alice = await node.do(root, createUser, {
      username: "alice",
      password: "password",
      status: 1,
      permissions: {
        ...noPermissions,
        streams: [
          {
            streamId: 0,
            manageStream: true,
            readStream: false,
            manageTopics: false,
            readTopics: false,
            pollMessages: false,
            sendMessages: false,
            topics: [{ topicId: 0, manageTopic: true, readTopic: false, pollMessages: false, sendMessages: false }],
          },
        ],
      },
      options: [],
    });
    const client = node.signIn(alice.user.id);
    await node.do(client, joinConsumerGroup, { streamId: id(0), topicId: id(0), groupId: id(0) });
    const position = next(ask({ mode: "latest" }));
    await node.do(root, updateResource, {
      target: { scope: OptionScope.user, userId: id("alice") },
      reset: [],
      options: [optionString("status", "inactive")],
    });
    await node.do(root, deleteTopic, { streamId: id(0), topicId: id(0) });
    await node.do(root, deleteStream, { streamId: id(0) });
    expect(kinds(after(position).records)).toEqual([
      "user_updated",
      "session_closed",
      "consumer_group_member_left",
      "consumer_group_partition_handed_over",
      "consumer_group_partition_handed_over",
      "topic_deleted",
      "user_permissions_updated",
      "stream_deleted",
      "user_permissions_updated",
    ]);
  });

  it("are none when it is refused", async () => {
    await node.stream(root, "s");
    const position = next(ask({ mode: "latest" }));
    expect((await node.send(root, createStream, { name: "s", options: [] })).code).not.toBe(0);
    expect(after(position).records).toEqual([]);
  });
});

describe("reading changes", () => {
  it("pages through them in order, without a gap or a repetition", async () => {
    for (let index = 0; index < 7; index++) await node.stream(root, `s${String(index)}`);
    const all = ask({ mode: "earliest" }).records;
    let page = ask({ mode: "earliest" }, { limit: 2 });
    const paged = [...page.records];
    while (page.hasMore) {
      page = after(next(page), { limit: 2 });
      paged.push(...page.records);
    }
    expect(paged).toEqual(all);
    expect(all).toHaveLength(9);
    expect(page).toMatchObject({ oldestOp: 1n, retainedSince: 0n, headOp: BigInt(node.machine.appliedOp) });
    expect(page.logId).toBe(node.machine.logId);
  });

  it("from the latest position shows only what comes later", async () => {
    const latest = ask({ mode: "latest" });
    expect(latest).toMatchObject({ records: [], hasMore: false, phase: MetadataPhase.changes });
    await node.stream(root, "s");
    expect(kinds(after(next(latest)).records)).toEqual(["stream_created"]);
    expect(after(next(ask({ mode: "latest" }))).records).toEqual([]);
  });

  it("of some groups passes over the others", async () => {
    await node.stream(root, "s");
    await node.do(root, createPersonalAccessToken, { name: "ci", expiry: 0n });
    await node.do(root, deletePersonalAccessToken, { name: "ci" });
    const page = ask({ mode: "earliest" }, { groups: [MetadataGroup.streams] });
    expect(kinds(page.records)).toEqual(["stream_created"]);
    // The cursor stands behind what was passed over, so that its eviction is no loss.
    expect(next(page).op).toBe(BigInt(node.machine.appliedOp));
  });

  it("within a time range moves no cursor beyond it", async () => {
    for (const name of ["a", "b", "c"]) await node.stream(root, name);
    const [, b] = ask({ mode: "earliest" }, { groups: [MetadataGroup.streams] }).records;
    if (b === undefined) throw new Error("no record");
    const page = ask({ mode: "earliest" }, { since: b.timestamp, until: b.timestamp });
    expect(page.records).toEqual([b]);
    expect(page.hasMore).toBe(false);
    expect(kinds(after(next(page)).records)).toEqual(["stream_created"]);
    expect(ask({ mode: "earliest" }, { until: 5n }).next).toMatchObject({ op: 0n, checksum: 0n, ordinal: 0 });
  });

  it("splits a page at the byte limit, and sends one record however large", async () => {
    node = new TestNode({ changesPageBytesMax: 1 });
    root = node.signIn();
    await node.stream(root, "s");
    const page = ask({ mode: "earliest" });
    expect(page.records).toHaveLength(1);
    expect(page.hasMore).toBe(true);
    expect(scan([MetadataGroup.users, MetadataGroup.sessions], 10).pages).toBe(2);
  });

  it("before the first operation is behind, whatever is asked", () => {
    const state = new MetadataState(node.config);
    const token = { anchor: noCursor, requiredHead: 0n, groupsMask: 0xff, group: 1, lastKey: new Uint8Array(4) };
    const starts: [MetadataChangesRequest["start"], Partial<MetadataChangesPage>][] = [
      [{ mode: "earliest" }, { next: null }],
      [{ mode: "latest" }, { next: null }],
      [{ mode: "after", cursor: noCursor }, { next: noCursor }],
      [
        { mode: "current", token: null },
        { next: null, phase: MetadataPhase.current },
      ],
      [
        { mode: "current", token },
        { next: noCursor, currentPageToken: token },
      ],
    ];
    for (const [start, answer] of starts) {
      const request = { start, since: null, until: null, limit: 10, groups: [] };
      expect(readMetadataChanges(state, node.config, request)).toMatchObject({
        status: MetadataStatus.behind,
        logId: null,
        oldestOp: 0n,
        headOp: 0n,
        hasMore: false,
        ...answer,
      });
    }
  });

  it.each([
    ["a limit of 0", { limit: 0 }],
    ["a limit of 1001", { limit: 1001 }],
    ["an unknown group", { groups: [9] }],
    ["a range backwards", { since: 2n, until: 1n }],
  ])("refuses %s", (_what, over) => {
    expect(() => ask({ mode: "earliest" }, over)).toThrow("refused with 3");
  });

  it("refuses a scan without the parents of a group", () => {
    const groups = [MetadataGroup.topics];
    expect(() => ask({ mode: "current", token: null }, { groups })).toThrow("refused with 3");
  });
});

describe("a position", () => {
  it("ahead of this node, is behind, and repeated", async () => {
    await node.stream(root, "s");
    const cursor = { ...next(ask({ mode: "latest" })), op: 999n };
    expect(after(cursor)).toMatchObject({
      status: MetadataStatus.behind,
      next: cursor,
      hasMore: false,
      records: [],
    });
  });

  it("of another history, is reset", async () => {
    await node.stream(root, "s");
    const cursor = next(ask({ mode: "latest" }));
    expect(after({ ...cursor, logId: 5n })).toMatchObject({ status: MetadataStatus.reset, next: null });
    expect(after({ ...cursor, checksum: 5n })).toMatchObject({ status: MetadataStatus.reset, next: null });
  });

  it("at the beginning, shows everything while nothing is gone", async () => {
    await node.stream(root, "s");
    const logId = node.machine.logId ?? 0n;
    const all = after({ logId, op: 0n, checksum: 0n, ordinal: 0 });
    expect(all.records).toEqual(ask({ mode: "earliest" }).records);
  });

  it("expires once something behind it is gone, class by class", async () => {
    node = new TestNode({ changeLogResourceCapacity: 3, changeLogActivityCapacity: 2 });
    root = node.signIn();
    const beginning = { logId: node.machine.logId ?? 0n, op: 0n, checksum: 0n, ordinal: 0 };
    await node.stream(root, "a");
    await node.stream(root, "b");
    expect(status(after(beginning))).toBe(MetadataStatus.ok);
    const early = next(ask({ mode: "earliest" }, { limit: 1 }));
    expect(early.op).toBe(1n);
    await node.stream(root, "c");
    // The record that the position names is gone, nothing behind it is.
    expect(after(early)).toMatchObject({ status: MetadataStatus.ok });
    expect(status(after(beginning))).toBe(MetadataStatus.expired);
    const evictedAt = node.log[0]?.timestampMicros;
    expect(ask({ mode: "earliest" })).toMatchObject({ oldestOp: 2n, retainedSince: BigInt(evictedAt ?? 0) });
    await node.stream(root, "d");
    expect(after(early)).toMatchObject({ status: MetadataStatus.expired, next: null, oldestOp: 4n });
    // Of activity nothing is gone yet.
    const activity = { groups: [MetadataGroup.sessions] };
    expect(status(after(early, activity))).toBe(MetadataStatus.ok);
    expect(kinds(after(beginning, activity).records)).toEqual(["session_registered"]);
    expect(kinds(ask({ mode: "earliest" }).records)).toEqual(["stream_created", "stream_created", "stream_created"]);
    // A wrong checksum is noticed also at a position whose record is gone.
    expect(status(after({ ...early, op: 3n, checksum: 1n }))).toBe(MetadataStatus.reset);
  });

  it("never falls inside an operation that was evicted in part", async () => {
    node = new TestNode({ changeLogActivityCapacity: 4 });
    root = node.signIn();
    await node.stream(root, "s");
    await node.topic(root, 0, "t", 3);
    await node.do(root, createConsumerGroup, { streamId: id(0), topicId: id(0), name: "g" });
    const group = { streamId: id(0), topicId: id(0), groupId: id(0) };
    const activity = { groups: [MetadataGroup.consumer_group_members, MetadataGroup.sessions] };
    await node.do(root, joinConsumerGroup, group);
    expect(ask({ mode: "earliest" }, activity).records.map((record) => record.ordinal)).toEqual([0, 1, 2, 3]);
    const inside = next(ask({ mode: "earliest" }, { ...activity, limit: 2 }));
    await node.do(root, leaveConsumerGroup, group);
    expect(ask({ mode: "earliest" }, activity).records.map((record) => record.op)).toEqual(
      Array(4).fill(BigInt(node.machine.appliedOp)),
    );
    expect(status(after(inside, activity))).toBe(MetadataStatus.expired);
  });

  it("can be followed when one operation is larger than the log", async () => {
    node = new TestNode({ changeLogActivityCapacity: 2 });
    root = node.signIn();
    await node.stream(root, "s");
    await node.topic(root, 0, "t", 3);
    await node.do(root, createConsumerGroup, { streamId: id(0), topicId: id(0), name: "g" });
    await node.do(root, joinConsumerGroup, { streamId: id(0), topicId: id(0), groupId: id(0) });
    const latest = ask({ mode: "latest" });
    expect(next(latest)).toMatchObject({ op: BigInt(node.machine.appliedOp), ordinal: 3 });
    node.signIn();
    expect(kinds(after(next(latest)).records)).toEqual(["session_registered"]);
  });
});

describe("a scan of the current state", () => {
  const every = Object.values(MetadataGroup);

  it("shows groups in code order and things in key order, in pages of any size", async () => {
    for (const name of ["b", "a"]) await node.stream(root, name);
    for (const name of ["y", "x"]) await node.topic(root, 0, name, 2);
    await node.topic(root, 1, "z", 1);
    for (const topicId of [0, 1]) {
      for (const name of ["g1", "g2"]) {
        await node.do(root, createConsumerGroup, { streamId: id(0), topicId: id(topicId), name });
      }
    }
    for (const client of [node.signIn(), node.signIn()]) {
      await node.do(client, joinConsumerGroup, { streamId: id(0), topicId: id(1), groupId: id("g2") });
    }
    for (const name of ["t2", "t1", "t10"]) await node.do(root, createPersonalAccessToken, { name, expiry: 0n });
    const { items, anchors } = scan(every, 1000);
    expect(items.map((item) => item.group)).toEqual([
      ...Array<number>(2).fill(1),
      ...Array<number>(3).fill(2),
      ...Array<number>(3).fill(3),
      ...Array<number>(4).fill(4),
      ...Array<number>(2).fill(5),
      6,
      ...Array<number>(3).fill(7),
      ...Array<number>(3).fill(8),
    ]);
    for (const limit of [1, 2, 3, 5]) {
      const paged = scan(every, limit);
      expect(paged.items).toEqual(items);
      expect(paged.pages).toBe(Math.ceil(items.length / limit));
      expect(new Set(paged.anchors.map((anchor) => anchor.op))).toEqual(new Set([anchors[0]?.op]));
    }
    expect(scan([MetadataGroup.users, MetadataGroup.personal_access_tokens], 2).items).toHaveLength(4);
  });

  it("goes on at a key whose thing is gone", async () => {
    for (const name of ["a", "b", "c"]) await node.stream(root, name);
    const groups = [MetadataGroup.streams];
    const first = ask({ mode: "current", token: null }, { groups, limit: 2 });
    await node.do(root, deleteStream, { streamId: id("b") });
    const second = ask({ mode: "current", token: first.currentPageToken }, { groups, limit: 2 });
    expect(second.items).toHaveLength(1);
    expect(next(second)).toEqual(next(first));
    expect(kinds(after(next(second)).records)).toEqual(["stream_deleted"]);
  });

  it("waits for a node that has applied what its first page showed", async () => {
    for (const name of ["a", "b"]) await node.stream(root, name);
    const groups = [MetadataGroup.streams];
    const first = ask({ mode: "current", token: null }, { groups, limit: 1 });
    const { currentPageToken: token } = first;
    if (token === null) throw new Error("no token");
    const ahead = { ...token, requiredHead: token.requiredHead + 1n };
    expect(ask({ mode: "current", token: ahead }, { groups })).toMatchObject({
      status: MetadataStatus.behind,
      phase: MetadataPhase.current,
      next: token.anchor,
      currentPageToken: ahead,
      hasMore: false,
    });
    const foreign = { ...token, anchor: { ...token.anchor, logId: 9n } };
    expect(ask({ mode: "current", token: foreign }, { groups })).toMatchObject({
      status: MetadataStatus.reset,
      currentPageToken: null,
    });
  });

  it("ends when the changes behind its anchor are gone", async () => {
    node = new TestNode({ changeLogResourceCapacity: 2 });
    root = node.signIn();
    for (const name of ["a", "b"]) await node.stream(root, name);
    const groups = [MetadataGroup.streams];
    const first = ask({ mode: "current", token: null }, { groups, limit: 1 });
    for (const name of ["c", "d", "e"]) await node.stream(root, name);
    expect(status(ask({ mode: "current", token: first.currentPageToken }, { groups }))).toBe(MetadataStatus.expired);
  });

  it("does not show ended sessions", () => {
    const client = node.signIn();
    expect(scan([MetadataGroup.users, MetadataGroup.sessions], 10).items).toHaveLength(3);
    const session = node.machine.session(client.client);
    if (session === undefined) throw new Error("no session");
    node.applyServer(node.machine.sessionExpiry(session));
    expect(scan([MetadataGroup.users, MetadataGroup.sessions], 10).items).toHaveLength(2);
  });
});

describe("a mirror", () => {
  it("that follows the changes shows what a scan shows, whatever happened", async () => {
    await fc.assert(
      fc.asyncProperty(steps(60), fc.integer({ min: 1, max: 9 }), async (list, limit) => {
        const workload = await Workload.start();
        node = workload.node;
        root = workload.root;
        const mirror = new Mirror();
        let page = ask({ mode: "earliest" }, { limit });
        for (const step of [undefined, ...list]) {
          if (step !== undefined) await workload.run(step);
          for (;;) {
            for (const record of page.records) mirror.followRecord(record);
            const isDone = !page.hasMore;
            page = after(next(page), { limit });
            if (isDone && page.records.length === 0) break;
          }
          expect(mirror.lines()).toEqual(linesOf(scan(Object.values(MetadataGroup), limit + 3).items));
        }
      }),
      { numRuns: 30 },
    );
  });

  it("starts over from a scan that others change meanwhile, with the changes behind its anchor on top", async () => {
    await fc.assert(
      fc.asyncProperty(steps(30), fc.integer({ min: 1, max: 6 }), async (list, limit) => {
        const workload = await Workload.start();
        node = workload.node;
        root = workload.root;
        const between = [...list];
        const items: StateItem[] = [];
        let page = ask({ mode: "current", token: null }, { limit });
        for (;;) {
          items.push(...page.items);
          for (const step of between.splice(0, 3)) await workload.run(step);
          if (page.currentPageToken === null) break;
          page = ask({ mode: "current", token: page.currentPageToken }, { limit });
        }
        for (const step of between) await workload.run(step);
        const mirror = new Mirror(items);
        for (const record of after(next(page)).records) mirror.followRecord(record);
        expect(mirror.lines()).toEqual(linesOf(scan(Object.values(MetadataGroup), 100).items));
      }),
      { numRuns: 60 },
    );
  });
});

describe("reading changes needs the right to manage servers", () => {
  it("and nothing else", async () => {
    const create = (username: string, manageServers: boolean) =>
      node.do(root, createUser, {
        username,
        password: "password",
        status: 1,
        permissions: { ...noPermissions, global: { ...noPermissions.global, manageServers } },
        options: [],
      });
    const request = { start: { mode: "earliest" as const }, since: null, until: null, limit: 10, groups: [] };
    const allowed = node.signIn((await create("alice", true)).user.id);
    const denied = node.signIn((await create("bob", false)).user.id);
    expect(node.read(allowed, getMetadataChanges, request)).toMatchObject({ status: MetadataStatus.ok });
    expect(node.read(denied, getMetadataChanges, request)).toBe(ErrorCode.Unauthorized);
    await node.do(root, deleteUser, { userId: id("bob") });
    expect(
      (await node.send(root, createTopic, { streamId: id(0), partitionsCount: 1, name: "t", options: [] })).code,
    ).toBe(1009);
  });
});
