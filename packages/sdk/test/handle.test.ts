import { type Received as Request } from "./support/scripted-node.js";
import {
  decodeRequest,
  decodeUserHeaders,
  encodeUserHeaders,
  MessageCursor,
  sendMessages,
  storeConsumerOffset,
} from "@iggy/protocol";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  CommitPolicy,
  type ConsumerOptions,
  DeadLetterHeader,
  type HandleOptions,
  jsonPayload,
  ValidationError,
} from "../src/index.js";
import { nodePlatform } from "../src/client/node-platform.js";
import { ClientCore } from "../src/client/client.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedBroker } from "./support/scripted-broker.js";

let clients: ClientCore[] = [];
afterEach(async () => {
  await Promise.all(clients.map((client) => client.destroy()));
  clients = [];
});

const everyMessage = { commit: CommitPolicy.Auto({ interval: null, every: "message" }), maxWait: 1000 };

function setUp(partitionsCount = 1) {
  const node = new ScriptedBroker(partitionsCount);
  // The broker has one topic, so letters to another one are confirmed and kept out of it.
  node.handler = (received) => {
    const isLetter =
      received.code === sendMessages.code && decodeRequest(sendMessages, received.body).topicId.value === "dead";
    if (isLetter) node.commit(received, node.confirmation(received));
    else node.serve(received);
  };
  const { transport } = new MemoryNetwork(node);
  const client = new ClientCore(
    { credentials: { username: "iggy", password: "iggy" }, heartbeatInterval: 0 },
    { ...nodePlatform, loadTransport: () => Promise.resolve(transport) },
  );
  clients.push(client);
  const consumer = (options: Partial<ConsumerOptions> = {}) =>
    client.consumer({
      name: "c",
      streamId: "s",
      topicId: "t",
      partitions: node.partitions.map(({ partitionId }) => partitionId),
      pollingRetryInterval: 5,
      pollOptions: everyMessage,
      ...options,
    });
  return { node, client, consumer };
}

/** For a machine that is busy. */
const waits = { timeout: 15_000 };

const texts = (count: number, prefix = "m") => Array.from({ length: count }, (_, i) => `${prefix}${String(i)}`);

