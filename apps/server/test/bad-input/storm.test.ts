import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  changePassword,
  commands,
  createUser,
  encodeRequest,
  getClients,
  getTopic,
  loginRegister,
  noPermissions,
  ping,
  type StreamPermissions,
} from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  developmentEnvironment,
  eventually,
  first,
  freshTopic,
  message,
  outcome,
  type RawPartition,
  RawLink,
  RawSession,
  type ReadMessage,
  root,
  Seeded,
  ServerProcess,
  sleep,
  textOf,
} from "../raw-client/index.js";
import { mutatedFrame, randomFrame, type Target } from "./noise.js";

const MIB = 1024 * 1024;
const SEED = Number(process.env["IGGY_TEST_SEED"] ?? 20_261_129);
const FRAMES = Number(process.env["IGGY_TEST_STORM_FRAMES"] ?? 10_000);
/** Frames written to one connection before the next one is opened; few, since many of them end it. */
const FRAMES_PER_CONNECTION = 4;
/** Memory above that of the quiet server: for replies that a client does not read, and for whatever awaits collection. */
const PEAK_GROWTH_MAX = 640 * MIB;
/** The same once the storm is over. */
const LASTING_GROWTH_MAX = 384 * MIB;
/** What a second storm may add to the first: whatever grows with each storm is a leak. */
const SECOND_GROWTH_MAX = 128 * MIB;
/** Longest time for which a storm may hold up another client, on a machine that runs other tests too. */
const WITNESS_LATENCY_MAX_MILLIS = 5000;

let dataDirectory: string;
let server: ServerProcess;
let admin: RawSession;
let guarded: readonly RawPartition[];
let stored: readonly (readonly ReadMessage[])[];
let quietBytes: number;
let witness: Witness;

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-storm-"));
  server = await ServerProcess.start({
    dataDirectory,
    environment: {
      ...developmentEnvironment,
      IGGY_MESSAGE_BUS_CONNECTIONS_MAX: "8192",
      // Mutated requests may ask for a thousand partitions at a time.
      IGGY_METADATA_PARTITIONS_MAX: "200",
    },
  });
  admin = await RawSession.open(server.port);
  ({ partitions: guarded } = await freshTopic(admin, { partitions: 4 }));
  const random = new Seeded(SEED);
  for (const partition of guarded) {
    for (let batch = 0; batch < 50; batch++) {
      const payloads = Array.from({ length: 1 + random.integer(19) }, () => random.bytes(1 + random.integer(2000)));
      await partition.send(payloads.map((payload) => ({ payload, originTimestamp: 1 })));
    }
    for (let large = 0; large < 8; large++) {
      await partition.send([{ payload: Buffer.alloc(MIB, large), originTimestamp: 1 }]);
    }
  }
  stored = await Promise.all(guarded.map((partition) => partition.readAll()));
  witness = await Witness.start(server.port);
  await sleep(500);
  quietBytes = server.residentBytes;
}, 60_000);

afterEach(async () => {
  await Promise.all(links.splice(0).map((link) => link.reset()));
  expect(server.child.exitCode, server.stderr).toBeNull();
  // Whatever a client sends is refused by a rule, never by an accident.
  expect(server.stdout.split("\n").filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
  expect(witness.failures).toEqual([]);
  expect(witness.takeWorstMillis()).toBeLessThan(WITNESS_LATENCY_MAX_MILLIS);
});

afterAll(async () => {
  await witness.stop();
  await admin.close();
  await server.kill();
  await rm(dataDirectory, { recursive: true });
});

/** Another client that works all the while and remembers what it was told. */
class Witness {
  readonly sent: string[] = [];
  readonly failures: string[] = [];
  private readonly partition: RawPartition;
  private readonly running: Promise<void>;
  private worstMillis = 0;
  private stopped = false;

  private constructor(partition: RawPartition) {
    this.partition = partition;
    this.running = this.run();
  }

  static async start(port: number): Promise<Witness> {
    const session = await RawSession.open(port);
    const { partitions } = await freshTopic(session);
    return new Witness(partitions[0]!);
  }

  takeWorstMillis(): number {
    const worst = this.worstMillis;
    this.worstMillis = 0;
    return worst;
  }

  readAll(): Promise<ReadMessage[]> {
    return this.partition.readAll();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
    await this.partition.session.close();
  }

  private async run(): Promise<void> {
    try {
      for (let number = 0; !this.stopped; number++) {
        const startedAt = performance.now();
        const text = `witness ${number}`;
        const offset = await this.partition.send([message(text)]);
        this.sent.push(text);
        if (offset !== number) throw new Error(`message ${number} is at ${offset}`);
        this.worstMillis = Math.max(this.worstMillis, performance.now() - startedAt);
        await sleep(10);
      }
    } catch (error) {
      if (!this.stopped) this.failures.push(String(error));
    }
  }
}

const connectionsCount = async (): Promise<number> => (await admin.call(getClients, {})).clients.length;

/** Connections that one test opens and may leave behind. */
const links: RawLink[] = [];

async function connect(count: number): Promise<readonly RawLink[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => RawLink.connect(server.port)));
  links.push(...opened);
  return opened;
}

