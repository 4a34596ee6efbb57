import {
  cancelDeferredRequest,
  createStream,
  createUser,
  deleteTopic,
  encodeRequest,
  ErrorCode,
  fetchMessages,
  getMe,
  logoutUser,
  numericId,
  ping,
  pollMessages,
  pollMessagesDeferred,
  type PollingStrategy,
  RequestHeader,
  updatePermissions,
} from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  type Answer,
  atOffset,
  consumer,
  eventually,
  first,
  freshName,
  freshPartition,
  last,
  messages,
  next,
  outcome,
  type RawPartition,
  RawLink,
  RawSession,
  since,
  sleep,
  textOf,
} from "../raw-client/index.js";

const PENDING_PER_SESSION = 64;

let server: RunningServer;
let session: RawSession;
let partition: RawPartition;
const links: RawLink[] = [];

beforeAll(async () => {
  server = await startServer();
  session = await RawSession.open(server.port);
});
beforeEach(async () => {
  partition = await freshPartition(session);
  await partition.send(messages(10));
});
afterEach(async () => {
  for (const link of links.splice(0)) await link.end();
});
afterAll(async () => {
  await session.close();
  await server.close();
});

async function anotherSession(): Promise<RawSession> {
  const opened = await RawSession.open(server.port);
  links.push(opened.link);
  return opened;
}

const numberOf = (frame: Uint8Array): bigint => new RequestHeader().at(frame, 0).requestBig;

/** A poll that waits: its frame is sent, its answer comes when it comes. */
function park(by: RawPartition, waitMillis = 20_000): { readonly request: bigint; readonly answer: Promise<Answer> } {
  const frame = by.pollFrame(next, { waitMillis, consumer: consumer(7), minCount: 100 });
  return { request: numberOf(frame), answer: by.session.link.ask(frame) };
}

const cancelFrame = (by: RawSession, request: bigint | number): Uint8Array =>
  by.frame(cancelDeferredRequest, new Uint8Array(0), { request, minimumMetadataOp: 0 });

describe("starts", () => {
  const ends: readonly (readonly [string, PollingStrategy, number])[] = [
    ["the offset behind the last", atOffset(10), 0],
    ["an offset far beyond the end", atOffset(1_000_000_000), 0],
    ["an offset of 2^53", atOffset(2n ** 53n), 0],
    ["the highest offset", atOffset(2n ** 64n - 1n), 0],
    ["a time after the last message", since(2n ** 62n), 0],
    ["the highest time", since(2n ** 64n - 1n), 0],
    ["time 0", since(0), 10],
    ["the last offset", atOffset(9), 1],
    ["first", { kind: "first", value: 2n ** 64n - 1n }, 10],
    ["last", { kind: "last", value: 2n ** 64n - 1n }, 10],
    ["next", { kind: "next", value: 2n ** 64n - 1n }, 10],
  ];
  it.each(ends)("%s", async (_what, strategy, count) => {
    for (const polled of [await partition.poll(strategy), await partition.pollPlain(strategy)]) {
      expect(polled).toMatchObject({ partitionId: 0, currentOffset: 9, messagesCount: count });
      expect(polled.context.incarnation).toBe(partition.incarnation);
    }
  });

  it("of an empty partition are empty replies", async () => {
    const empty = await freshPartition(session);
    for (const strategy of [first, last, next, atOffset(0), atOffset(5), since(0)]) {
      expect(await empty.poll(strategy)).toMatchObject({ currentOffset: 0, messagesCount: 0 });
    }
  });

  it("a plain poll of no messages is empty; one of the highest count gives what there is", async () => {
    expect((await partition.pollPlain(first, 0)).messagesCount).toBe(0);
    expect((await partition.pollPlain(first, 0xffff_ffff)).messagesCount).toBe(10);
    expect((await partition.pollPlain(last, 0xffff_ffff)).messagesCount).toBe(10);
  });
});