/** A promise that the test settles. */
function gate() {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

describe("handle", () => {
  test("works on several messages at once, and stores only what is finished without a gap", async () => {
    const { node, consumer } = setUp();
    node.append(0, ...texts(6));
    const gates = new Map<string, ReturnType<typeof gate>>();
    await using reading = consumer();
    const handling = reading.handle(
      ({ message }) => {
        const one = gate();
        gates.set(message.text(), one);
        return one.passed;
      },
      { concurrency: 4, orderBy: "none" },
    );
    await vi.waitFor(() => expect([...gates.keys()]).toEqual(["m0", "m1", "m2", "m3"]));
    gates.get("m1")?.open();
    gates.get("m3")?.open();
    await vi.waitFor(() => expect(gates.size).toBe(6));
    expect(node.stored.has(0)).toBe(false);
    gates.get("m0")?.open();
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(1), waits);
    gates.get("m2")?.open();
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(3));
    for (const one of gates.values()) one.open();
    await reading.close();
    await handling;
    expect(node.stored.get(0)).toBe(5);
    expect(node.stores.map(({ offset }) => offset)).toEqual([...node.stores.map(({ offset }) => offset)].sort());
  });

  test.each<[string, NonNullable<HandleOptions<Uint8Array>["orderBy"]>, (text: string) => string]>([
    ["partition", "partition", (text) => text[0] ?? ""],
    ["key", ({ message }) => message.text().split("-")[1], (text) => text.split("-")[1] ?? ""],
  ])("keeps the order of each %s, with others beside it", async (_what, orderBy, groupOf) => {
    const { node, consumer } = setUp(3);
    for (let round = 0; round < 20; round++) {
      for (const partition of [0, 1, 2])
        node.append(partition, `${String(partition)}-k${String(round % 2)}-${String(round)}`);
    }
    const running = new Map<string, number>();
    const seen: string[] = [];
    let most = 0;
    await using reading = consumer();
    const handling = reading.handle(
      async ({ message }) => {
        const text = message.text();
        const group = groupOf(text);
        running.set(group, (running.get(group) ?? 0) + 1);
        most = Math.max(
          most,
          [...running.values()].reduce((sum, count) => sum + count, 0),
        );
        expect(running.get(group)).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
        running.set(group, 0);
        seen.push(text);
      },
      { concurrency: 8, orderBy },
    );
    await vi.waitFor(() => expect(seen).toHaveLength(60), waits);
    await reading.close();
    await handling;
    for (const partition of ["0", "1", "2"]) {
      for (const key of ["k0", "k1"]) {
        const rounds = seen
          .filter((text) => text.startsWith(`${partition}-${key}`))
          .map((text) => Number(text.split("-")[2]));
        expect(rounds).toEqual([...rounds].sort((a, b) => a - b));
      }
    }
    expect(most).toBeGreaterThan(1);
    expect([0, 1, 2].map((partition) => node.stored.get(partition))).toEqual([19, 19, 19]);
  });

  test("tries a failed message again after a pause, as often as it was told to", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b");
    const attempts: [string, number][] = [];
    const retries: unknown[] = [];
    await using reading = consumer();
    reading.on("retry", ({ offset }) => retries.push(offset));
    const handling = reading.handle(
      ({ message }, { attempt }) => {
        attempts.push([message.text(), attempt]);
        if (message.text() === "a" && attempt < 3) throw new Error("not yet");
      },
      { attempts: 3, backoff: { initial: 1 } },
    );
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(1), waits);
    expect(attempts).toEqual([
      ["a", 1],
      ["a", 2],
      ["a", 3],
      ["b", 1],
    ]);
    expect(retries).toEqual([0n, 0n]);
    await reading.close();
    await handling;
  });

  test("a message that fails for good ends the handling, uncounted, and comes again", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "bad", "c");
    await using reading = consumer();
    const handling = reading.handle(({ message }) => {
      if (message.text() === "bad") throw new Error("can not");
    });
    await expect(handling).rejects.toThrow("can not");
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(0));
    const again: string[] = [];
    const second = reading.handle(({ message }) => void again.push(message.text()));
    await vi.waitFor(() => expect(again).toEqual(["bad", "c"]));
    await reading.close();
    await second;
    expect(node.stored.get(0)).toBe(2);
  });

  test("a dead letter carries the message, where it came from, the error and the attempts, and then counts", async () => {
    const { node, consumer } = setUp();
    const payload = new TextEncoder().encode("bad");
    const userHeaders = encodeUserHeaders([["own", "kept"]]);
    node.partitions[0]?.append([{ id: 7n, payload, originTimestamp: 1, userHeaders }]);
    node.append(0, "good");
    await using reading = consumer();
    const buried: unknown[] = [];
    reading.on("dead-letter", ({ offset, attempts }) => buried.push([offset, attempts]));
    const handling = reading.handle(
      ({ message }) => {
        if (message.text() === "bad") throw new RangeError(`no such thing ${"x".repeat(300)}`);
      },
      { attempts: 2, backoff: { initial: 1 }, deadLetter: { streamId: "s", topicId: "dead" } },
    );
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(1), waits);
    expect(buried).toEqual([[0n, 2]]);
    const [letter] = lettersOf(node.of(sendMessages));
    expect(letter?.payload).toBe("bad");
    expect(letter?.headers).toMatchObject({
      own: "kept",
      [DeadLetterHeader.stream]: "s",
      [DeadLetterHeader.topic]: "t",
      [DeadLetterHeader.partition]: 0,
      [DeadLetterHeader.offset]: 0n,
      [DeadLetterHeader.consumer]: "c",
      [DeadLetterHeader.attempts]: 2,
    });
    expect(letter?.headers[DeadLetterHeader.error]).toMatch(/^RangeError: no such thing x+$/);
    await reading.close();
    await handling;
  });

  test("while a dead letter can not be sent its message is not passed; nothing is lost", async () => {
    const { node, consumer } = setUp();
    node.append(0, "bad", "good");
    await using reading = consumer();
    let refusals = 0;
    let isDown = true;
    const serve = node.handler;
    node.handler = (received, self) => {
      if (received.code === sendMessages.code && isDown) {
        refusals++;
        node.refuse(received, 41);
      } else serve?.(received, self);
    };
    const handling = reading.handle(
      ({ message }) => {
        if (message.text() === "bad") throw new Error("no");
      },
      { concurrency: 2, orderBy: "none", deadLetter: { streamId: "s", topicId: "dead" } },
    );
    await vi.waitFor(() => expect(refusals).toBeGreaterThanOrEqual(2), waits);
    expect(node.of(storeConsumerOffset)).toEqual([]);
    isDown = false;
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(1), waits);
    await reading.close();
    await handling;
  });

  test("a payload that is none of its kind is not tried again", async () => {
    const { node, client } = setUp();
    node.append(0, '{"n":1}', "{broken", '{"n":2}');
    const values: unknown[] = [];
    let calls = 0;
    await using reading = client.consumer({
      name: "c",
      streamId: "s",
      topicId: "t",
      partitions: [0],
      payload: jsonPayload(),
      pollOptions: everyMessage,
    });
    const handling = reading.handle(
      async (received) => {
        calls++;
        values.push(await received.value());
      },
      { attempts: 5, backoff: { initial: 1 }, deadLetter: { streamId: "s", topicId: "dead" } },
    );
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(2));
    expect(values).toEqual([{ n: 1 }, { n: 2 }]);
    expect(calls).toBe(3);
    await reading.close();
    await handling;
  });

  test("what is taken and not handled stays within its bounds; a partition that is stuck leaves the others their room", async () => {
    const { node, consumer } = setUp(2);
    for (let i = 0; i < 50; i++) {
      node.append(0, `stuck-${String(i)}`);
      node.append(1, `free-${String(i)}`);
    }
    const stuck = gate();
    const started: string[] = [];
    await using reading = consumer({ pollOptions: { ...everyMessage, count: 5 } });
    const handling = reading.handle(
      ({ message }) => {
        started.push(message.text());
        return message.text() === "stuck-0" ? stuck.passed : undefined;
      },
      { concurrency: 100, orderBy: "none", pendingMessages: 20 },
    );
    await vi.waitFor(() => expect(node.stored.get(1)).toBe(49), waits);
    expect(started.filter((text) => text.startsWith("stuck"))).toHaveLength(10);
    expect(reading.figures(0)).toMatchObject({ state: "reading", lagMessages: 50n });
    stuck.open();
    await vi.waitFor(() => expect(node.stored.get(0)).toBe(49), waits);
    expect(reading.figures(0)).toMatchObject({ lagMessages: 0n, lagMs: 0, lastOffset: 49n });
    await reading.close();
    await handling;
    expect(new Set(started).size).toBe(100);
  });

  test("partitions that change hands take their work along: it is told to end, and counts no more", async () => {
    const { node, client } = setUp(2);
    node.append(0, "a");
    node.append(1, "b");
    const aborted: number[] = [];
    const release = gate();
    await using reading = client.consumerGroup({
      name: "group",
      streamId: "s",
      topicId: "t",
      pollOptions: everyMessage,
    });
    const handling = reading.handle(
      async ({ partitionId }, { signal }) => {
        signal.addEventListener("abort", () => aborted.push(partitionId));
        await release.passed;
      },
      { concurrency: 2 },
    );
    await vi.waitFor(() => expect(reading.partitions).toEqual([0, 1]));
    await vi.waitFor(() => expect(reading.lastConsumedOffset(0)).toBe(0n));
    node.assign([1]);
    await vi.waitFor(() => expect(aborted).toEqual([0]), waits);
    release.open();
    await vi.waitFor(() => expect(node.stored.get(1)).toBe(0));
    expect(node.stored.has(0)).toBe(false);
    await reading.close();
    await handling;
  });
});

