import { createStream, getClusterMetadata, getPartitionRoute, sendMessages } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { Consumer, NotFoundError, Partitioning, PollingStrategy, TimeoutError } from "../src/index.js";
import { ScriptedCluster } from "./support/scripted-cluster.js";

let cluster: ScriptedCluster;
let client: ClientCore;
beforeEach(() => {
  vi.useFakeTimers();
  cluster = new ScriptedCluster();
  client = cluster.client();
});
afterEach(async () => {
  await client.destroy();
  vi.useRealTimers();
});

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Lets time pass until a call has its result. */
async function inTime<T>(call: Promise<T>, ms = 40_000): Promise<T> {
  void call.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(ms);
  return call;
}

const send = (partitionId: number, options?: { readonly timeout: number }): Promise<unknown> =>
  client.message.send(
    {
      streamId: 1,
      topicId: 1,
      partition: Partitioning.PartitionId(partitionId),
      messages: [{ payload: "x" }],
    },
    options,
  );

const route = (partitionId: number, refresh = false) =>
  client.cluster.getRoute({ streamId: 1, topicId: 1, partitionId, refresh });

const receivedOf = (command: { readonly code: number }): number[] =>
  cluster.replicas.map((replica) => replica.of(command).length);

describe("metadata", () => {
  test("goes to the metadata primary, whichever node the client connected to", async () => {
    cluster.leader = 2;
    await client.stream.create({ name: "orders" }).catch(() => undefined);
    expect(receivedOf(createStream)).toEqual([0, 0, 1]);
  });

  test("leader change: the node that refuses tells who leads, and the same frame goes there at once", async () => {
    const changes: unknown[] = [];
    client.on("leader-changed", (event) => changes.push(event));
    await client.stream.delete({ streamId: 1 });
    await settle();
    cluster.leader = 1;
    await client.stream.delete({ streamId: 2 });
    expect(cluster.effects).toHaveLength(2);
    expect(changes).toEqual([{ replicaId: 1, previous: 0 }]);
    expect(receivedOf(getClusterMetadata)).toEqual([2, 0, 0]);
    expect(client.getConnectionInfo().serverAddress).toBe("127.0.0.1:9001");
  });

  test("the leader dies: another node names the next one", async () => {
    await client.stream.delete({ streamId: 1 });
    await settle();
    cluster.replica(0).kill();
    const write = client.stream.delete({ streamId: 2 });
    await settle(300);
    cluster.leader = 2;
    await inTime(write, 2000);
    expect(cluster.effects).toHaveLength(2);
    expect(client.getConnectionInfo().serverAddress).toBe("127.0.0.1:9002");
  });

  test("no leader for a while: writes wait for one within their time", async () => {
    await client.connect();
    await settle();
    cluster.leader = -1;
    const write = client.stream.delete({ streamId: 1 });
    await settle(5000);
    cluster.leader = 1;
    await expect(inTime(write, 2000)).resolves.toBe(true);
    cluster.leader = -1;
    const refused = client.stream.delete({ streamId: 1 }, { timeout: 3000 }).catch((error: unknown) => error);
    expect(await inTime(refused, 4000)).toMatchObject({ code: 58 });
  });

  test("the client can't reach the leader, the other nodes can: reads are served, a write says what is missing", async () => {
    await client.connect();
    await settle();
    cluster.replica(0).isCutOff = true;
    cluster.replica(0).dropAll();
    await expect(inTime(client.stream.list(), 1000)).resolves.toEqual([]);
    const write = client.stream.delete({ streamId: 1 }, { timeout: 1000 }).catch((error: unknown) => error);
    expect(await inTime(write, 2000)).toMatchObject({ code: 58 });
    expect(cluster.effects).toHaveLength(0);
  });
});

