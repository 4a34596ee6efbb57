import { Client, CommitPolicy, Consumer, type ConsumerGroupOptions, Partitioning, PollingStrategy } from "@iggy/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";

/* Members of a group at a server: who may store what, who comes back, and where everybody starts. */

let server: RunningServer;
let admin: Client;
const clients: Client[] = [];
let topics = 0;

beforeAll(async () => {
  server = await startServer({
    config: { "heartbeat.interval": "1s", "consumer_group.rebalancing_timeout": "2s" },
  });
  admin = newClient();
  clients.length = 0;
  await admin.stream.create({ name: "groups" });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(async () => {
  await admin.close();
  await server.close();
});

/** It speaks often enough for the short lease of this server. */
function newClient(url = `${server.connectionString}?heartbeat_interval=200ms`): Client {
  const client = new Client(url);
  clients.push(client);
  return client;
}

async function freshTopic(partitionCount = 1) {
  const name = `topic-${String(topics++)}`;
  await admin.topic.create({ streamId: "groups", name, partitionCount });
  return { streamId: "groups", topicId: name } as const;
}
type Place = Awaited<ReturnType<typeof freshTopic>>;

const send = (place: Place, texts: readonly string[], partition = 0) =>
  admin.message.send({
    ...place,
    partition: Partitioning.PartitionId(partition),
    messages: texts.map((payload) => ({ payload })),
  });

const member = (place: Place, options: Partial<ConsumerGroupOptions> = {}, client = newClient()) =>
  client.consumerGroup({ ...place, name: "group", pollingRetryInterval: 100, ...options });

/** The server deletes segments when it gets to it. */
const waits = { timeout: 10_000 };

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, i) => String(from + i));

const storedOf = async (place: Place, partitionId = 0) =>
  (await admin.offset.get({ ...place, partitionId, consumer: Consumer.Group("group") }))?.storedOffset;

describe("who stores", () => {
  test("the group's offset is the group's: who joins later goes on behind it", async () => {
    const place = await freshTopic();
    await send(place, numbers(10));
    const a = member(place);
    for (let i = 0; i < 5; i++) await (await a.next()).value?.commit();
    await a.close();
    await using b = member(place);
    expect((await b.next()).value?.message.text()).toBe("5");
  });

  test(
    "a former owner's late commit is refused as lost ownership, and moves nothing",
    { timeout: 30_000 },
    async () => {
      const place = await freshTopic(2);
      for (const partition of [0, 1]) await send(place, numbers(10), partition);
      await using a = member(place);
      const held = new Map<number, () => Promise<void>>();
      while (held.size < 2) {
        const { value } = await a.next();
        if (value !== undefined && !held.has(value.partitionId)) held.set(value.partitionId, () => value.commit());
      }
      // B gets one of the partitions when A has kept it for too long without a word.
      await using b = member(place);
      await b.init();
      await vi.waitFor(() => expect(b.partitions).toHaveLength(1), { timeout: 15_000 });
      const [partition = 0] = b.partitions;
      for (let i = 0; i < 10; i++) {
        const { value } = await b.next();
        expect(value?.message.text()).toBe(String(i));
        if (i === 9) await value?.commit();
      }
      expect(await storedOf(place, partition)).toBe(9n);
      await expect(held.get(partition)?.()).rejects.toMatchObject({ name: "PartitionHistoryError", code: 5009 });
      expect(await storedOf(place, partition)).toBe(9n);
    },
  );

  test("an offset that somebody sets back counts for who starts later; who runs goes on and stores over it", async () => {
    const place = await freshTopic();
    await send(place, numbers(10));
    const options = { pollOptions: { commit: CommitPolicy.Auto({ interval: 100, every: null }) } };
    const running = member(place, options);
    for (let i = 0; i < 6; i++) await running.next();
    await vi.waitFor(async () => expect(await storedOf(place)).toBe(4n));
    await running.storeOffset(0);
    // What it counts next is stored as before.
    expect((await running.next()).value?.message.text()).toBe("6");
    await vi.waitFor(async () => expect(await storedOf(place)).toBe(5n));
    await running.close();
    await using last = member(place);
    await last.init();
    await last.storeOffset(0, 0);
    await last.close();
    await using restarted = member(place);
    expect((await restarted.next()).value?.message.text()).toBe("1");
  });
});