describe("the end of handling", () => {
  test("a graceful stop waits for what is at work, counts it, and calls nobody after it resolved", async () => {
    const { node, consumer } = setUp();
    node.append(0, ...texts(10));
    const first = gate();
    let calls = 0;
    const reading = consumer();
    const handling = reading.handle(() => {
      calls++;
      return first.passed;
    });
    await vi.waitFor(() => expect(calls).toBe(1));
    const closing = reading.close();
    node.append(0, "late");
    setTimeout(() => first.open(), 30);
    await closing;
    expect(node.stored.get(0)).toBe(0);
    await handling;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(calls).toBe(1);
  });

  test("close from inside a handler asks for the end: no deadlock, and the message counts when it is done", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "b", "c");
    const seen: string[] = [];
    const reading = consumer();
    const started = performance.now();
    await reading.handle(async ({ message }) => {
      seen.push(message.text());
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (message.text() === "b") await reading.close();
    });
    await reading.close();
    expect(performance.now() - started).toBeLessThan(2000);
    expect(seen).toEqual(["a", "b"]);
    expect(node.stored.get(0)).toBe(1);
  });

  test("a handler that never ends holds close up for its drain time only, and is told by its signal", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a");
    let isAborted = false;
    const reading = consumer({ offsetDrainTimeout: 50 });
    const handling = reading.handle(
      (_received, { signal }) =>
        new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => {
            isAborted = true;
            resolve();
          }),
        ),
    );
    await vi.waitFor(() => expect(reading.lastConsumedOffset(0)).toBe(0n));
    await reading.close();
    expect(isAborted).toBe(true);
    await handling;
    expect(node.stored.has(0)).toBe(false);
  });

  test("a signal ends the handling; the consumer goes on where it was", async () => {
    const { node, consumer } = setUp();
    node.append(0, ...texts(5));
    const abort = new AbortController();
    await using reading = consumer();
    await reading.handle(
      ({ message }) => {
        if (message.text() === "m1") abort.abort();
      },
      { signal: abort.signal },
    );
    const { value } = await reading.next();
    expect(value?.message.text()).toBe("m2");
  });

  test("run ends with the failure of its handler, whose message stays uncounted", async () => {
    const { node, consumer } = setUp();
    node.append(0, "a", "bad");
    await using reading = consumer();
    const run = reading.run(({ message }) => {
      if (message.text() === "bad") throw new Error("no");
    });
    await expect(run).rejects.toThrow("no");
    await reading.close();
    expect(node.stored.get(0)).toBe(0);
  });
});

