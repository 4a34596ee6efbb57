import {
  buildRequest,
  buildRequestHeader,
  createStream,
  encodeRequest,
  ErrorCode,
  FrameCommand,
  HEADER_SIZE,
  Operation,
  ping,
} from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import {
  eventually,
  first,
  freshPartition,
  messages,
  outcome,
  randomU128,
  RawLink,
  RawSession,
  sleep,
  textOf,
} from "../raw-client/index.js";

let server: RunningServer;
let session: RawSession;
const links: RawLink[] = [];

beforeAll(async () => {
  server = await startServer();
  session = await RawSession.open(server.port);
});
afterEach(async () => {
  for (const link of links.splice(0)) await link.end();
});
afterAll(async () => {
  await session.close();
  await server.close();
});

async function connect(): Promise<RawLink> {
  const link = await RawLink.connect(server.port);
  links.push(link);
  return link;
}

async function bound(): Promise<RawSession> {
  const opened = await RawSession.open(server.port);
  links.push(opened.link);
  return opened;
}

const CLIENT = randomU128();
const pingFrame = (request: bigint | number, client = CLIENT): Uint8Array =>
  buildRequest({ client, operation: Operation.NonReplicated, commandCode: ping.code, request });

/** A header that claims a size, whatever follows it. */
function claiming(size: number): Uint8Array {
  const frame = pingFrame(1).slice();
  new DataView(frame.buffer).setUint32(48, size, true);
  return frame;
}

const serves = async (): Promise<boolean> => outcome(await session.send(ping, new Uint8Array(0))) === "ok";

describe("a frame whose size is wrong ends its connection without a reply", () => {
  const MAX = 64 * 1024 * 1024;
  it.each([0, 1, 255, MAX + 1, 65 * 1024 * 1024, 0xffff_ffff])("size %i", async (size) => {
    const link = await connect();
    link.write(claiming(size));
    expect(await link.closes(1000)).toBe(true);
    expect(link.unclaimed).toEqual([]);
    expect(await serves()).toBe(true);
  });

  it("before the client is signed in, also one that would be taken afterwards", async () => {
    const link = await connect();
    link.write(claiming(64 * 1024 + 1));
    expect(await link.closes(1000)).toBe(true);
    const signedIn = await bound();
    signedIn.link.write(claiming(MAX));
    expect(await signedIn.link.closes(200)).toBe(false);
    await signedIn.link.reset();
  });

  it("also behind frames that are sound", async () => {
    const link = await connect();
    link.write(Buffer.concat([pingFrame(1), claiming(255), pingFrame(2)]));
    expect(await link.closes(1000)).toBe(true);
  });
});

describe("frame commands", () => {
  it.each([37, 64, 200, 255])("command %i is no command: the connection is closed without a reply", async (command) => {
    const link = await connect();
    const frame = pingFrame(1);
    frame[60] = command;
    link.write(frame);
    expect(await link.closes(1000)).toBe(true);
    expect(link.unclaimed).toEqual([]);
  });

  it("frames that only nodes send to each other are ignored and the connection stays", async () => {
    const link = await connect();
    for (let command = 0; command <= FrameCommand.PrepareProgress; command++) {
      if (command === FrameCommand.Request) continue;
      const frame = pingFrame(1000 + command);
      frame[60] = command;
      link.write(frame);
    }
    expect(outcome(await link.ask(pingFrame(2)))).toBe("ok");
    expect(link.unclaimed).toEqual([]);
  });
});