describe("limits of a deferred poll", () => {
  const sound = { waitUs: 0n, minCount: 1, maxBytes: 1000, requestTimeoutUs: 1_000_000n };
  const bad = [
    { waitUs: 600_000_001n, requestTimeoutUs: 630_000_000n },
    { waitUs: 1_000_000n, requestTimeoutUs: 1_999_999n },
    { requestTimeoutUs: 0n },
    { requestTimeoutUs: 630_000_001n },
    { waitUs: 2n ** 64n - 1n, requestTimeoutUs: 2n ** 64n - 1n },
    { minCount: 0 },
    { minCount: 101 },
    { maxBytes: 343 },
    { maxBytes: 0 },
  ];
  it.each(bad)("%o is malformed", async (change) => {
    const poll = decodedPoll(partition);
    const body = encodeRequest(pollMessagesDeferred, { poll, ...sound });
    const view = new DataView(body.buffer, body.length - 24);
    const limits = { ...sound, ...change };
    view.setBigUint64(0, limits.waitUs, true);
    view.setUint32(8, limits.minCount, true);
    view.setUint32(12, limits.maxBytes, true);
    view.setBigUint64(16, limits.requestTimeoutUs, true);
    const answer = await session.send(pollMessagesDeferred, body, partition.context);
    expect(outcome(answer)).toBe(`status ${ErrorCode.InvalidCommand}`);
  });

  it("the fewest bytes still give one whole message", async () => {
    const polled = await partition.poll(first, { maxBytes: 344 });
    expect(polled.messagesCount).toBe(1);
  });

  it("an incarnation that is not current: 87; an owner generation without a group: 5009", async () => {
    for (const partitionIncarnation of [0n, partition.incarnation + 1n, 2n ** 64n - 1n]) {
      const frame = partition.pollFrame(first, {}, { partitionIncarnation });
      expect(outcome(await session.deliver(frame))).toBe("status 87");
    }
    expect(outcome(await partition.tryPoll(first, { ownerGeneration: 1 }))).toBe("status 5009");
  });
});

describe("a fetch", () => {
  const target = () => ({
    partitionId: 0,
    strategy: atOffset(0),
    maxBytes: 1000,
    incarnation: partition.incarnation,
    ownerGeneration: 0n,
  });
  const request = (targets: readonly ReturnType<typeof target>[]) => ({
    consumer: consumer(1),
    streamId: partition.streamId,
    topicId: partition.topicId,
    waitUs: 0n,
    requestTimeoutUs: 1_000_000n,
    minCount: 1,
    count: 100,
    maxBytes: 1_000_000,
    autoCommit: false,
    targets,
  });

  it("of a history that is not current: a section with 87", async () => {
    const targets = [{ ...target(), incarnation: 0n }];
    const { sections } = await session.call(fetchMessages, request(targets));
    expect(sections).toMatchObject([{ partitionId: 0, status: 87, messagesCount: 0 }]);
  });

  it.each([
    ["the same partition twice", (body: Uint8Array) => body.set(body.subarray(-66, -33), body.length - 33)],
    ["a strategy that has no place in it", (body: Uint8Array) => body.set([3], body.length - 33 + 4)],
    [
      "a target limit above that of the request",
      (body: Uint8Array) => body.fill(0xff, body.length - 20, body.length - 16),
    ],
    ["a count of targets that it does not have", (body: Uint8Array) => body.set([3], body.length - 66 - 4)],
    ["fewer targets than stated", (body: Uint8Array) => body.set([1], body.length - 66 - 4)],
  ])("with %s is malformed", async (_what, change) => {
    const body = encodeRequest(fetchMessages, request([target(), { ...target(), partitionId: 1 }]));
    change(body);
    expect(outcome(await session.send(fetchMessages, body))).toBe("status 3");
  });
});