describe("options of handle", () => {
  const never = (): never => {
    throw new Error("called");
  };
  test.each<[string, HandleOptions<Uint8Array>, RegExp]>([
    ["concurrency", { concurrency: 0 }, /concurrency/],
    ["attempts", { attempts: 1.5 }, /attempts/],
    ["backoff.initial", { backoff: { initial: -1 } }, /backoff\.initial/],
    ["backoff.factor", { backoff: { factor: 0 } }, /backoff\.factor/],
    ["orderBy", { orderBy: "topic" as "none" }, /orderBy/],
    ["retryIf", { retryIf: 3 as unknown as () => boolean }, /retryIf/],
    ["deadLetter", { deadLetter: { streamId: "", topicId: "t" } }, /deadLetter\.streamId/],
    ["pendingMessages", { pendingMessages: 0 }, /pendingMessages/],
    ["pendingBytes", { pendingBytes: -5 }, /pendingBytes/],
    ["signal", { signal: {} as AbortSignal }, /signal/],
  ])("%s is checked before anything is sent, and named", (_field, options, message) => {
    const { node, consumer } = setUp();
    expect(() => consumer().handle(never, options)).toThrow(message);
    expect(node.received).toEqual([]);
  });

  test("handle stores offsets itself, so it takes no other policy; only one reads at a time", async () => {
    const { node, consumer } = setUp();
    for (const commit of [CommitPolicy.Manual, CommitPolicy.OnRead, CommitPolicy.Auto({ after: "marked" })]) {
      expect(() => consumer({ pollOptions: { commit } }).handle(never)).toThrow(/pollOptions\.commit/);
    }
    expect(node.received).toEqual([]);
    await using reading = consumer();
    const handling = reading.handle(() => undefined);
    await expect(reading.next()).rejects.toBeInstanceOf(ValidationError);
    await reading.close();
    await handling;
  });
});

function lettersOf(requests: readonly Request[]) {
  return requests.flatMap(({ body }) => {
    const cursor = new MessageCursor().records(decodeRequest(sendMessages, body).batch);
    const letters: { payload: string; headers: Record<string, unknown> }[] = [];
    while (cursor.next()) {
      const headers = Array.from(decodeUserHeaders(cursor.userHeaders), ([key, { value }]) => [
        String(key.value),
        value,
      ]);
      letters.push({
        payload: new TextDecoder().decode(cursor.payload),
        headers: Object.fromEntries(headers) as Record<string, unknown>,
      });
    }
    return letters;
  });
}
