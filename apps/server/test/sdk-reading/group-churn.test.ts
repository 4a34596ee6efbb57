import { Client, CommitPolicy, Consumer, type MessageConsumer, Partitioning } from "@iggy/sdk";
import { expect, test, vi } from "vitest";
import { startServer } from "../start-server.js";
import { ChurnRecord } from "./churn-record.js";

/*
 * A group whose members come and go while messages arrive: by a graceful close, by an end without a word, and by
 * joining. `IGGY_TEST_CHURN_SECONDS` says for how long.
 */

const seconds = Number(process.env["IGGY_TEST_CHURN_SECONDS"] ?? 12);
const partitions = 12;
const wantedMembers = 3;
const place = { streamId: "churn", topicId: "messages" } as const;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Member {
  readonly name: string;
  readonly client: Client;
  readonly consumer: MessageConsumer;
  readonly handling: Promise<void>;
}

test(
  "members come and go: every message is handled, in order, by one member at a time, again only when it was not stored",
  { timeout: (seconds + 120) * 1000 },
  async () => {
    await using server = await startServer({
      config: { "heartbeat.interval": "2s", "consumer_group.rebalancing_timeout": "5s" },
    });
    await using admin = new Client(server.connectionString);
    await admin.stream.create({ name: place.streamId });
    await admin.topic.create({ streamId: place.streamId, name: place.topicId, partitionCount: partitions });
    const record = new ChurnRecord();
    const sent = Array.from({ length: partitions }, () => 0);
    const members: Member[] = [];
    let names = 0;
    let isOver = false;

    const join = (): Member => {
      const name = `m${String(names++)}`;
      const client = new Client(`${server.connectionString}?heartbeat_interval=500ms`);
      const consumer = client.consumerGroup({
        ...place,
        name: "group",
        pollOptions: {
          count: 50,
          maxWait: 1000,
          commit: CommitPolicy.Auto({ interval: 300, every: { messages: 20 } }),
        },
        pollingRetryInterval: 100,
        prefetchMessages: 200,
      });
      consumer.on("assigned", (event) => record.assigned(name, event.partitions));
      consumer.on("stored", ({ partitionId, offset }) => record.storedTo(partitionId, Number(offset)));
      const handling = consumer.handle(
        async ({ partitionId, message }, { signal }) => {
          const end = record.start(name, partitionId, Number(message.offset), signal);
          await sleep(Math.random() * 8);
          if (!signal.aborted) end();
        },
        { concurrency: 8 },
      );
      // Its end is looked at when it leaves.
      handling.catch(() => undefined);
      const member = { name, client, consumer, handling };
      members.push(member);
      return member;
    };

    const produce = async (): Promise<void> => {
      while (!isOver) {
        const partition = Math.floor(Math.random() * partitions);
        const messages = Array.from({ length: 1 + Math.floor(Math.random() * 5) }, (_, i) => ({
          payload: `${String(partition)}/${String((sent[partition] ?? 0) + i)}`,
        }));
        await admin.message.send({ ...place, partition: Partitioning.PartitionId(partition), messages });
        sent[partition] = (sent[partition] ?? 0) + messages.length;
        await sleep(4);
      }
    };

    const leave = async (isGraceful: boolean): Promise<void> => {
      const [member] = members.splice(Math.floor(Math.random() * members.length), 1);
      if (member === undefined) return;
      if (isGraceful) await member.client.close();
      // The session stays until its lease ends, and with it the membership.
      else await member.client.destroy();
      const outcome = await member.handling.then(
        () => "ended",
        (error: unknown) => error,
      );
      if (isGraceful) expect(outcome).toBe("ended");
    };

    for (let i = 0; i < wantedMembers; i++) join();
    const producing = produce();
    for (const until = performance.now() + seconds * 1000; performance.now() < until;) {
      await sleep(500 + Math.random() * 1500);
      await leave(Math.random() < 0.7);
      if (Math.random() < 0.5) await sleep(Math.random() * 1000);
      while (members.length < wantedMembers) join();
    }
    isOver = true;
    await producing;
    const total = sent.reduce((sum, count) => sum + count, 0);
    const handled = (): number => sent.reduce((sum, count, id) => sum + record.handled(id, count), 0);
    // A member that went without a word keeps its partitions until its lease ends.
    for (let waited = 0; handled() < total && waited < 60_000; waited += 200) await sleep(200);
    expect(handled()).toBe(total);
    // Who leaves moves the partitions of the others, whose last positions then count no more: so they are looked at before.
    await vi.waitFor(
      async () => {
        for (let partitionId = 0; partitionId < partitions; partitionId++) {
          const offset = await admin.offset.get({ ...place, partitionId, consumer: Consumer.Group("group") });
          expect(Number(offset?.storedOffset ?? -1n)).toBe((sent[partitionId] ?? 0) - 1);
        }
      },
      { timeout: 30_000 },
    );
    await Promise.all(members.map(({ client }) => client.close()));
    record.finish();
    expect(record.faults).toEqual([]);
    expect(total).toBeGreaterThan(100);
    console.log(
      `churn: ${String(total)} messages, ${String(names)} members, ${String(record.duplicates)} repeated, ` +
        `${String(record.overlaps)} told late`,
    );
  },
);