/** Binds a new connection to a session, signing in again when that has ended. */
async function reconnect(session: RawSession, credentials = root): Promise<RawSession> {
  await session.link.end();
  const answer = await session.bind(await RawLink.connect(server.port));
  if (answer.kind === "ok") return session;
  await session.link.end();
  return RawSession.open(server.port, credentials);
}

/**
 * Writes frames to one connection at a time. Each must be followed by the answer to a ping behind them, or by the end of
 * the connection: nothing is left hanging.
 */
async function storm(
  count: number,
  session: RawSession,
  make: (session: RawSession) => Uint8Array,
  credentials = root,
): Promise<void> {
  let speaker = session;
  for (let done = 0; done < count; done += FRAMES_PER_CONNECTION) {
    speaker = await reconnect(speaker, credentials);
    const frames = Array.from({ length: Math.min(FRAMES_PER_CONNECTION, count - done) }, () => make(speaker));
    for (const frame of frames) speaker.link.write(frame);
    await speaker.link.ask(speaker.frame(ping, new Uint8Array(0), { minimumMetadataOp: 0 }));
    await speaker.link.end();
  }
}

describe("a storm", () => {
  it(`of ${FRAMES} frames of noise`, { timeout: 120_000 }, async () => {
    const random = new Seeded(SEED);
    await storm(FRAMES, await RawSession.open(server.port), (session) => randomFrame(random, session));
  });

  it("of noise that is not even framed", async () => {
    const random = new Seeded(SEED + 1);
    for (let round = 0; round < 200; round++) {
      const link = await RawLink.connect(server.port);
      link.write(random.bytes(1 + random.integer(5000)));
      if (round % 2 === 0) await link.reset();
      else await link.end();
    }
  });

  it(`of ${FRAMES} sound frames with a few bytes changed`, { timeout: 120_000 }, async () => {
    const random = new Seeded(SEED + 2);
    const { target, user } = await sacrifice();
    const session = await RawSession.open(server.port, user);
    const safe = commands.filter(({ code }) => code !== changePassword.code);
    await storm(FRAMES, session, (speaker) => mutatedFrame(random, speaker, random.pick(safe), target), user);
  });

  it("of connections that say nothing", async () => {
    const silent = await connect(1000);
    await eventually("all are accepted", async () => (await connectionsCount()) >= 1000);
    await sleep(500);
    expect(silent.every(({ isOpen }) => isOpen)).toBe(true);
  });

  it("of connections that come and go", async () => {
    for (let round = 0; round < 20; round++) {
      const crowd = await connect(50);
      await Promise.all(crowd.map((link) => link.reset()));
    }
  });

  it("of half frames and silence behind them, from strangers and from users", async () => {
    const head = admin.frame(ping, new Uint8Array(0));
    new DataView(head.buffer).setUint32(48, 64 * MIB, true);
    const strangers = await connect(200);
    for (const link of strangers) link.write(Buffer.concat([head, Buffer.alloc(64 * 1024)]));
    expect((await Promise.all(strangers.map((link) => link.closes()))).every((closed) => closed)).toBe(true);
    for (let i = 0; i < 40; i++) {
      const session = new RawSession(await RawLink.connect(server.port), admin.client, admin.secret);
      expect(outcome(await session.bind(session.link, { session: admin.session }))).toBe("ok");
      session.link.write(Buffer.concat([head, Buffer.alloc(MIB)]));
      links.push(session.link);
    }
    await sleep(300);
    expect(server.residentBytes - quietBytes).toBeLessThan(PEAK_GROWTH_MAX);
  });

  it("of 65 MiB in one frame: refused at its head", async () => {
    const session = await RawSession.open(server.port);
    const head = session.frame(ping, new Uint8Array(0));
    new DataView(head.buffer).setUint32(48, 65 * MIB, true);
    session.link.write(head);
    const chunk = Buffer.alloc(MIB);
    for (let i = 0; i < 65 && session.link.isOpen; i++) session.link.write(chunk);
    expect(await session.link.closes()).toBe(true);
  });

  it("of replies that a client asks for and never reads: it is read no further, or loses its connection", async () => {
    await askWithoutReading();
  });

  it("of requests whose replies a client reads late: it gets them all", async () => {
    const slow = await RawSession.open(server.port);
    const partition = guarded[0]!.by(slow);
    slow.link.socket.pause();
    const frames = Array.from({ length: 20 }, () => partition.pollFrame(first, { count: 10_000 }));
    const answers = frames.map((frame) => slow.link.ask(frame));
    await sleep(500);
    slow.link.socket.resume();
    expect(new Set((await Promise.all(answers)).map(outcome))).toEqual(new Set(["ok"]));
    await slow.close();
  });

  it("of logins, each with a wrong password", async () => {
    const strangers = await connect(200);
    const body = encodeRequest(loginRegister, {
      versionInfo: { protocolVersion: 12_290, sdkName: "s", sdkVersion: "1" },
      bindSecret: new Uint8Array(32),
      username: "iggy",
      password: "wrong",
      clientContext: null,
    });
    const answers = strangers.map((link) => link.ask(new RawSession(link).registerFrame(body)));
    const outcomes = new Set((await Promise.all(answers)).map(outcome));
    expect([...outcomes].every((each) => each === "eviction 9" || each === "result 58")).toBe(true);
  });
});

