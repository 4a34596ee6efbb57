import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../../start-server.js";
import { Api, message, payloadsOf } from "./api-client.js";

const PENDING_MAX = 3;

let server: RunningServer;
let api: Api;

beforeAll(async () => {
  server = await startServer({
    config: {
      "sharding.deferred_poll_max_pending": PENDING_MAX,
      "sharding.deferred_poll_max_pending_per_session": PENDING_MAX,
      "sharding.deferred_poll_max_wait": "20s",
    },
  });
  api = await Api.signIn(server);
});
afterAll(() => server.close());

type Query = Readonly<Record<string, string | number | bigint | boolean>>;
const deferred = (topic: string, query: Query, signal?: AbortSignal): ReturnType<Api["call"]> =>
  api.call(query["auto_commit"] === true ? "POST" : "GET", `${topic}/messages/deferred`, {
    query,
    ...(signal === undefined ? {} : { signal }),
  });

/** One that comes again while probes take its place. */
async function insistent(topic: string, query: Query, signal?: AbortSignal): ReturnType<Api["call"]> {
  for (;;) {
    const answer = await deferred(topic, query, signal);
    if (answer.status !== 503) return answer;
  }
}

/** Resolves once this many polls wait, which only shows in what a further one is answered. */
async function parked(topic: string, count: number): Promise<void> {
  for (;;) {
    const probes = Array.from({ length: PENDING_MAX - count + 1 }, () =>
      deferred(topic, { wait_us: 50_000, value: 1000 }),
    );
    const statuses = (await Promise.all(probes)).map(({ status }) => status);
    if (statuses.includes(503)) return;
  }
}

describe("a deferred poll", () => {
  it("of an idle partition answers with nothing after its wait", async () => {
    const topic = await api.makeTopic();
    const begun = performance.now();
    const answer = await deferred(topic, { wait_us: 300_000 });
    expect([answer.status, answer.json["count"]]).toEqual([200, 0]);
    expect(performance.now() - begun).toBeGreaterThan(290);
    expect(answer.json["context"]).toMatchObject({ owner_generation: 0 });
  });

  it("answers as soon as there are messages", async () => {
    const topic = await api.makeTopic();
    const waiting = insistent(topic, { wait_us: 15_000_000 });
    await parked(topic, 1);
    await api.send(topic, [message("early")]);
    expect(payloadsOf(await waiting)).toEqual(["early"]);
  });

  it("waits for as many messages as it asks for", async () => {
    const topic = await api.makeTopic();
    const waiting = insistent(topic, { wait_us: 15_000_000, min_count: 2 });
    await parked(topic, 1);
    await api.send(topic, [message("one")]);
    await api.send(topic, [message("two")]);
    expect(payloadsOf(await waiting)).toEqual(["one", "two"]);
  });

  it("stays within its bytes, and gives a first message above them alone", async () => {
    const topic = await api.makeTopic();
    await api.send(topic, [message("x".repeat(50_000)), message("y")]);
    await api.send(topic, [message("z")]);
    const first = await deferred(topic, { max_bytes: 1024 });
    expect(payloadsOf(first).map(({ length }) => length)).toEqual([50_000]);
    const second = await deferred(topic, { value: 1, max_bytes: 344 + 1 });
    expect(payloadsOf(second)).toEqual(["y"]);
  });

  it("gives a message of a megabyte to a reader of a kilobyte, whether it waits or not", async () => {
    const topic = await api.makeTopic();
    await api.send(topic, [message("x".repeat(1_000_000))]);
    for (const wait_us of [0, 1_000_000]) {
      const answer = await deferred(topic, { max_bytes: 1024, wait_us, min_count: 2 });
      expect(payloadsOf(answer).map(({ length }) => length)).toEqual([1_000_000]);
    }
  });

  it("by POST stores the offset of what it gave", async () => {
    const topic = await api.makeTopic();
    await api.send(topic, [message("one"), message("two")]);
    const query = { kind: "next", consumer_id: "c", auto_commit: true, wait_us: 100_000 };
    expect(payloadsOf(await deferred(topic, query))).toEqual(["one", "two"]);
    expect(payloadsOf(await deferred(topic, query))).toEqual([]);
    const stored = await api.call("GET", `${topic}/consumer-offsets`, { query: { consumer_id: "c" } });
    expect(stored.json["stored_offset"]).toBe(1);
  });

  it.each<[Query, number, number]>([
    [{ wait_us: 600_000_001 }, 400, 3],
    [{ wait_us: 1_000_000, request_timeout_us: 1_999_999 }, 400, 3],
    [{ request_timeout_us: 0 }, 400, 3],
    [{ request_timeout_us: 630_000_001 }, 400, 3],
    [{ min_count: 0 }, 400, 4009],
    [{ min_count: 11 }, 400, 4009],
    [{ max_bytes: 343 }, 400, 80],
    [{ consumer_kind: "consumer_group" }, 400, 5],
    [{ partition_id: 1 }, 404, 3007],
  ])("by %j is refused", async (query, status, id) => {
    const answer = await deferred(await api.makeTopic(), query);
    expect([answer.status, answer.json["id"]]).toEqual([status, id]);
  });

  it("beyond those that may wait is refused with 503 and 90, and the others go on", async () => {
    const topic = await api.makeTopic();
    const waiting = Array.from({ length: PENDING_MAX }, () => insistent(topic, { wait_us: 15_000_000 }));
    await parked(topic, PENDING_MAX);
    const refused = await deferred(topic, { wait_us: 15_000_000 });
    expect([refused.status, refused.json["id"], refused.headers.get("retry-after")]).toEqual([503, 90, "1"]);
    await api.send(topic, [message("x")]);
    for (const answer of await Promise.all(waiting)) expect(payloadsOf(answer)).toEqual(["x"]);
  });

  it("whose client goes away makes room for another", async () => {
    const topic = await api.makeTopic();
    for (let round = 0; round < 3; round++) {
      const gone = new AbortController();
      const waiting = Array.from({ length: PENDING_MAX }, () =>
        insistent(topic, { wait_us: 15_000_000 }, gone.signal).catch(() => undefined),
      );
      await parked(topic, PENDING_MAX);
      gone.abort();
      await Promise.all(waiting);
      // There is room again as soon as the server has noticed.
      while ((await deferred(topic, { wait_us: 1000, value: 1000 })).status === 503);
    }
  });

  it("ends with 87 or 404 when its partition is deleted", async () => {
    const topic = await api.makeTopic();
    const waiting = insistent(topic, { wait_us: 15_000_000 });
    await parked(topic, 1);
    expect((await api.call("DELETE", topic)).status).toBe(204);
    const { status, json } = await waiting;
    expect([
      [400, 87],
      [404, 3007],
    ]).toContainEqual([status, json["id"]]);
  });

  it("by other methods is 405", async () => {
    const topic = await api.makeTopic();
    expect((await api.call("PUT", `${topic}/messages/deferred`)).status).toBe(405);
  });
});