describe("operations", () => {
  const unknown = [4, 63, 69, 76, 127, 129, 131, 133, 135, 142, 151, 163, 164, 165, 170, 255];
  it.each(unknown)(
    "operation %i is unknown: status 3, and the reply names an operation that clients read",
    async (operation) => {
      const link = await connect();
      const answer = await link.ask(buildRequest({ client: CLIENT, operation, request: 7, session: 1 }));
      expect(outcome(answer)).toBe(`status ${ErrorCode.InvalidCommand}`);
      expect(
        answer.kind === "refused" && [answer.header.operation, answer.header.request, answer.header.client],
      ).toEqual([Operation.NonReplicated, 7, CLIENT]);
    },
  );

  const internal = [0, 64, 65, 66, 67, 68, 70, 71, 72, 73, 74, 75, 166, 167, 168, 169];
  it.each(internal)("operation %i is not for clients: status 3, signed in or not", async (operation) => {
    const link = await connect();
    const unbound = buildRequest({ client: CLIENT, operation, request: 7, session: 1 }, new Uint8Array(64));
    expect(outcome(await link.ask(unbound))).toBe(`status ${ErrorCode.InvalidCommand}`);
    const answer = await session.send({ code: 0, operation }, new Uint8Array(64));
    expect(outcome(answer)).toBe(`status ${ErrorCode.InvalidCommand}`);
    expect(await serves()).toBe(true);
  });
});

