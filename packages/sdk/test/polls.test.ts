import {
  cancelDeferredRequest,
  decodeRequest,
  getConsumerGroup,
  pollMessagesDeferred,
  syncConsumerGroup,
} from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { CommitPolicy, Consumer, FeatureUnavailableError, PollingStrategy } from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedBroker } from "./support/scripted-broker.js";

let node: ScriptedBroker;
let client: ClientCore;
beforeEach(() => {
  node = new ScriptedBroker(3);
  client = new MemoryNetwork(node).client();
});
afterEach(() => client.destroy());

const topic = { streamId: "stream", topicId: "topic" };
const polls = () => node.of(pollMessagesDeferred).map(({ body }) => decodeRequest(pollMessagesDeferred, body));

describe("a poll", () => {
  test("reads and says where to go on", async () => {
    node.append(0, "a", "b");
    const read = { ...topic, partitionId: 0, consumer: Consumer.Named("me") };
    const first = await client.message.poll({ ...read, pollingStrategy: PollingStrategy.First });
    expect(first.messages.map((message) => message.text())).toEqual(["a", "b"]);
    node.append(0, "c");
    const second = await client.message.poll({ ...read, pollingStrategy: first.continuation });
    expect(second.messages.map((message) => message.text())).toEqual(["c"]);
    await expect(
      client.message.poll({ ...read, partitionId: 1, pollingStrategy: first.continuation }),
    ).rejects.toMatchObject({ code: 3 });
  });

  test("keeps a second of its time for the answer to a wait", async () => {
    const call = {
      ...topic,
      partitionId: 0,
      consumer: Consumer.Named("me"),
      pollingStrategy: PollingStrategy.First,
      options: { maxWait: 300 },
    };
    await client.message.poll(call, { timeout: 1200 });
    await client.message.poll(call, { timeout: 200 }).catch(() => undefined);
    const [long, short] = polls();
    expect(long?.waitUs).toBeLessThanOrEqual(200_000n);
    expect(short?.waitUs).toBe(0n);
    expect(short?.requestTimeoutUs).toBeLessThanOrEqual(200_000n);
  });

  test("of an external group is refused: it holds offsets only", async () => {
    const poll = client.message.poll({ ...topic, partitionId: 0, consumer: Consumer.ExternalGroup("group") });
    await expect(poll).rejects.toBeInstanceOf(FeatureUnavailableError);
  });

  test("takes no policy that only a consumer can follow", async () => {
    const poll = client.message.poll({
      ...topic,
      partitionId: 0,
      consumer: Consumer.Named("me"),
      options: { commit: CommitPolicy.Auto() },
    });
    await expect(poll).rejects.toMatchObject({ name: "ValidationError" });
    expect(node.received).toEqual([]);
  });
});

describe("a poll in the form of earlier clients", () => {
  const plain = { ...topic, pollingStrategy: PollingStrategy.Next, count: 10 };

  test("does not wait, and autocommit stores the offset with the read", async () => {
    node.append(0, "a", "b");
    const read = { ...plain, partitionId: 0, consumer: Consumer.Single, autocommit: true };
    const first = await client.message.poll(read);
    expect(first.count).toBe(2);
    expect((await client.message.poll(read)).count).toBe(0);
    expect(node.stored.get(0)).toBe(1);
    expect(polls()[0]).toMatchObject({ waitUs: 0n, poll: { autoCommit: true, count: 10 } });
  });

  test("a single consumer must name its partition", async () => {
    const poll = client.message.poll({ ...plain, partitionId: null, consumer: Consumer.Single, autocommit: false });
    await expect(poll).rejects.toMatchObject({ code: 6 });
  });

  describe("of a group without a partition", () => {
    const read = { ...plain, partitionId: null, consumer: Consumer.Group("group"), autocommit: true };

    test("takes the member's partitions in turn, and asks for them once", async () => {
      node.append(0, "a");
      node.append(1, "b");
      await client.group.join({ ...topic, groupId: "group" });
      node.assigned = [0, 1];
      const seen = [];
      for (let i = 0; i < 3; i++) seen.push((await client.message.poll(read)).partitionId);
      expect(seen).toEqual([0, 1, 0]);
      expect(node.of(syncConsumerGroup)).toHaveLength(1);
    });

    test("reads the assignment again when a partition went to somebody else", async () => {
      await client.group.join({ ...topic, groupId: "group" });
      node.assigned = [0];
      await client.message.poll(read);
      node.assign([2]);
      node.append(2, "c");
      const polled = await client.message.poll(read);
      expect(polled.partitionId).toBe(2);
      expect(polled.count).toBe(1);
      expect(node.of(syncConsumerGroup)).toHaveLength(2);
    });

    test("is empty when nothing is assigned, also for one that is no member", async () => {
      node.groupExists = true;
      const polled = await client.message.poll(read);
      expect(polled).toMatchObject({ count: 0, checkpoint: null });
      expect(polls()).toEqual([]);
      expect(node.of(getConsumerGroup)).toEqual([]);
    });

    test("a refusal that a new assignment does not cure is the error of the call", async () => {
      await client.group.join({ ...topic, groupId: "group" });
      node.assigned = [0];
      node.refusals.set(0, [5009, 5009, 5009]);
      await expect(client.message.poll(read)).rejects.toMatchObject({ code: 5009 });
      expect(polls()).toHaveLength(2);
    });
  });
});

test("waiting polls beyond 64 wait at the client", async () => {
  const abort = new AbortController();
  const call = {
    ...topic,
    partitionId: 0,
    consumer: Consumer.Named("me"),
    pollingStrategy: PollingStrategy.First,
    options: { maxWait: 60_000 },
  };
  const waiting = Array.from({ length: 70 }, () => client.message.poll(call, { signal: abort.signal }));
  const ended = Promise.allSettled(waiting);
  await node.until(pollMessagesDeferred, 64);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(polls()).toHaveLength(64);
  abort.abort();
  await expect(ended).resolves.toHaveLength(70);
  await node.until(cancelDeferredRequest, 64);
  node.append(0, "a");
  await expect(client.message.poll(call)).resolves.toMatchObject({ count: 1 });
});