describe("partitions", () => {
  test.each([0, 1, 2])("reach their primaries from any entry: node %i, without a single refusal", async (entry) => {
    const other = cluster.client({ options: { host: "127.0.0.1", port: 9000 + entry } });
    for (const partitionId of [0, 1, 2]) {
      await other.message.send({
        streamId: "s",
        topicId: "t",
        partition: Partitioning.PartitionId(partitionId),
        messages: [{ payload: "x" }],
      });
    }
    expect(receivedOf(sendMessages)).toEqual([1, 1, 1]);
    expect(cluster.of(getPartitionRoute)).toHaveLength(3);
    await other.destroy();
  });

  test("a primary that moved: one refusal, one lookup there, then the new one; the event tells", async () => {
    const moves: unknown[] = [];
    client.on("route-moved", (event) => moves.push(event));
    await send(0);
    await settle();
    cluster.movePartition(0, 2);
    await send(0);
    expect(receivedOf(sendMessages)).toEqual([2, 0, 1]);
    expect(receivedOf(getPartitionRoute)).toEqual([2, 0, 0]);
    expect(moves).toEqual([{ streamId: 1, topicId: 1, partitionId: 0, replicaId: 2, previous: 0 }]);
    // From now on it goes there directly.
    await send(0);
    expect(receivedOf(sendMessages)).toEqual([2, 0, 2]);
    expect(cluster.effects).toHaveLength(3);
  });

  test("a node that lags behind does not lead back to an older primary", async () => {
    await send(0);
    await settle();
    const old = { ...cluster.partition(0) };
    cluster.movePartition(0, 1);
    cluster.replica(0).beliefs.set(0, old);
    cluster.replica(2).beliefs.set(0, old);
    await inTime(send(0), 1000);
    expect(receivedOf(sendMessages)).toEqual([2, 1, 0]);
    await expect(route(0, true)).resolves.toMatchObject({ view: 2, primaryReplica: 1 });
  });

  test("the primary dies: another one is found through the nodes that are left", async () => {
    await send(1);
    await settle();
    cluster.replica(1).kill();
    const sending = send(1);
    await settle(500);
    cluster.movePartition(1, 2);
    await inTime(sending, 3000);
    expect(cluster.effects).toHaveLength(2);
    expect(receivedOf(sendMessages)[2]).toBe(1);
  });

  test("a primary that advertises a wrong address: the error names it and its replica", async () => {
    cluster.replica(1).advertised = { host: "10.9.9.9", port: 9001 };
    const error = await inTime(
      send(1, { timeout: 2000 }).catch((e: unknown) => e),
      3000,
    );
    expect(error).toBeInstanceOf(TimeoutError);
    const text = JSON.stringify((error as Error).cause);
    expect(text).toContain("replica 1 is not reachable at 10.9.9.9:9001");
    // The others are not held up.
    await expect(inTime(send(0), 100)).resolves.toBeDefined();
  });

  test("a primary that the roster lacks is looked for once more", async () => {
    cluster.replica(2).isMember = false;
    await client.connect();
    await settle();
    cluster.replica(2).isMember = true;
    await inTime(send(2), 1000);
    expect(receivedOf(sendMessages)).toEqual([0, 0, 1]);
  });

  test("not found by a backup is not final while the metadata primary knows better", async () => {
    await client.connect();
    await settle();
    cluster.leader = 1;
    cluster.replica(0).knowsNothing = true;
    await expect(inTime(route(0), 1000)).resolves.toMatchObject({ primaryReplica: 0 });
    for (const replica of cluster.replicas) replica.knowsNothing = true;
    await expect(inTime(route(1), 1000)).rejects.toBeInstanceOf(NotFoundError);
  });

  test("deleted and made anew: a send finds the new one by itself, a checkpoint does not", async () => {
    const poll = { streamId: 1, topicId: 1, partitionId: 0, consumer: Consumer.Named("app"), options: {} };
    const first = await client.message.poll({ ...poll, pollingStrategy: PollingStrategy.First });
    await send(0);
    cluster.recreatePartition(0);
    await inTime(send(0), 1000);
    expect(cluster.effects).toHaveLength(2);
    const context = { ...poll, pollingStrategy: first.continuation };
    await expect(inTime(client.message.poll(context), 1000)).rejects.toMatchObject({ code: 87 });
    await expect(inTime(client.message.poll(context), 1000)).rejects.toMatchObject({ code: 87 });
  });

  test("every metadata write costs each cached route one lookup at its next use", async () => {
    await send(0);
    await send(0);
    expect(cluster.of(getPartitionRoute)).toHaveLength(1);
    await client.stream.delete({ streamId: 1 });
    await send(0);
    await send(0);
    expect(cluster.of(getPartitionRoute)).toHaveLength(2);
  });

  test("a lookup that was under way when the session was reset leaves no route behind", async () => {
    await client.connect();
    await settle();
    let late: (() => void) | undefined;
    cluster.intercept = (replica, received) => {
      if (received.code !== getPartitionRoute.code || late !== undefined) return false;
      late = () => cluster.answer(replica, received);
      return true;
    };
    const lookup = route(0).catch((error: unknown) => error);
    await settle();
    cluster.endSessions();
    cluster.replica(1).dropAll();
    await settle(10);
    late?.();
    await inTime(lookup, 1000);
    expect(cluster.registrations).toBe(2);
    await send(0);
    expect(cluster.effects).toHaveLength(1);
  });
});
