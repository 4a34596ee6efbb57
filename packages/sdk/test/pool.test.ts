import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ClientShutdownError, Consumer, PollingStrategy, TimeoutError, ValidationError } from "../src/index.js";
import { ClientPoolCore, type ClientPoolOptions } from "../src/pool/index.js";
import { FakeServer } from "../src/testing/index.js";

let server: FakeServer;
let pool: ClientPoolCore;
let made = 0;

function setUp(options?: ClientPoolOptions): ClientPoolCore {
  made = 0;
  pool = new ClientPoolCore(() => {
    made++;
    return server.client({ heartbeatInterval: 0 });
  }, options);
  return pool;
}

beforeEach(() => {
  server = new FakeServer();
});
afterEach(async () => {
  vi.useRealTimers();
  await pool.close();
  await server.close();
});

test("calls at once spread over members, up to max; one after the other stay on one", async () => {
  setUp({ max: 3 });
  await pool.stream.list();
  await pool.stream.list();
  expect(pool.size).toBe(1);
  await Promise.all(Array.from({ length: 10 }, () => pool.stream.list()));
  expect(pool.size).toBe(3);
  expect(made).toBe(3);
});

test("min members are there from the start, each signed in by connect()", async () => {
  await setUp({ min: 2, max: 2 }).connect();
  expect(made).toBe(2);
  expect([...Array(2).keys()].map((id) => pool.member(id)?.getConnectionInfo().serverAddress)).toHaveLength(2);
});

test("round robin takes each member in turn", async () => {
  setUp({ min: 2, max: 2, strategy: "round-robin" });
  const seen = [];
  for (let call = 0; call < 4; call++) {
    server.refuseNext(201, 41);
    const error = await pool.stream.list().catch((e: unknown) => e);
    seen.push((error as { readonly context: { readonly member: number } }).context.member);
  }
  expect(seen).toEqual([0, 1, 0, 1]);
});

test("what belongs to a session stays on the pinned member", async () => {
  setUp({ min: 3, max: 3, strategy: "round-robin" });
  await pool.stream.create({ name: "s" });
  await pool.topic.create({ streamId: "s", name: "t" });
  const group = { streamId: "s", topicId: "t", groupId: "g" };
  await pool.group.create({ streamId: "s", topicId: "t", name: "g" });
  await pool.group.join(group);
  for (let call = 0; call < 3; call++) {
    await expect(
      pool.message.poll({
        streamId: "s",
        topicId: "t",
        partitionId: 0,
        consumer: Consumer.Group("g"),
        pollingStrategy: PollingStrategy.First,
        options: {},
      }),
    ).resolves.toBeDefined();
  }
  const producer = pool.pinned.producer({ streamId: "s", topicId: "t" });
  await producer.send([{ payload: "x" }]);
  await expect(
    pool.offset.get({ streamId: "s", topicId: "t", partitionId: 0, consumer: Consumer.Single }),
  ).resolves.toBeNull();
});

describe("acquire", () => {
  test("hands a member to one caller; the pool does not use it meanwhile", async () => {
    setUp({ max: 2, acquireTimeout: 20 });
    const own = await pool.acquire();
    expect(own.client).not.toBe(pool.pinned);
    server.refuseNext(201, 41, 3);
    const errors = await Promise.all([0, 1, 2].map(() => pool.stream.list().catch((error: unknown) => error)));
    for (const error of errors) expect(error).toMatchObject({ context: { member: 0 } });
    await expect(pool.acquire()).rejects.toBeInstanceOf(TimeoutError);
    const next = pool.acquire();
    own.release();
    expect((await next).member).toBe(own.member);
  });

  test("is given back at the end of its block", async () => {
    setUp({ max: 2, acquireTimeout: 20 });
    {
      await using own = await pool.acquire();
      await own.client.stream.list();
    }
    (await pool.acquire()).release();
  });

  test("needs a second member", async () => {
    setUp({ max: 1 });
    await expect(pool.acquire()).rejects.toBeInstanceOf(ValidationError);
  });
});

test("members above min that do nothing are closed; the pinned one is not", async () => {
  vi.useFakeTimers();
  setUp({ max: 3, idleTimeout: 1000 });
  await Promise.all([pool.stream.list(), pool.stream.list(), pool.stream.list()]);
  expect(pool.size).toBe(3);
  await vi.advanceTimersByTimeAsync(3000);
  expect(pool.size).toBe(1);
  await expect(pool.stream.list()).resolves.toEqual([]);
});

test("close waits for calls under way; later ones are refused", async () => {
  setUp();
  const call = pool.stream.create({ name: "s" });
  const closing = pool.close();
  await expect(call).resolves.toMatchObject({ name: "s" });
  await closing;
  await expect(pool.stream.list()).rejects.toBeInstanceOf(ClientShutdownError);
  await expect(pool.acquire()).rejects.toBeInstanceOf(ClientShutdownError);
});

test("sizes are checked", () => {
  setUp();
  expect(() => new ClientPoolCore(() => server.client(), { min: 3, max: 2 })).toThrow(RangeError);
});
