import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TestCatalog } from "./catalog.js";
import {
  alice,
  bob,
  consumer,
  group,
  incarnation,
  next,
  offsetAt,
  partition,
  polled,
  settle,
  TestNode,
} from "./node.js";
import type { TestRequest } from "./requests.js";

const address = (partitionId: number) => ({ ...partition, partitionId });
const strategies = [next, offsetAt(0), offsetAt(5), offsetAt(500), { kind: "timestamp", value: 0n } as const];

describe("waiting reads", () => {
  const read = {
    who: fc.constantFrom(alice, bob),
    isGroup: fc.boolean(),
    autoCommit: fc.boolean(),
    waitMillis: fc.constantFrom(0, 10, 1_000, 60_000),
    minCount: fc.constantFrom(1, 3, 40),
    maxBytes: fc.constantFrom(344, 2_000, 100_000),
  };
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("poll" as const), strategy: fc.nat(4), ...read }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("fetch" as const), targets: fc.integer({ min: 1, max: 7 }), ...read }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("send" as const),
        to: fc.nat(2),
        count: fc.integer({ min: 1, max: 9 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("time" as const), millis: fc.constantFrom(1, 10, 1_000, 30_000) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("cancel" as const), index: fc.nat(50) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("break" as const), index: fc.nat(50) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("own" as const), who: fc.constantFrom(alice, bob), late: fc.boolean() }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("end-session" as const), who: fc.constantFrom(alice, bob) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("recreate" as const), id: fc.nat(2) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("settle" as const) }) },
  );

  it("are answered exactly once and leave nothing behind, whatever happens meanwhile", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), fc.boolean(), async (steps, isCold) => {
        const catalog = new TestCatalog();
        for (const id of [0, 1, 2]) catalog.put(address(id), incarnation);
        const node = await TestNode.start({ catalog, limits: { residentBytesMax: isCold ? 1 : 100_000 } });
        const reads: TestRequest[] = [];
        let generation = 100;
        for (const entry of steps) {
          switch (entry.kind) {
            case "poll":
            case "fetch": {
              const { who, isGroup, autoCommit, waitMillis, minCount, maxBytes } = entry;
              const options = {
                consumer: isGroup ? group : consumer,
                autoCommit,
                wait: { waitMicros: waitMillis * 1000, minCount, maxBytes },
              };
              if (entry.kind === "poll") {
                reads.push(node.poll({ ...options, strategy: strategies[entry.strategy] ?? next }, who));
              } else {
                const targets = [0, 1, 2].filter((id) => (entry.targets >> id) & 1);
                reads.push(
                  node.fetch(
                    targets.map((partitionId) => ({ partitionId, strategy: next })),
                    options,
                    who,
                  ),
                );
              }
              break;
            }
            case "send":
              node.send({ count: entry.count }, {}, address(entry.to));
              break;
            case "time":
              await node.clock.advance(entry.millis);
              break;
            case "cancel":
              reads[entry.index]?.cancel();
              break;
            case "break": {
              // A connection that can not take the reply ends with it, and cancels everything else that waits on it.
              const breaking = reads[entry.index];
              if (breaking === undefined) break;
              breaking.onAnswer = () => {
                for (const read of reads) if (read.client === breaking.client) read.cancel();
              };
              break;
            }
            case "own":
              generation++;
              for (const id of [0, 1, 2]) {
                catalog.decide(address(id), { groupId: group.id, ...entry.who, generation, revoking: false });
              }
              if (!entry.late) node.plane.reconcile();
              break;
            case "end-session":
              catalog.deadSessions.add(`${String(entry.who.client)}/${String(entry.who.session)}`);
              break;
            case "recreate":
              catalog.put(address(entry.id), incarnation + 1 + generation++);
              node.plane.reconcile();
              break;
            case "settle":
              await settle();
          }
        }
        // Every wait ends by itself.
        await node.clock.advance(100_000);
        await settle();
        expect(reads.filter(({ answer }) => answer === undefined)).toEqual([]);
        expect(node.clock.armed).toBe(0);
        await node.plane.settled();
        await expectFreePlaces(node);
      }),
      { numRuns: 80 },
    );
  });

  /** The bounds of waiting reads are all there again: four per session, eight in all. */
  async function expectFreePlaces(node: TestNode): Promise<void> {
    const id = node.catalog.partition(address(0))?.incarnation ?? 0;
    const places = [31n, 32n].flatMap((client) =>
      Array.from({ length: 4 }, () =>
        node.poll({ strategy: offsetAt(100_000), wait: { waitMicros: 1_000 } }, { client, partitionIncarnation: id }),
      ),
    );
    expect(places.map(({ answer }) => answer)).toEqual(Array(8).fill(undefined));
    await node.clock.advance(1);
    expect(places.every(({ answer }) => answer?.kind === "ok")).toBe(true);
  }
});

