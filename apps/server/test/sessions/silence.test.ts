import { EvictionReason, getMe, ping } from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { freshPartition, message, outcome, RawLink, RawSession, sleep } from "../raw-client/index.js";

// The lease is 600 ms.
let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ config: { "heartbeat.interval": "500ms" } });
});
afterAll(() => server.close());

/** Pings like a client does, until it is stopped. */
function pinging(session: RawSession): { stop(): void } {
  const link = session.link;
  const timer = setInterval(() => void link.ask(session.frame(ping, new Uint8Array(0))), 100);
  return { stop: () => clearInterval(timer) };
}

it("a connection that never says anything is closed", async () => {
  const link = await RawLink.connect(server.port);
  expect(await link.closes(2_000)).toBe(true);
});

it("a silent connection of a session that lives elsewhere is evicted as stale, and the session goes on", async () => {
  const session = await RawSession.open(server.port);
  const silent = session.link;
  await session.bind(await RawLink.connect(server.port));
  const pings = pinging(session);
  expect(await silent.closes(2_000)).toBe(true);
  expect(silent.unclaimed.map(outcome)).toEqual([`eviction ${EvictionReason.StaleClient}`]);
  expect(await session.try(getMe, {})).toBe("ok");
  pings.stop();
  await session.close();
});

it("a session whose only connection is silent ends, and with it the connection", async () => {
  const session = await RawSession.open(server.port);
  expect(await session.link.closes(2_000)).toBe(true);
  expect(session.link.unclaimed.map(outcome)).toEqual([`eviction ${EvictionReason.StaleClient}`]);
  await sleep(600);
  expect(outcome(await session.bind(await RawLink.connect(server.port)))).toBe("status 40");
  await session.close();
});

it("a frame that takes longer than the lease to arrive keeps its session alive", async () => {
  const session = await RawSession.open(server.port);
  const partition = await freshPartition(session);
  await partition.send([message("the partition is ready")]);
  const request = session.nextRequest();
  const frame = partition.sendFrame([message("x".repeat(100_000))], undefined, { request });
  const sent = session.link.answerTo(request);
  for (let at = 0; at < frame.length; at += 4_000) {
    session.link.write(frame.subarray(at, at + 4_000));
    await sleep(60);
  }
  expect(outcome(await sent)).toBe("ok");
  await session.close();
});