describe("polls that wait", () => {
  it("end when they are cancelled: one answer, 58, to the poll itself", async () => {
    const { request, answer } = park(partition);
    session.link.write(cancelFrame(session, request));
    expect(outcome(await answer)).toBe("status 58");
    expect(await session.try(ping, {})).toBe("ok");
    expect(session.link.unclaimed).toEqual([]);
  });

  it("are not ended by the cancel of another number, or from another connection", async () => {
    const { request, answer } = park(partition);
    const other = await anotherSession();
    const bound = await RawLink.connect(server.port);
    links.push(bound);
    const { link } = session;
    expect(outcome(await session.bind(bound))).toBe("ok");
    bound.write(cancelFrame(session, request));
    session.link = link;
    other.link.write(cancelFrame(other, request));
    session.link.write(cancelFrame(session, request + 1n));
    session.link.write(cancelFrame(session, 2n ** 64n - 1n));
    await sleep(50);
    expect(await session.try(ping, {})).toBe("ok");
    session.link.write(cancelFrame(session, request));
    expect(outcome(await answer)).toBe("status 58");
  });

  it("an unbound connection that cancels is told to sign in", async () => {
    const link = await RawLink.connect(server.port);
    links.push(link);
    expect(outcome(await link.ask(cancelFrame(session, 1)))).toBe("status 40");
  });

  it("hold nothing else of their connection up", async () => {
    const parked = Array.from({ length: 10 }, () => park(partition));
    expect(await session.try(getMe, {})).toBe("ok");
    expect(await partition.send(messages(1))).toBe(10);
    for (const { request } of parked) session.link.write(cancelFrame(session, request));
    expect(new Set((await Promise.all(parked.map(({ answer }) => answer))).map(outcome))).toEqual(
      new Set(["status 58"]),
    );
  });

  it("above what a session may have are refused with 90, and freed places are taken again", async () => {
    const parked = Array.from({ length: PENDING_PER_SESSION }, () => park(partition));
    expect(outcome(await park(partition).answer)).toBe("status 90");
    const [one, ...others] = parked;
    session.link.write(cancelFrame(session, one!.request));
    expect(outcome(await one!.answer)).toBe("status 58");
    const again = park(partition, 100);
    expect((await again.answer).kind).toBe("ok");
    for (const { request } of others) session.link.write(cancelFrame(session, request));
    await Promise.all(others.map(({ answer }) => answer));
  });

  it.each(["reset", "end"] as const)("whose connection is cut (%s) give their places back", async (how) => {
    const crowd = await anotherSession();
    const theirs = partition.by(crowd);
    for (let round = 0; round < 3; round++) {
      const link = crowd.link;
      const parked = Array.from({ length: PENDING_PER_SESSION }, () => park(theirs));
      await crowd.try(ping, {});
      await link[how]();
      await Promise.all(parked.map(({ answer }) => answer));
      await crowd.bind(await RawLink.connect(server.port));
      links.push(crowd.link);
      await eventually("a place is free", async () => outcome(await park(theirs, 1).answer) === "ok");
    }
  });

  it("end with 87 when their topic is deleted, with 41 when the right is taken, with 30 when the session ends", async () => {
    const deleted = park(partition);
    await session.call(deleteTopic, { streamId: partition.streamId, topicId: partition.topicId });
    expect(outcome(await deleted.answer)).toBe("status 87");

    const other = await freshPartition(session);
    const username = freshName("reader");
    const read = { pollMessages: true, sendMessages: true };
    const none = {
      manageServers: false,
      readServers: false,
      manageUsers: false,
      readUsers: false,
      manageStreams: false,
      readStreams: false,
      manageTopics: false,
      readTopics: false,
    };
    const permissions = { global: { ...none, ...read }, streams: [] };
    const { user } = await session.call(createUser, {
      username,
      password: "s3cret",
      status: 1,
      permissions,
      options: [],
    });
    const reader = await RawSession.open(server.port, { username, password: "s3cret" });
    links.push(reader.link);
    const theirs = other.by(reader);
    const frame = theirs.pollFrame(next, { waitMillis: 20_000 });
    const answer = reader.link.ask(frame);
    await reader.try(ping, {});
    await session.call(updatePermissions, { userId: numericId(user.id), permissions: null });
    // Whoever reads what is committed from now on is judged by the rights of now.
    await other.send(messages(1));
    expect(outcome(await answer)).toBe("status 41");

    const leaver = await anotherSession();
    const waiting = leaver.link.ask(other.by(leaver).pollFrame(next, { waitMillis: 20_000, minCount: 50 }));
    expect(await leaver.try(ping, {})).toBe("ok");
    const elsewhere = await RawLink.connect(server.port);
    links.push(elsewhere);
    await leaver.bind(elsewhere);
    expect(await leaver.try(logoutUser, {})).toBe("ok");
    await other.send(messages(60));
    expect(outcome(await waiting)).toBe("status 30");
  });

  it("with the same number as one that waits: both are answered", async () => {
    const frame = partition.pollFrame(next, { waitMillis: 200, minCount: 50 });
    const answers = [session.link.answerTo(numberOf(frame)), session.link.answerTo(numberOf(frame))];
    session.link.write(Buffer.concat([frame, frame]));
    expect((await Promise.all(answers)).map(outcome)).toEqual(["ok", "ok"]);
    const { request, answer } = park(partition);
    session.link.write(cancelFrame(session, request));
    expect(outcome(await answer)).toBe("status 58");
  });
});