describe("a read that is cancelled by what the same event does to another", () => {
  // As when a client takes no replies: the first one ends its connection, and with it everything else that waits there.
  async function pairs(start: (node: TestNode) => TestRequest, wake: (node: TestNode) => unknown, limits = {}) {
    const node = await TestNode.start({ limits });
    await node.send({ count: 3 }).answered;
    const [first, second, third] = [start(node), start(node), start(node)];
    first.onAnswer = () => {
      second.cancel();
      third.cancel();
    };
    await settle();
    expect([first.answer, second.answer, third.answer]).toEqual([undefined, undefined, undefined]);
    await wake(node);
    await settle();
    return [first, second, third].map(({ answer }) => answer?.kind);
  }
  const wait = { waitMicros: 1_000_000, minCount: 4 };
  const poll = (node: TestNode) => node.poll({ count: 10, wait });
  const fetch = (node: TestNode) => node.fetch([{ partitionId: 0 }], { count: 10, wait });

  it.each([
    ["poll", "growth", poll, (node: TestNode) => node.send({ count: 1 }).answered],
    ["poll", "the end of the wait", poll, (node: TestNode) => node.clock.advance(1_000)],
    ["fetch", "growth", fetch, (node: TestNode) => node.send({ count: 1 }).answered],
    ["fetch", "the end of the wait", fetch, (node: TestNode) => node.clock.advance(1_000)],
  ])("a %s, by %s, is answered once", async (_read, _event, start, wake) => {
    expect(await pairs(start, wake)).toEqual(["ok", "denied", "denied"]);
  });

  it.each([
    ["poll", (node: TestNode) => node.poll({ consumer: group }, alice)],
    ["fetch", (node: TestNode) => node.fetch([{ partitionId: 0 }], { consumer: group }, alice)],
  ])("a %s, by the installation of its owner, is answered once", async (_read, start) => {
    const decided = (node: TestNode) => {
      node.catalog.decide(partition, { groupId: group.id, ...alice, generation: 50, revoking: false });
      return start(node);
    };
    const install = (node: TestNode) => {
      node.plane.reconcile(partition);
      return node.plane.settled();
    };
    expect(await pairs(decided, install)).toEqual(["ok", "denied", "denied"]);
  });
});

describe("consumers that read on while messages come", () => {
  it("miss no message and see none twice, from memory and from the disk, over many segments", async () => {
    const node = await TestNode.start({ limits: { residentBytesMax: 200_000 } });
    const readers = Array.from({ length: 6 }, (_, i) => ({
      key: { kind: "consumer", id: 50 + i } as const,
      seen: [] as number[],
    }));
    for (let i = 0; i < 150; i++) {
      await node.send({ count: 20, payloadBytes: 2_000 }).answered;
      for (const [r, { key, seen }] of readers.entries()) {
        // Some keep up, some fall behind and read cold segments.
        if (i % (r + 1) !== 0) continue;
        const read = polled(await node.poll({ strategy: next, consumer: key, count: 25, autoCommit: true }).answered);
        seen.push(...read.offsets);
      }
    }
    expect(node.plane.stats(partition)?.segmentsCount).toBeGreaterThan(4);
    for (const { key, seen } of readers) {
      for (;;) {
        const read = polled(await node.poll({ strategy: next, consumer: key, count: 1000, autoCommit: true }).answered);
        if (read.offsets.length === 0) break;
        seen.push(...read.offsets);
      }
      expect(seen).toEqual(Array.from({ length: 3000 }, (_, i) => i));
    }
  });
});