async function askWithoutReading(): Promise<void> {
  const greedy = await RawSession.open(server.port);
  greedy.link.socket.pause();
  const partition = guarded[0]!.by(greedy);
  for (let i = 0; i < 200; i++) greedy.link.write(partition.pollFrame(first, { count: 10_000 }));
  // Where all requests arrive together, their replies are more than the server keeps; else it reads no further.
  await sleep(2000);
  greedy.link.socket.destroy();
  await eventually("the connection is gone", async () => (await connectionsCount()) === 2);
}

/** Resident memory after work that makes the collector run: a quiet server gives nothing back by itself. */
async function settledBytes(): Promise<number> {
  for (let i = 0; i < 60; i++) await guarded[0]!.poll(first, { count: 10_000 });
  await sleep(500);
  return server.residentBytes;
}

/** A user who may do anything to one stream of its own, and nothing to others. */
async function sacrifice(): Promise<{ readonly target: Target; readonly user: typeof root }> {
  const { streamId, topicId, partitions } = await freshTopic(admin, { partitions: 2 });
  const stream: StreamPermissions = {
    streamId,
    manageStream: true,
    readStream: true,
    manageTopics: true,
    readTopics: true,
    pollMessages: true,
    sendMessages: true,
    topics: [],
  };
  const user = { username: "sacrifice", password: "s3cret" };
  const permissions = {
    global: { ...noPermissions.global, readServers: true, readUsers: true, readStreams: true },
    streams: [stream],
  };
  await admin.call(createUser, { ...user, status: 1, permissions, options: [] });
  return { target: { streamId, topicId, context: partitions[0]!.context }, user };
}

describe("after the storm", () => {
  it("what was stored is as it was", async () => {
    for (const [index, partition] of guarded.entries()) {
      const messages = await partition.readAll();
      expect(messages.length).toBe(stored[index]!.length);
      for (const [at, { offset, payload, timestamp }] of messages.entries()) {
        const before = stored[index]![at]!;
        expect([offset, timestamp, Buffer.compare(payload, before.payload)]).toEqual([
          before.offset,
          before.timestamp,
          0,
        ]);
      }
      const { streamId, topicId } = partition;
      expect((await admin.call(getTopic, { streamId, topicId }))?.partitions).toHaveLength(4);
    }
    const { sent } = witness;
    const seen = (await witness.readAll()).slice(0, sent.length).map(textOf);
    expect(seen).toEqual(sent.slice(0, seen.length));
    expect(sent.length).toBeGreaterThan(100);
  });

  it("nobody is left but the two that work", async () => {
    await eventually("connections are gone", async () => (await connectionsCount()) === 2);
  });

  it("memory was bounded, and a second storm takes hardly more", { timeout: 60_000 }, async () => {
    expect(server.peakResidentBytes - quietBytes).toBeLessThan(PEAK_GROWTH_MAX);
    const afterFirst = await settledBytes();
    expect(afterFirst - quietBytes).toBeLessThan(LASTING_GROWTH_MAX);
    const random = new Seeded(SEED + 3);
    await storm(FRAMES / 4, await RawSession.open(server.port), (session) => randomFrame(random, session));
    await askWithoutReading();
    expect((await settledBytes()) - afterFirst).toBeLessThan(SECOND_GROWTH_MAX);
    expect(server.peakResidentBytes - quietBytes).toBeLessThan(PEAK_GROWTH_MAX);
  });

  it("a stop is clean, and the next start finds everything", { timeout: 60_000 }, async () => {
    const { sent } = witness;
    await witness.stop();
    await admin.close();
    expect(await server.stop()).toBe(0);
    server = await ServerProcess.start({ dataDirectory });
    admin = await RawSession.open(server.port);
    for (const [index, partition] of guarded.entries()) {
      const messages = await partition.by(admin).readAll();
      expect(messages.map(({ offset }) => offset)).toEqual(stored[index]!.map(({ offset }) => offset));
      expect(messages.every(({ payload }, at) => Buffer.compare(payload, stored[index]![at]!.payload) === 0)).toBe(
        true,
      );
    }
    expect(sent.length).toBeGreaterThan(100);
  });
});