describe("request numbers used twice", () => {
  it("a send replays its first reply, byte by byte, and stores nothing more", async () => {
    const frame = partition.sendFrame(messages(2, "once"));
    const one = await session.deliver(frame);
    const two = await session.deliver(frame);
    expect(outcome(one)).toBe("ok");
    expect(two).toEqual(one);
    expect(await partition.readAll()).toHaveLength(12);
  });

  it("a metadata request replays its first reply; another operation under its number is refused", async () => {
    const frame = session.frame(createStream, encodeRequest(createStream, { name: freshName("once"), options: [] }));
    const one = await session.deliver(frame);
    expect(one.kind).toBe("ok");
    expect(await session.deliver(frame)).toEqual(one);
    const request = numberOf(frame);
    const other = encodeRequest(deleteTopic, { streamId: numericId(9), topicId: numericId(9) });
    expect(outcome(await session.send(deleteTopic, other, { request }))).toBe("status 3");
  });

  it("a refused metadata request replays its refusal", async () => {
    const name = freshName("taken");
    await session.call(createStream, { name, options: [] });
    const frame = session.frame(createStream, encodeRequest(createStream, { name, options: [] }));
    const one = await session.deliver(frame);
    expect(outcome(one)).toBe("result 1012");
    expect(await session.deliver(frame)).toEqual(one);
  });

  it("a number far below the last ones is told apart from a new one", async () => {
    const frames: Uint8Array[] = [];
    for (let i = 0; i < 10; i++) {
      const body = encodeRequest(createStream, { name: freshName("many"), options: [] });
      frames.push(session.frame(createStream, body));
    }
    for (const frame of frames) expect(outcome(await session.deliver(frame))).toBe("ok");
    expect(outcome(await session.deliver(frames[0]!))).toMatch(/^status (59|85)$/);
    const sends = Array.from({ length: 10 }, () => partition.sendFrame(messages(1)));
    for (const frame of sends) expect(outcome(await session.deliver(frame))).toBe("ok");
    expect(outcome(await session.deliver(sends[0]!))).toMatch(/^status (59|85)$/);
    expect(await partition.readAll()).toHaveLength(20);
  });

  it("the same send twice in one write is stored once and answered twice alike", async () => {
    const frame = partition.sendFrame(messages(1, "twice"));
    const answers = [session.link.answerTo(numberOf(frame)), session.link.answerTo(numberOf(frame))];
    session.link.write(Buffer.concat([frame, frame]));
    const [one, two] = await Promise.all(answers);
    expect(outcome(one!)).toBe("ok");
    expect(two).toEqual(one);
    expect((await partition.readAll()).filter((entry) => textOf(entry) === "twice 0")).toHaveLength(1);
  });

  it("metadata requests in one write are each answered, also when an earlier one takes a password hash", async () => {
    const user = { username: freshName("hashed"), password: "s3cret", status: 1, permissions: null, options: [] };
    const frames = [
      session.frame(createUser, encodeRequest(createUser, user)),
      ...Array.from({ length: 5 }, () =>
        session.frame(createStream, encodeRequest(createStream, { name: freshName("quick"), options: [] })),
      ),
    ];
    const answers = frames.map((frame) => session.link.answerTo(numberOf(frame)));
    session.link.write(Buffer.concat(frames));
    const outcomes = (await Promise.all(answers)).map(outcome);
    expect(outcomes.slice(1)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    // Numbers of one session reach the log in order; one that was overtaken is told so, not left without an answer.
    expect(outcomes[0]).toMatch(/^(ok|(status|result) (57|58|59|85))$/);
  });

  it("reads may use any number, also one that was used", async () => {
    for (const request of [1, 1, 0xffff_ffff, 1]) {
      expect(outcome(await session.send(getMe, new Uint8Array(0), { request }))).toBe("ok");
    }
  });
});

const decodedPoll = ({ streamId, topicId }: RawPartition) =>
  ({
    consumer: consumer(1),
    streamId,
    topicId,
    partitionId: 0,
    strategy: first,
    count: 100,
    autoCommit: false,
  }) as const;

it("a plain poll ignores what stands behind it", async () => {
  const body = encodeRequest(pollMessages, decodedPoll(partition));
  const answer = await session.send(pollMessages, Buffer.concat([body, Buffer.alloc(24, 1)]), partition.context);
  expect(outcome(answer)).toBe("ok");
});