describe("header fields", () => {
  const refused = `status ${ErrorCode.InvalidCommand}`;

  it("client 0 is refused", async () => {
    const link = await connect();
    expect(outcome(await link.ask(pingFrame(3, 0n)))).toBe(refused);
  });

  it.each([
    ["a number", { request: 5 }],
    ["a session", { session: 5 }],
    ["both", { request: 5, session: 5 }],
  ])("a Register with %s is refused", async (_what, fields) => {
    const link = await connect();
    expect(outcome(await link.ask(buildRequest({ client: CLIENT, operation: Operation.Register, ...fields })))).toBe(
      refused,
    );
  });

  it.each([Operation.Logout, Operation.CreateStream, Operation.SendMessages])(
    "operation %i without a request number or without a session is refused",
    async (operation) => {
      const link = await connect();
      const client = CLIENT;
      expect(outcome(await link.ask(buildRequest({ client, operation, request: 0, session: 5 })))).toBe(refused);
      expect(outcome(await link.ask(buildRequest({ client, operation, request: 5, session: 0 })))).toBe(refused);
    },
  );

  it("request numbers that no client reaches are refused, and come back as they were", async () => {
    const link = await connect();
    const answer = await link.ask(pingFrame(2n ** 53n - 1n));
    expect(outcome(answer)).toBe("ok");
    for (const request of [2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
      const refusal = await link.ask(pingFrame(request));
      expect(outcome(refusal)).toBe(refused);
      expect(refusal.kind === "refused" && refusal.header.requestBig).toBe(request);
    }
  });

  it("a metadata request may name a history, which it echoes, but none that can not be counted", async () => {
    const body = encodeRequest(createStream, { name: "echo", options: [] });
    const answers = [2 ** 53 - 1, 2n ** 53n, 2n ** 64n - 1n].map((partitionIncarnation) =>
      session.send(createStream, body, { partitionIncarnation }),
    );
    const [kept, ...beyond] = await Promise.all(answers);
    expect(kept).toMatchObject({ kind: "ok", header: { partitionIncarnation: 2 ** 53 - 1, isCommitted: true } });
    expect(beyond.map(outcome)).toEqual([refused, refused]);
    expect(await serves()).toBe(true);
  });

  it("what a reply echoes it echoes exactly, and a reply of an unbound connection states no commit", async () => {
    const link = await connect();
    const frame = buildRequest({
      client: CLIENT,
      operation: Operation.NonReplicated,
      commandCode: ping.code,
      request: 9,
      requestChecksum: 0x0123_4567_89ab_cdef_0123_4567_89ab_cdefn,
      timestamp: 77,
      partitionIncarnation: 11,
    });
    const answer = await link.ask(frame);
    const header = answer.kind === "ok" ? answer.header : expect.fail(outcome(answer));
    expect(header).toMatchObject({
      client: CLIENT,
      request: 9,
      requestChecksum: 0x0123_4567_89ab_cdef_0123_4567_89ab_cdefn,
      timestamp: 77,
      partitionIncarnation: 11,
      operation: Operation.NonReplicated,
      commit: 0,
      op: 0,
      isCommitted: false,
    });
  });

  it("bytes that a client leaves zero change nothing when they are not", async () => {
    const link = await connect();
    const frame = pingFrame(4);
    for (const [from, to] of [
      [0, 48],
      [52, 60],
      [61, 128],
      [177, 184],
      [192, 196],
      [224, 256],
    ] as const) {
      frame.fill(0xa5, from, to);
    }
    expect(outcome(await link.ask(frame))).toBe("ok");
  });
});

describe("a bound connection speaks for its session only", () => {
  it("another client id is refused with 40, and nothing is executed", async () => {
    const speaker = await bound();
    const partition = await freshPartition(speaker);
    const answer = await partition.trySend(messages(1), undefined, {
      client: session.client,
      session: session.session,
    });
    expect(outcome(answer)).toBe(`status ${ErrorCode.Unauthenticated}`);
    expect((await partition.poll(first)).messages).toEqual([]);
  });

  it("a session below the live one ends the connection with eviction 7", async () => {
    const speaker = await bound();
    expect(outcome(await speaker.send(ping, new Uint8Array(0)))).toBe("ok");
    const frame = speaker.frame({ code: 20, operation: Operation.NonReplicated }, new Uint8Array(0), {
      session: speaker.session - 1n,
    });
    expect(outcome(await speaker.link.ask(frame))).toBe("eviction 7");
    expect(await speaker.link.closes(1000)).toBe(true);
  });

  it.each([1n, 2n ** 53n, 2n ** 64n - 1n])("a session above the live one, by %i, is refused with 14001", async (by) => {
    const speaker = await bound();
    const above = BigInt.asUintN(64, by > 1n ? by : speaker.session + by);
    const me = { code: 20, operation: Operation.NonReplicated };
    expect(outcome(await speaker.send(me, new Uint8Array(0), { session: above }))).toBe(
      `status ${ErrorCode.InvalidSession}`,
    );
    expect(outcome(await speaker.send(me, new Uint8Array(0)))).toBe("ok");
  });

  it("an unbound connection may not name a session that is live elsewhere", async () => {
    const link = await connect();
    const read = session.frame({ code: 20, operation: Operation.NonReplicated }, new Uint8Array(0));
    expect(outcome(await link.ask(read))).toBe(`status ${ErrorCode.Unauthenticated}`);
    const write = session.frame({ code: 202, operation: Operation.CreateStream }, new Uint8Array(0));
    expect(outcome(await link.ask(write))).toBe("eviction 1");
  });
});

describe("an eviction ends the connection", () => {
  const legacyLogin = (request: number): Uint8Array =>
    buildRequest({ client: CLIENT, operation: Operation.NonReplicated, commandCode: 38, request });

  it("also when the client keeps its side open", async () => {
    await eventually("only this session is connected", async () => (await connectionsCount()) === 1);
    const link = await RawLink.connect(server.port, { halfOpen: true });
    links.push(link);
    expect(outcome(await link.ask(legacyLogin(1)))).toBe("eviction 15");
    link.write(pingFrame(2));
    await eventually("the server gave the connection up", async () => (await connectionsCount()) === 1, 4000);
  });

  it("and nothing behind it is executed", async () => {
    const speaker = await bound();
    const partition = await freshPartition(speaker);
    const evicted = speaker.link.next();
    speaker.link.write(Buffer.concat([legacyLogin(1), partition.sendFrame(messages(1))]));
    expect(outcome(await evicted)).toBe("eviction 15");
    await speaker.link.closed;
    // The next write of another session is ordered behind everything that was taken before.
    expect(await partition.by(session).send(messages(1))).toBe(0);
  });
});

describe("how frames arrive", () => {
  it("byte by byte is as good as whole", async () => {
    const speaker = await bound();
    const partition = await freshPartition(speaker);
    const frame = partition.sendFrame(messages(2, "slow"));
    const answer = speaker.link.ask(frame.subarray(0, HEADER_SIZE));
    for (let at = HEADER_SIZE; at < frame.length; at++) {
      speaker.link.write(frame.subarray(at, at + 1));
      if (at % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(outcome(await answer)).toBe("ok");
    expect((await partition.poll(first)).messages.map(textOf)).toEqual(["slow 0", "slow 1"]);
  });

  it("in pieces of any size", async () => {
    const speaker = await bound();
    const partition = await freshPartition(speaker);
    const COUNT = 8;
    for (const size of [1, 7, 255, 256, 257, 4095]) {
      const frames = Array.from({ length: COUNT }, () => partition.sendFrame(messages(3, `pieces of ${size}`)));
      const answers = frames.map((frame) => speaker.link.answerTo(new DataView(frame.buffer).getBigUint64(168, true)));
      const stream = Buffer.concat(frames);
      for (let at = 0; at < stream.length; at += size) {
        speaker.link.write(stream.subarray(at, at + size));
        if (at % (size * 8) === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      expect((await Promise.all(answers)).map(outcome)).toEqual(Array.from({ length: COUNT }, () => "ok"));
    }
    expect(await partition.readAll()).toHaveLength(6 * COUNT * 3);
  });

  it("half a frame and then the end of the stream: closed, nothing executed", async () => {
    const speaker = await bound();
    const partition = await freshPartition(speaker);
    const frame = partition.sendFrame(messages(1));
    speaker.link.write(frame.subarray(0, frame.length - 1));
    speaker.link.socket.end();
    expect(await speaker.link.closes(2000)).toBe(true);
    expect((await partition.by(session).poll(first)).messages).toEqual([]);
  });

  it("half a frame and then silence holds nobody else up", async () => {
    const link = await connect();
    link.write(pingFrame(1).subarray(0, 128));
    const large = await bound();
    large.link.write(claiming(64 * 1024 * 1024));
    large.link.write(new Uint8Array(100_000));
    await sleep(50);
    expect(await serves()).toBe(true);
    // The rest may come as late as it likes.
    const answer = link.answerTo(1);
    link.write(pingFrame(1).subarray(128));
    expect(outcome(await answer)).toBe("ok");
  });

  it("a thousand requests at once, far above what is taken in flight, are all answered", async () => {
    const speaker = await bound();
    const partition = await freshPartition(speaker);
    await partition.send(messages(10));
    const frames: Uint8Array[] = [];
    for (let i = 0; i < 1000; i++) {
      frames.push(i % 3 === 0 ? partition.pollFrame(first) : speaker.frame(ping, new Uint8Array(0)));
    }
    const answers = frames.map((frame) => speaker.link.answerTo(new DataView(frame.buffer).getBigUint64(168, true)));
    speaker.link.write(Buffer.concat(frames));
    expect(new Set((await Promise.all(answers)).map(outcome))).toEqual(new Set(["ok"]));
  });

  it("a connection that is cut in any state leaves nothing behind", async () => {
    const speaker = await bound();
    const partition = await freshPartition(speaker);
    const frames: (Uint8Array | undefined)[] = [
      undefined,
      pingFrame(1).subarray(0, 10),
      session.registerFrame(new Uint8Array(0)),
      claiming(1_000_000),
      partition.sendFrame(messages(100)),
    ];
    await eventually("only the two sessions are connected", async () => (await connectionsCount()) === 2);
    for (let round = 0; round < 20; round++) {
      for (const frame of frames) {
        const link = await RawLink.connect(server.port);
        if (frame !== undefined) link.write(frame);
        await (round % 2 === 0 ? link.reset() : link.end());
      }
    }
    await eventually("the connections are gone", async () => (await connectionsCount()) === 2);
  });
});

async function connectionsCount(): Promise<number> {
  const answer = await session.send({ code: 22, operation: Operation.NonReplicated }, new Uint8Array(0));
  if (answer.kind !== "ok") throw new Error(outcome(answer));
  // [client_id u32][user_id u32][transport u8][address str32][groups u32] per connection.
  const view = new DataView(answer.payload.buffer, answer.payload.byteOffset, answer.payload.byteLength);
  let count = 0;
  for (let at = 0; at < view.byteLength; count++) at += 9 + 4 + view.getUint32(at + 9, true) + 4;
  return count;
}

it("headers alone, for every operation, unbound: an answer or an eviction, at once", async () => {
  for (let operation = 0; operation < 256; operation++) {
    const link = await connect();
    const frame = buildRequestHeader({ client: CLIENT, operation, request: 1, session: 1, commandCode: 1 }, 0);
    const answer = await link.ask(frame);
    expect(answer.kind, `operation ${operation}`).not.toBe("closed");
  }
  expect(await serves()).toBe(true);
});
