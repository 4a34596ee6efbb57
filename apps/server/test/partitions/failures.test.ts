import { ErrorCode } from "@iggy/protocol";
import { MemoryIo } from "@iggy/storage";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TestCatalog } from "./catalog.js";
import { codeOf, confirmed, consumer, incarnation, offsetAt, partition, polled, settle, TestNode } from "./node.js";

const other = { ...partition, partitionId: 1 };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const errors = (node: TestNode) => node.logged.filter(({ level }) => level === "error").map(({ message }) => message);

async function twoPartitions(limits = {}): Promise<TestNode> {
  const catalog = new TestCatalog();
  catalog.put(partition, incarnation);
  catalog.put(other, incarnation);
  return TestNode.start({ catalog, limits });
}

describe("a disk that fails under one partition", () => {
  it("fences that partition only, names why, and answers everything", async () => {
    const node = await twoPartitions();
    await node.send({ count: 1 }).answered;
    node.disk.fail({ operation: "write", path: (path) => path.includes("/partitions/0/"), code: "EIO" });
    const [send, poll] = [node.send({ count: 1 }), node.poll({ strategy: offsetAt(5), wait: { waitMicros: 1e7 } })];
    expect(codeOf(await send.answered)).toBe(ErrorCode.TransientNotCommitted);
    expect(codeOf(await poll.answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(codeOf(await node.send({ count: 1 }).answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(errors(node)).toEqual(["the partition failed and is fenced until the next start"]);
    expect(node.logged.at(-1)?.fields).toMatchObject({ partition: "1/2/0" });
    expect(confirmed(await node.send({ count: 1 }, {}, other).answered)).toBe(0);
    expect(polled(await node.poll({ address: other }).answered).offsets).toEqual([0]);
  });

  it("that comes back serves again after a restart, with every confirmed message", async () => {
    const node = await twoPartitions();
    for (let i = 0; i < 5; i++) await node.send({ count: 2 }).answered;
    const heal = node.disk.fail({ operation: "write", path: (path) => path.includes("/partitions/0/"), code: "EIO" });
    await node.send({ count: 2 }).answered;
    heal();
    const next = await node.killed();
    expect((await next.offsets()).slice(0, 10)).toEqual(range(0, 10));
  });

  it("that can not be opened is tried again, and the rest of the node starts", async () => {
    const catalog = new TestCatalog();
    catalog.put(partition, incarnation);
    catalog.put(other, incarnation);
    const io = new MemoryIo();
    const heal = io.fail({
      operation: "create",
      path: (path) => path.includes("/partitions/0/"),
      code: "EIO",
    });
    const node = await TestNode.start({ io, catalog });
    expect(errors(node)[0]).toBe("the partition can not be opened now");
    const early = node.send({ count: 1 });
    expect(confirmed(await node.send({ count: 1 }, {}, other).answered)).toBe(0);
    heal();
    await node.clock.advance(1_000);
    expect(confirmed(await early.answered)).toBe(0);
  });

  it("with a damaged superblock is fenced for good: 87, and nothing is touched", async () => {
    const node = await twoPartitions();
    await node.send({ count: 1 }).answered;
    const io = node.disk.kill();
    for (const path of io.tree("/data/streams").filter((name) => name.includes("/partitions/0/superblock"))) {
      io.setContents(path, new Uint8Array(64));
    }
    const before = io.tree("/data/streams").map((path) => [path, io.contents(path)]);
    const next = await TestNode.start({ io, catalog: node.catalog });
    expect(codeOf(await next.send({ count: 1 }).answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(codeOf(await next.poll().answered)).toBe(ErrorCode.HistoryUnavailable);
    expect(errors(next)[0]).toBe("the partition is fenced: its files must not be served");
    expect(confirmed(await next.send({ count: 1 }, {}, other).answered)).toBe(0);
    const ours = (path: string) => path.includes("/partitions/0/");
    for (const [path, bytes] of before) {
      if (typeof path === "string" && ours(path)) expect(io.contents(path)).toEqual(bytes);
    }
  });
});

describe("a full disk", () => {
  it.each([false, true])(
    "refuses writes with 58 and takes them again when it has room (persisted: %s)",
    async (persisted) => {
      const catalog = new TestCatalog();
      catalog.policy = { ...catalog.policy, persistMessages: persisted };
      catalog.put(partition, incarnation);
      const node = await TestNode.start({ io: new MemoryIo({ capacityBytes: 100_000 }), catalog });
      let sent = 0;
      let code: number | undefined = 0;
      while (code === 0 && sent < 100) {
        code = codeOf(await node.send({ count: 1, payloadBytes: 5_000 }).answered);
        if (code === 0) sent++;
      }
      expect(code).toBe(ErrorCode.TransientNotAccepted);
      expect(sent).toBeGreaterThan(5);
      const burst = Array.from({ length: 6 }, () => node.send({ count: 1, payloadBytes: 5_000 }));
      const codes = await Promise.all(burst.map(async ({ answered }) => codeOf(await answered)));
      expect(codes.every((value) => value === ErrorCode.TransientNotAccepted)).toBe(true);
      expect(await node.offsets()).toEqual(range(0, sent));
      expect(errors(node)).toEqual(["the disk is full: writes are refused until it has room"]);
      node.disk.capacityBytes = 10_000_000;
      expect(confirmed(await node.send({ count: 2 }).answered)).toBe(sent);
      expect(node.logged.some(({ message }) => message.includes("room again"))).toBe(true);
      const next = await node.killed();
      expect(await next.offsets()).toEqual(range(0, sent + 2));
    },
  );

  it("keeps retries, producers and offsets as they were before what it refused", async () => {
    const io = new MemoryIo();
    const node = await TestNode.start({ io });
    const producer = (baseSequence: number) => ({ id: 5n, epoch: 0, baseSequence });
    await node.send({ count: 1, producer: producer(0) }).answered;
    await node.store(consumer, 0).answered;
    io.capacityBytes = 0;
    const refused = [
      node.send({ count: 1, producer: producer(1) }, { request: 900 }),
      node.store(consumer, 0, { request: 901 }),
      node.deleteOffset(consumer, { request: 902 }),
    ];
    for (const { answered } of refused) expect(codeOf(await answered)).toBe(ErrorCode.TransientNotAccepted);
    expect(await node.stored(consumer)).toBe(0);
    io.capacityBytes = 1e9;
    expect(confirmed(await node.send({ count: 1, producer: producer(1) }, { request: 900 }).answered)).toBe(1);
    expect(codeOf(await node.deleteOffset(consumer, { request: 902 }).answered)).toBe(0);
    expect(await node.stored(consumer)).toBeUndefined();
  });
});

describe("a journal without room", () => {
  it("takes a checkpoint by itself and goes on", async () => {
    const node = await TestNode.start({ limits: { walBytesMax: 200_000 } });
    let refused = 0;
    for (let i = 0; i < 60; i++) {
      const code = codeOf(await node.send({ count: 1, payloadBytes: 20_000 }).answered);
      if (code !== 0) {
        expect(code).toBe(ErrorCode.TransientNotAccepted);
        refused++;
        await settle();
      }
    }
    expect(refused).toBeLessThan(10);
    expect(await node.offsets()).toEqual(range(0, 60 - refused));
    const next = await node.killed();
    expect(await next.offsets()).toEqual(range(0, 60 - refused));
  });

  it("refuses a poll that would store its offset there, and gives it no messages", async () => {
    const node = await TestNode.start({ limits: { walBytesMax: 200_000, prepareQueueDepth: 127 } });
    await node.send({ count: 3 }).answered;
    // Whatever is not yet written counts in full, so this leaves not a byte.
    for (let payloadBytes = 190_000; payloadBytes >= 0; payloadBytes -= payloadBytes > 5_000 ? 5_000 : 1) {
      node.send({ count: 1, payloadBytes });
    }
    const refused = node.poll({ strategy: offsetAt(0), count: 3, autoCommit: true });
    expect(codeOf(await refused.answered)).toBe(ErrorCode.TransientNotAccepted);
    await settle();
    expect(await node.stored(consumer)).toBeUndefined();
    expect(polled(await node.poll({ count: 3, autoCommit: true }).answered).offsets).toEqual([0, 1, 2]);
    expect(await node.stored(consumer)).toBe(2);
  });
});

describe("a loss of power", () => {
  it("keeps everything that a persisted topic confirmed", async () => {
    const catalog = new TestCatalog();
    catalog.policy = { ...catalog.policy, persistMessages: true, persistOffsets: true };
    catalog.put(partition, incarnation);
    let node = await TestNode.start({ io: new MemoryIo({ random: seeded(7) }), catalog });
    const given: number[] = [];
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 4; i++) given.push(confirmed(await node.send({ count: 1 }).answered));
      const last = given.at(-1) ?? 0;
      expect(codeOf(await node.store(consumer, last).answered)).toBe(0);
      node = await node.powerLost();
      expect(await node.offsets()).toEqual(given);
      expect(await node.stored(consumer)).toBe(last);
    }
  });

  it("gives no offset twice, and consumers go on with what comes next", async () => {
    let node = await TestNode.start({ io: new MemoryIo({ random: seeded(3) }) });
    const given = new Set<number>();
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < 5; i++) {
        const offset = confirmed(await node.send({ count: 1, text: `r${String(round)}` }).answered);
        expect(given.has(offset)).toBe(false);
        given.add(offset);
      }
      polled(await node.poll({ strategy: { kind: "next", value: 0n }, autoCommit: true }).answered);
      await settle();
      node = await node.powerLost();
      // Nothing is there to read behind the last kept message, so a poll waits for the next one.
      const waiting = node.poll({
        strategy: { kind: "next", value: 0n },
        wait: { waitMicros: 1e7, requestTimeoutMicros: 2e7 },
      });
      const kept = polled(waiting.answer ?? { kind: "ok", body: new Uint8Array(40), options: undefined }).offsets;
      const offset = confirmed(await node.send({ count: 1 }).answered);
      expect(given.has(offset)).toBe(false);
      given.add(offset);
      const read = polled(await waiting.answered).offsets;
      expect(kept.length > 0 ? kept : read).toEqual(read);
      expect(read.length).toBeGreaterThan(0);
    }
  });
});

describe("a node that is killed at any moment", () => {
  it("keeps what it confirmed, once and in order, and stays usable", async () => {
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant("send" as const), count: fc.integer({ min: 1, max: 4 }) }),
      },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("produce" as const) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("store" as const), offset: fc.nat(20) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant("poll" as const), count: fc.integer({ min: 1, max: 5 }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("wait" as const) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant("kill" as const), mutation: fc.integer({ min: 1, max: 12 }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        let node = await TestNode.start({ limits: { walBytesMax: 100_000 } });
        let sequence = 0;
        const texts = new Map<number, string>();
        let produced: { readonly baseSequence: number; readonly text: string } | undefined;
        for (const [i, entry] of steps.entries()) {
          const text = `s${String(i)}-`;
          switch (entry.kind) {
            case "send":
              void node.send({ count: entry.count, text }).answered.then((answer) => {
                if (answer.kind === "committed") texts.set(confirmed(answer), `${text}0`);
              });
              break;
            case "produce": {
              // One batch after the other, and after an unknown outcome the same one again.
              produced ??= { baseSequence: sequence, text };
              const producer = { id: 1n, epoch: 0, baseSequence: produced.baseSequence };
              const send = node.send({ count: 2, text: produced.text, producer });
              const answer = await Promise.race([send.answered, settle().then(() => undefined)]);
              if (answer?.kind !== "committed") break;
              texts.set(confirmed(answer), `${produced.text}0`);
              sequence += 2;
              produced = undefined;
              break;
            }
            case "store":
              node.store(consumer, entry.offset);
              break;
            case "poll":
              node.poll({ strategy: { kind: "next", value: 0n }, count: entry.count, autoCommit: true });
              break;
            case "wait":
              await settle();
              break;
            case "kill":
              node.disk.haltAt(entry.mutation);
              await settle();
              node = await node.killed({ walBytesMax: 100_000 });
              break;
            case "restart":
              await settle();
              node = await node.restarted({ walBytesMax: 100_000 });
          }
        }
        await settle();
        node = await node.killed({ walBytesMax: 100_000 });
        await check(node, texts);
        const end = (await node.offsets()).length;
        expect(confirmed(await node.send({ count: 1 }).answered)).toBe(end);
      }),
      { numRuns: 60 },
    );
  });

  async function check(node: TestNode, texts: ReadonlyMap<number, string>): Promise<void> {
    const read = polled(await node.poll({ count: 10_000 }).answered);
    expect(read.offsets).toEqual(range(0, read.offsets.length));
    for (const [offset, text] of texts) expect(read.texts[offset]).toBe(text);
    expect(new Set(read.texts).size).toBe(read.texts.length);
    const stored = await node.stored(consumer);
    if (stored !== undefined) expect(stored).toBeLessThan(read.offsets.length);
  }
});

/** Small generator of repeatable numbers, 0 <= value < 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