describe("where reading starts", () => {
  const starts: [string, PollingStrategy, string | undefined][] = [
    ["first", PollingStrategy.First, "0"],
    ["next", PollingStrategy.Next, "0"],
    ["offset 5", PollingStrategy.Offset(5), "5"],
    ["last", PollingStrategy.Last, "0"],
    ["a time before all", PollingStrategy.Timestamp(1), "0"],
    ["a time to come", PollingStrategy.Timestamp(new Date(Date.now() + 3_600_000)), undefined],
  ];
  test.each(starts)("%s, without a stored offset; with one that wins", async (_what, pollingStrategy, expected) => {
    const place = await freshTopic();
    await send(place, numbers(8));
    const fresh = member(place, { pollingStrategy });
    const abort = AbortSignal.timeout(expected === undefined ? 500 : 10_000);
    const first = await fresh.next({ signal: abort }).catch(() => undefined);
    expect(first?.value?.message.text()).toBe(expected);
    await fresh.storeOffset(6, 0);
    await fresh.close();
    // What comes while nobody is there is not lost.
    await send(place, ["8"]);
    await using later = member(place, { pollingStrategy });
    expect((await later.next()).value?.message.text()).toBe("7");
    expect((await later.next()).value?.message.text()).toBe("8");
  });

  test("last takes the newest messages, as many as a read asks for", async () => {
    const place = await freshTopic();
    await send(place, numbers(8));
    await using reading = member(place, { pollingStrategy: PollingStrategy.Last, pollOptions: { count: 3 } });
    expect((await reading.next()).value?.message.text()).toBe("5");
  });

  test("a stored offset that retention passed: goes on at the oldest message, and says what is missing", async () => {
    const name = `topic-${String(topics++)}`;
    await admin.topic.create({ streamId: "groups", name, partitionCount: 1, segmentSize: "1MiB" });
    const place = { streamId: "groups", topicId: name } as const;
    const payload = "x".repeat(100_000);
    const messages = Array.from({ length: 3 }, () => payload);
    for (let i = 0; i < 16; i++) await send(place, messages);
    // Segments stay for those who stored an offset in them, so it is stored behind their back.
    const named = { ...place, partitionId: 0, consumer: Consumer.Named("reader") };
    await admin.segment.delete({ ...place, partitionId: 0, segmentsCount: 2 });
    const from = await vi.waitFor(async () => {
      const read = { ...named, pollingStrategy: PollingStrategy.First, options: { count: 1 } };
      const oldest = (await admin.message.poll(read)).messages[0]?.offset ?? 0n;
      expect(oldest).toBeGreaterThan(6n);
      return oldest;
    }, waits);
    await admin.offset.store({ ...named, offset: 5 });
    await using reading = admin.consumer({ ...place, name: "reader", partitions: [0] });
    const gaps: unknown[] = [];
    reading.on("gap", (gap) => gaps.push(gap));
    const { value } = await reading.next();
    expect(value?.message.offset).toBe(from);
    await vi.waitFor(() => expect(gaps).toEqual([{ partitionId: 0, from: 6n, to: from }]));
    // The lag counts what exists.
    expect(reading.figures(0)?.lagMessages).toBe(48n - from - 1n);
  });
});

describe("members that are slow, or restart", () => {
  test(
    "handlers that run for longer than the lease: heartbeats go on, and a join changes the group once",
    { timeout: 60_000 },
    async () => {
      const place = await freshTopic(2);
      await send(place, numbers(50), 0);
      await send(place, numbers(50), 1);
      const errors: unknown[] = [];
      const slow = member(place, { pollOptions: { commit: CommitPolicy.Auto({ interval: 100 }) } });
      slow.on("rejoined", () => errors.push("rejoined"));
      let ended = 0;
      const handling = slow.handle(async () => {
        await new Promise((resolve) => setTimeout(resolve, 3000));
        ended++;
      });
      await vi.waitFor(() => expect(slow.partitions).toEqual([0, 1]));
      const other = member(place, { pollOptions: { commit: CommitPolicy.Auto({ interval: 100 }) } });
      const otherHandling = other.handle(() => undefined);
      await vi.waitFor(() => expect(other.partitions).toHaveLength(1), { timeout: 20_000 });
      const shares = await sharesOf(place);
      await new Promise((resolve) => setTimeout(resolve, 4000));
      expect(await sharesOf(place)).toEqual(shares);
      expect(errors).toEqual([]);
      expect(ended).toBeGreaterThan(0);
      expect([...slow.partitions, ...other.partitions].sort()).toEqual([0, 1]);
      await Promise.all([slow.close(), other.close()]);
      await Promise.all([handling, otherHandling]);
    },
  );

  test(
    "members that restart one after the other: every partition goes on, and its figures say so",
    { timeout: 60_000 },
    async () => {
      const place = await freshTopic(6);
      const seen = new Map<number, number>();
      const start = () => {
        const client = newClient();
        const consumer = member(
          place,
          { pollOptions: { maxWait: 500, commit: CommitPolicy.Auto({ interval: 50 }) } },
          client,
        );
        const handling = consumer.handle(({ partitionId }) => {
          seen.set(partitionId, (seen.get(partitionId) ?? 0) + 1);
        });
        return { client, consumer, handling };
      };
      let members = [start(), start(), start()];
      for (let round = 0; round < 6; round++) {
        const [oldest, ...others] = members;
        await oldest?.client.close();
        await oldest?.handling;
        members = [...others, start()];
        const before = new Map(seen);
        for (let partition = 0; partition < 6; partition++) await send(place, ["x"], partition);
        await vi.waitFor(
          () => {
            for (let partition = 0; partition < 6; partition++) {
              expect(seen.get(partition) ?? 0, `partition ${String(partition)}`).toBeGreaterThan(
                before.get(partition) ?? 0,
              );
            }
          },
          { timeout: 10_000 },
        );
      }
      await vi.waitFor(
        () => {
          const figures = members.flatMap(({ consumer }) => consumer.state);
          expect(figures.map(({ partitionId }) => partitionId).sort()).toEqual([0, 1, 2, 3, 4, 5]);
          for (const { answeredAt, lagMessages } of figures) {
            expect(Date.now() - Number(answeredAt)).toBeLessThan(5000);
            expect(lagMessages).toBe(0n);
          }
        },
        { timeout: 10_000 },
      );
      await Promise.all(members.map(({ client }) => client.close()));
    },
  );
});

/** Who holds what. */
async function sharesOf(place: Place) {
  const group = await admin.group.get({ ...place, groupId: "group" });
  return group?.members.map(({ id, partitions }) => [id, partitions]);
}
