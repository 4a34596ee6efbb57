import { createStream, getStream } from "@iggy/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { EventQueue } from "../src/client/event-queue.js";
import type { ClientEvent, RequestInfo, ResponseInfo } from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedNode } from "./support/scripted-node.js";

let open: ClientCore | undefined;
afterEach(() => open?.destroy());

function setUp(config: Parameters<MemoryNetwork["client"]>[0] = {}) {
  const node = new ScriptedNode();
  open = new MemoryNetwork(node).client(config);
  return { node, client: open };
}

describe("listeners", () => {
  test("hear of sign-in and end, in order", async () => {
    const { client } = setUp();
    const heard: string[] = [];
    for (const name of ["connected", "link-up", "signedIn", "link-down", "shutdown"] as const) {
      client.on(name, () => heard.push(name));
    }
    await client.connect();
    await client.close();
    expect(heard).toEqual(["signedIn", "connected", "link-up", "link-down", "shutdown"]);
  });

  test("hear once of a link that is lost while the client says goodbye", async () => {
    const { node, client } = setUp();
    let downs = 0;
    client.on("link-down", () => downs++);
    await client.connect();
    node.handler = (received) => received.wire.reset();
    await client.close();
    expect(downs).toBe(1);
  });

  test("one that throws breaks nothing and becomes an error event", async () => {
    const { client } = setUp();
    const errors: unknown[] = [];
    client.on("connected", () => {
      throw new Error("mine");
    });
    client.on("error", ({ error }) => errors.push(error));
    await client.connect();
    expect(errors).toMatchObject([{ message: "mine" }]);
    await expect(client.system.ping()).resolves.toBe(true);
  });

  test("an error listener that throws ends there", async () => {
    const { client } = setUp();
    client.on("connected", () => {
      throw new Error("mine");
    });
    client.on("error", () => {
      throw new Error("again");
    });
    await expect(client.connect()).resolves.toBe(client);
  });

  test("off and once", async () => {
    const { client } = setUp();
    let always = 0;
    let removed = 0;
    let once = 0;
    const count = (): void => {
      removed++;
    };
    client.on("link-up", () => always++);
    client.on("link-up", count).off("link-up", count);
    client.once("link-up", () => once++);
    await client.connect();
    await client.disconnect();
    await client.connect();
    expect([always, removed, once]).toEqual([2, 0, 1]);
  });
});

describe("the stream of events", () => {
  test("holds everything from the call on and ends with the client", async () => {
    const { client } = setUp();
    const events = client.events();
    await client.connect();
    await client.close();
    const seen: string[] = [];
    for await (const event of events) seen.push(event.type);
    expect(seen).toContain("signedIn");
    expect(seen.at(-1)).toBe("shutdown");
  });

  test("begun after the end, it is over", async () => {
    const { client } = setUp();
    await client.close();
    for await (const event of client.events()) throw new Error(event.type);
  });

  test("can be left while nothing happens", async () => {
    const { client } = setUp();
    const events = client.events()[Symbol.asyncIterator]();
    const next = events.next();
    await events.return?.();
    await expect(next).resolves.toEqual({ done: true, value: undefined });
  });

  test("a slow reader loses the oldest and is told how many", async () => {
    const { client } = setUp();
    const events = client.events({ buffer: 2 });
    for (let i = 0; i < 3; i++) {
      await client.connect();
      await client.disconnect();
    }
    await client.close();
    const seen: ClientEvent[] = [];
    for await (const event of events) seen.push(event);
    expect(seen).toHaveLength(3);
    expect(seen[0]).toMatchObject({ type: "overflow" });
    expect(seen[0]?.type === "overflow" && seen[0].lost).toBeGreaterThan(5);
    expect(seen[2]).toEqual({ type: "shutdown" });
  });

  test.each([0, -1, 1.5, NaN])("a buffer of %s is none", (buffer) => {
    const { client } = setUp();
    expect(() => client.events({ buffer })).toThrow(RangeError);
  });

  test("reads that wait are served in the order of asking", async () => {
    const queue = new EventQueue<number>(10, { onOverflow: (lost) => -lost, onEnd: () => undefined });
    const reads = [queue.next(), queue.next(), queue.next()];
    queue.push(1);
    queue.push(2);
    queue.end();
    await expect(Promise.all(reads)).resolves.toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
      { done: true, value: undefined },
    ]);
  });
});

describe("instrumentation", () => {
  test("sees every attempt with its size, its time and how it ended", async () => {
    const requests: RequestInfo[] = [];
    const responses: ResponseInfo[] = [];
    const { node, client } = setUp({
      instrumentation: { onRequest: (info) => requests.push(info), onResponse: (info) => responses.push(info) },
    });
    const refusals = [58];
    node.handler = (received) => {
      const refusal = received.code === createStream.code ? refusals.shift() : undefined;
      if (refusal !== undefined) node.refuse(received, refusal);
      else if (received.code === createStream.code) node.reject(received, 1012, { committed: true });
      else node.answer(received);
    };
    await expect(client.stream.create({ name: "orders" })).rejects.toMatchObject({ code: 1012 });
    expect(requests.map(({ code, attempt, replicaId }) => [code, attempt, replicaId])).toEqual([
      [createStream.code, 1, 0],
      [createStream.code, 2, 0],
    ]);
    expect(requests[0]?.bytes).toBe(node.of(createStream)[0]?.frame.length);
    expect(responses.map(({ attempt, error }) => [attempt, error])).toEqual([
      [1, 58],
      [2, 1012],
    ]);
    expect(responses.every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  test("tells a lost link and a call that gave up", async () => {
    const errors: ResponseInfo["error"][] = [];
    const { node, client } = setUp({ instrumentation: { onResponse: ({ error }) => errors.push(error) } });
    let isLost = false;
    node.handler = (received) => {
      if (received.code !== getStream.code) node.answer(received);
      else if (!isLost) {
        isLost = true;
        received.wire.reset();
      }
    };
    await expect(client.stream.get({ streamId: 1 }, { timeout: 60 })).rejects.toThrow();
    expect(errors).toEqual(["lost", "ended"]);
  });

  test("a hook that throws breaks no call", async () => {
    const { client } = setUp({
      instrumentation: {
        onRequest: () => {
          throw new Error("hook");
        },
      },
    });
    const errors: unknown[] = [];
    client.on("error", ({ error }) => errors.push(error));
    await expect(client.stream.list()).resolves.toEqual([]);
    expect(errors).toMatchObject([{ message: "hook" }]);
  });

  test("never sees a secret", async () => {
    const seen: unknown[] = [];
    const { client } = setUp({
      instrumentation: { onRequest: (info) => seen.push(info), onResponse: (info) => seen.push(info) },
    });
    await client.user.changePassword({ userId: 3, currentPassword: "oldsecret", newPassword: "newsecret" });
    expect(seen).toHaveLength(2);
    expect(JSON.stringify(seen)).not.toMatch(/secret/);
  });
});
