import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStream, encodeRequest, ping, RequestHeader } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startServer } from "../start-server.js";
import {
  type Answer,
  consumer,
  developmentEnvironment,
  first,
  flushAfter,
  freshPartition,
  message,
  messages,
  next,
  outcome,
  RawLink,
  type RawPartition,
  RawSession,
  ServerProcess,
  sleep,
  textOf,
} from "../raw-client/index.js";

/** Drain, close grace and what a loaded machine adds. */
const STOP_WITHIN_MILLIS = 10_000;
const POLLS_PER_SESSION = 50;

let dataDirectory: string;
let server: ServerProcess;

/** Sends one batch after the other until the server takes no more. Gives the texts that were acknowledged. */
async function sendOn(partition: RawPartition): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let number = 0; ; number++) {
    const text = `message ${number}`;
    const answer = await partition.trySend([message(text)]);
    if (answer.kind === "ok") acknowledged.push(text);
    else {
      expect(outcome(answer)).toMatch(/^(status 58|closed)$/);
      return acknowledged;
    }
  }
}

async function stopped(): Promise<void> {
  const startedAt = performance.now();
  expect(await server.exit()).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(STOP_WITHIN_MILLIS);
  expect(server.stderr).toBe("");
  expect(server.stdout).not.toMatch(/"level":"(error|fatal)"/);
}

async function storedAfterRestart(partition: RawPartition): Promise<string[]> {
  server = await ServerProcess.start({ dataDirectory });
  const session = await RawSession.open(server.port);
  const stored = (await partition.by(session).readAll()).map(textOf);
  await session.close();
  return stored;
}

describe("a signal to stop", () => {
  beforeEach(async () => {
    dataDirectory = await mkdtemp(join(tmpdir(), "iggy-stop-"));
    server = await ServerProcess.start({ dataDirectory });
  });
  afterEach(async () => {
    await server.kill();
    await rm(dataDirectory, { recursive: true });
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "%s, while a hundred polls wait and a client sends: exit 0, every poll is told, nothing is lost",
    { timeout: 60_000 },
    async (signal) => {
      const sender = await RawSession.open(server.port);
      const partition = await freshPartition(sender, { options: [flushAfter(1_000_000)] });
      const quiet = await freshPartition(sender);
      const parked: Promise<Answer>[] = [];
      for (let i = 0; i < 2; i++) {
        const reader = await RawSession.open(server.port);
        const theirs = quiet.by(reader);
        for (let poll = 0; poll < POLLS_PER_SESSION; poll++) {
          parked.push(reader.link.ask(theirs.pollFrame(next, { waitMillis: 30_000, consumer: consumer(poll) })));
        }
        expect(await reader.try(ping, {})).toBe("ok");
      }
      const sending = sendOn(partition);
      await sleep(300);
      server.signal(signal);
      const acknowledged = await sending;
      await stopped();
      for (const answer of await Promise.all(parked)) expect(outcome(answer)).toMatch(/^(status 58|closed)$/);
      expect(acknowledged.length).toBeGreaterThan(10);
      const stored = await storedAfterRestart(partition);
      expect(stored.slice(0, acknowledged.length)).toEqual(acknowledged);
      expect(stored.length - acknowledged.length).toBeLessThanOrEqual(1);
    },
  );

  it("twice does not cut the first one short", { timeout: 60_000 }, async () => {
    const sender = await RawSession.open(server.port);
    const partition = await freshPartition(sender, { options: [flushAfter(1_000_000)] });
    const sending = sendOn(partition);
    await sleep(200);
    server.signal("SIGTERM");
    server.signal("SIGTERM");
    server.signal("SIGINT");
    const acknowledged = await sending;
    await stopped();
    expect((await storedAfterRestart(partition)).slice(0, acknowledged.length)).toEqual(acknowledged);
  });

  it(
    "is not held up by clients that never close, never read, or never finish a frame",
    { timeout: 60_000 },
    async () => {
      const session = await RawSession.open(server.port);
      const partition = await freshPartition(session);
      for (let i = 0; i < 8; i++) await partition.send([{ payload: Buffer.alloc(1_000_000), originTimestamp: 1 }]);
      const silent = await RawLink.connect(server.port, { halfOpen: true });
      const half = await RawLink.connect(server.port, { halfOpen: true });
      half.write(session.frame(ping, new Uint8Array(0)).subarray(0, 100));
      const deaf = await RawSession.open(server.port, undefined, { halfOpen: true });
      deaf.link.socket.pause();
      for (let i = 0; i < 4; i++) deaf.link.write(partition.by(deaf).pollFrame(first, { count: 1000 }));
      await sleep(200);
      server.signal("SIGTERM");
      await stopped();
      for (const link of [silent, half, deaf.link]) link.socket.destroy();
    },
  );

  it("during the start ends the start", { timeout: 60_000 }, async () => {
    await server.kill();
    for (const delayMillis of [50, 300, 600]) {
      server = ServerProcess.spawn({ dataDirectory });
      await sleep(delayMillis);
      server.signal("SIGTERM");
      const exit = await server.exit();
      // Before the process has taken the signal over, the system's own meaning holds.
      expect([0, "SIGTERM"]).toContain(exit);
    }
    server = await ServerProcess.start({ dataDirectory });
  });

  it("frees the port: it can be bound again at once", { timeout: 30_000 }, async () => {
    const session = await RawSession.open(server.port);
    const { port } = server;
    server.signal("SIGTERM");
    await server.exit();
    await session.link.closed;
    const environment = { ...developmentEnvironment, IGGY_TCP_ADDRESS: `127.0.0.1:${port}` };
    server = await ServerProcess.start({ dataDirectory, environment });
    expect(server.port).toBe(port);
  });
});

describe("a stop in a process", () => {
  it("answers what is under way, refuses what comes late as not admitted, and may be asked for twice", async () => {
    const own = await startServer();
    const session = await RawSession.open(own.port);
    const partition = await freshPartition(session);
    const poll = partition.pollFrame(next, { waitMillis: 20_000 });
    const parked = session.link.ask(poll);
    const send = session.link.ask(partition.sendFrame(messages(1)));
    const metadata = encodeRequest(createStream, { name: "late", options: [] });
    expect(outcome(await session.link.ask(session.frame(createStream, metadata)))).toBe("ok");
    expect(outcome(await send)).toBe("ok");
    // The message woke the poll that waited for it.
    expect(outcome(await parked)).toBe("ok");
    const again = session.link.ask(
      partition.pollFrame(next, { waitMillis: 20_000, consumer: consumer(2), minCount: 9 }),
    );
    expect(await session.try(ping, {})).toBe("ok");
    const closing = own.close();
    const late = await session.send(ping, new Uint8Array(0));
    expect(outcome(late)).toMatch(/^(status 58|closed)$/);
    expect(outcome(await again)).toBe("status 58");
    await Promise.all([closing, own.close()]);
    expect(session.link.isOpen).toBe(false);
    await expect(RawLink.connect(own.port)).rejects.toThrow("ECONNREFUSED");
    expect(new RequestHeader().at(poll, 0).request).toBeGreaterThan(0);
  });

  it("closes a TLS port at once, also while a handshake is under way", async () => {
    const own = await startServer({ config: { "tcp.tls.enabled": true } });
    const handshaking = await RawLink.connect(own.port);
    const session = await RawSession.open(own.port, undefined, { tls: true });
    const startedAt = performance.now();
    await own.close();
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(await handshaking.closes(2000)).toBe(true);
    expect(await session.link.closes(2000)).toBe(true);
  });
});
