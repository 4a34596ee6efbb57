import {
  createConsumerGroup,
  createPersonalAccessToken,
  getClients,
  getConsumerGroup,
  getMe,
  getPersonalAccessTokens,
  joinConsumerGroup,
  numericId,
  ping,
  syncConsumerGroup,
} from "@iggy/protocol";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { eventually, freshTopic, outcome, RawLink, RawSession, sleep } from "../raw-client/index.js";

/** A session ends when nothing was heard of it for 1.2 of these; the server looks once in each. */
const HEARTBEAT_MILLIS = 1000;

let server: RunningServer;
let admin: RawSession;
let beating: NodeJS.Timeout;

beforeAll(async () => {
  server = await startServer({
    config: {
      "heartbeat.interval": `${HEARTBEAT_MILLIS}ms`,
      "personal_access_token.cleaner.interval": "200ms",
      "metadata.clients_table_max": 64,
    },
  });
  admin = await RawSession.open(server.port);
  beating = setInterval(() => void admin.try(ping, {}), HEARTBEAT_MILLIS / 4);
});
afterAll(async () => {
  clearInterval(beating);
  await admin.close();
  await server.close();
});

it("a session of which nothing is heard ends: its memberships go to others, its connections end, and it may sign in anew", async () => {
  const { streamId, topicId } = await freshTopic(admin, { partitions: 2 });
  const place = { streamId: numericId(streamId), topicId: numericId(topicId), groupId: numericId(0) };
  await admin.call(createConsumerGroup, { ...place, name: "group" });
  const silent = await RawSession.open(server.port);
  await silent.call(joinConsumerGroup, place);
  await admin.call(joinConsumerGroup, place);
  await eventually("they share", async () => (await admin.call(syncConsumerGroup, place))?.partitions.length === 1);
  await eventually(
    "the silent one is gone",
    async () => (await admin.call(getConsumerGroup, place))?.members.length === 1,
    4 * HEARTBEAT_MILLIS,
  );
  expect((await admin.call(syncConsumerGroup, place))?.partitions).toEqual([0, 1]);
  expect(outcome(await silent.link.next())).toBe("eviction 13");
  expect(await silent.link.closes()).toBe(true);
  expect(outcome(await silent.bind(await RawLink.connect(server.port)))).toBe("status 40");
  expect(outcome(await silent.send(getMe, new Uint8Array(0)))).toBe("status 40");
  // The same client may come back, with a session of its own once the old one is retired.
  await eventually("it is let in", async () => outcome(await silent.login()) === "ok");
  await silent.close();
});

it("any frame on any of its connections keeps a session, and a closed connection ends nothing", async () => {
  const kept = await RawSession.open(server.port);
  const first = kept.link;
  await kept.bind(await RawLink.connect(server.port));
  await first.end();
  for (let i = 0; i < 12; i++) {
    await sleep(HEARTBEAT_MILLIS / 4);
    expect(outcome(await kept.send(i % 2 === 0 ? getMe : ping, new Uint8Array(0)))).toBe("ok");
  }
  await kept.close();
  await sleep(HEARTBEAT_MILLIS / 2);
  expect(outcome(await kept.bind(await RawLink.connect(server.port)))).toBe("ok");
  await kept.close();
});

it("a connection that says nothing ends, signed in or not; its session lives on with another that does", async () => {
  const stranger = await RawLink.connect(server.port);
  const kept = await RawSession.open(server.port);
  const quiet = kept.link;
  await kept.bind(await RawLink.connect(server.port));
  const told = quiet.next();
  for (let i = 0; i < 16 && quiet.isOpen; i++) {
    await sleep(HEARTBEAT_MILLIS / 4);
    expect(await kept.try(ping, {})).toBe("ok");
  }
  expect(outcome(await told)).toBe("eviction 13");
  expect(await stranger.closes()).toBe(true);
  expect(outcome(await kept.send(getMe, new Uint8Array(0)))).toBe("ok");
  await kept.close();
});

it("ended sessions free their places: many more may come than the table holds", { timeout: 90_000 }, async () => {
  for (let round = 0; round < 2; round++) {
    const crowd: RawSession[] = [];
    for (let i = 0; i < 50; i++) crowd.push(new RawSession(await RawLink.connect(server.port)));
    await eventually(
      "all are let in",
      async () => {
        const outside = crowd.filter(({ session }) => session === 0n);
        await Promise.all(outside.map((session) => session.login()));
        // Each attempt costs a password hash.
        if (outside.length > 0) await sleep(250);
        return outside.length === 0;
      },
      40_000,
    );
    await Promise.all(crowd.map((session) => session.close()));
  }
  await eventually("connections are gone", async () => (await admin.call(getClients, {})).clients.length === 1);
});

it("expired tokens are cleaned away", async () => {
  for (let i = 0; i < 5; i++) await admin.call(createPersonalAccessToken, { name: `brief ${i}`, expiry: 1000n });
  await admin.call(createPersonalAccessToken, { name: "lasting", expiry: 0n });
  await eventually("the brief ones are gone", async () => {
    const { tokens } = await admin.call(getPersonalAccessTokens, {});
    return tokens.map(({ name }) => name).join() === "lasting";
  });
});
