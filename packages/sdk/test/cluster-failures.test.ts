import { createStream, pollMessagesDeferred, sendMessages } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import {
  Consumer,
  OperationUncertainError,
  Partitioning,
  PollingStrategy,
  ProtocolFrameError,
  TimeoutError,
} from "../src/index.js";
import { type ClusterReplica, ScriptedCluster } from "./support/scripted-cluster.js";
import type { Received } from "./support/scripted-node.js";

/** What goes wrong, at which stage of a call, and what becomes of the call. The cluster applies each write once per number. */

let cluster: ScriptedCluster;
let client: ClientCore;
beforeEach(async () => {
  vi.useFakeTimers();
  cluster = new ScriptedCluster();
  client = cluster.client({ maxResponseFrameSize: 4096 });
  await client.connect();
  await settle();
});
afterEach(async () => {
  await client.destroy();
  vi.useRealTimers();
});

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

async function inTime<T>(call: Promise<T>, ms = 40_000): Promise<T> {
  void call.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(ms);
  return call;
}

interface Options {
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

interface Kind {
  readonly what: string;
  readonly command: { readonly code: number };
  readonly isWrite: boolean;
  readonly make: (options?: Options) => Promise<unknown>;
}

/** Each kind of call, on the node that takes it. */
const calls: readonly Kind[] = [
  {
    what: "a metadata write",
    command: createStream,
    isWrite: true,
    make: (options?: Options) =>
      client.sendBinaryRequest(createStream.code, Uint8Array.of(1, 115, 0, 0, 0, 0), options),
  },
  {
    what: "a send",
    command: sendMessages,
    isWrite: true,
    make: (options?: Options) =>
      client.message.send(
        { streamId: 1, topicId: 1, partition: Partitioning.PartitionId(1), messages: [{ payload: "x" }] },
        options,
      ),
  },
  {
    what: "a read",
    command: pollMessagesDeferred,
    isWrite: false,
    make: (options?: Options) =>
      client.message.poll(
        {
          streamId: 1,
          topicId: 1,
          partitionId: 1,
          consumer: Consumer.Named("app"),
          pollingStrategy: PollingStrategy.First,
          options: {},
        },
        options,
      ),
  },
];

/** Steps for the first requests of a command; then the cluster answers. */
function script(
  command: { readonly code: number },
  ...steps: ((replica: ClusterReplica, received: Received) => void)[]
) {
  cluster.intercept = (replica, received) => {
    const step = received.code === command.code ? steps.shift() : undefined;
    step?.(replica, received);
    return step !== undefined;
  };
}

describe.each(calls)("$what", ({ command, isWrite, make }) => {
  const frames = (): Set<string> => new Set(cluster.of(command).map(({ frame }) => Buffer.from(frame).toString("hex")));

  test("the link drops before the send: it leaves over the next one", async () => {
    for (const replica of cluster.replicas) replica.dropAll();
    await inTime(make(), 1000);
    expect(frames().size).toBe(1);
    if (isWrite) expect(cluster.effects).toHaveLength(1);
    expect(cluster.registrations).toBe(1);
  });

  test("the link drops after the send, before the commit: the same frame once more", async () => {
    script(command, (_replica, { wire }) => wire.reset());
    await inTime(make(), 1000);
    expect(cluster.of(command)).toHaveLength(2);
    if (isWrite) expect([frames().size, cluster.effects.length]).toEqual([1, 1]);
  });

  test("the link drops after the commit, before the reply: the receipt answers the same frame", async () => {
    script(command, (replica, received) => {
      cluster.answer(replica, received);
      received.wire.reset();
    });
    await inTime(make(), 1000);
    expect(cluster.of(command).length).toBeGreaterThanOrEqual(1);
    if (isWrite) expect([frames().size, cluster.effects.length]).toEqual([1, 1]);
  });

  test("the node dies after the send and another one takes over: the write happens once", async () => {
    script(command, (replica, received) => {
      cluster.answer(replica, received);
      replica.kill();
      cluster.leader = 2;
      cluster.movePartition(1, 2);
    });
    await inTime(make(), 3000);
    if (isWrite) expect(cluster.effects).toHaveLength(1);
  });

  test("the session is lost before the send: a new one is made, once", async () => {
    cluster.endSessions();
    for (const replica of cluster.replicas) replica.dropAll();
    await inTime(make(), 3000);
    expect(cluster.registrations).toBe(2);
    if (isWrite) expect(cluster.effects).toHaveLength(1);
  });

  test("the session is lost and the call finds out: nothing happens twice", async () => {
    cluster.endSessions();
    const result = await inTime(
      make().catch((error: unknown) => error),
      3000,
    );
    // The eviction that a metadata write meets names no request, so it proves nothing about this one.
    if (command === createStream) expect(result).toBeInstanceOf(OperationUncertainError);
    else expect(result).not.toBeInstanceOf(Error);
    expect(cluster.registrations).toBe(2);
    expect(cluster.effects).toHaveLength(command === sendMessages ? 1 : 0);
  });

  test("the session is lost after the send: a write is uncertain, a read is repeated", async () => {
    script(command, (_replica, { wire }) => {
      cluster.endSessions();
      wire.reset();
    });
    const result = inTime(
      make().catch((error: unknown) => error),
      3000,
    );
    if (isWrite) expect(await result).toBeInstanceOf(OperationUncertainError);
    else expect(await result).not.toBeInstanceOf(Error);
    expect(cluster.effects).toHaveLength(0);
    // The client goes on.
    await expect(inTime(make(), 3000)).resolves.toBeDefined();
  });

  test("the reply is slower than the call: a write is retained and resolves, a read ends", async () => {
    let late: (() => void) | undefined;
    script(command, (replica, received) => {
      late = () => cluster.answer(replica, received);
    });
    const error = await inTime(
      make({ timeout: 1000 }).catch((e: unknown) => e),
      1000,
    );
    late?.();
    await settle();
    if (!isWrite) {
      expect(error).toBeInstanceOf(TimeoutError);
      return;
    }
    if (!(error instanceof OperationUncertainError)) throw new Error("expected an uncertain operation");
    await expect(inTime(client.operation.resolve({ operationId: error.operationId }), 1000)).resolves.toBe(true);
    expect(cluster.effects).toHaveLength(1);
  });

  test("a frame above the limit ends its link only", async () => {
    script(command, (_replica, { wire }) => {
      const header = new Uint8Array(256);
      new DataView(header.buffer).setUint32(48, 4097, true);
      header[60] = 8;
      wire.write(header);
    });
    const downs: unknown[] = [];
    client.on("link-down", ({ error }) => downs.push(error));
    await expect(inTime(make(), 3000)).resolves.toBeDefined();
    expect(downs).toHaveLength(1);
    expect(downs[0]).toBeInstanceOf(ProtocolFrameError);
    if (isWrite) expect(cluster.effects).toHaveLength(1);
  });

  test("aborted before anything: nothing is sent", async () => {
    const reason = new Error("no longer wanted");
    await expect(make({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await settle(1000);
    expect(cluster.of(command)).toHaveLength(0);
  });

  test("aborted while no link is there: nothing is sent later", async () => {
    for (const replica of cluster.replicas) replica.kill();
    const abort = new AbortController();
    const call = make({ signal: abort.signal }).catch((error: unknown) => error);
    await settle(100);
    const reason = new Error("no longer wanted");
    abort.abort(reason);
    expect(await call).toBe(reason);
    for (const replica of cluster.replicas) replica.start();
    await settle(3000);
    expect(cluster.of(command)).toHaveLength(0);
  });

  test("aborted while it waits for the answer: the caller is free at once, the lane when the answer comes", async () => {
    let late: (() => void) | undefined;
    script(command, (replica, received) => {
      late = () => cluster.answer(replica, received);
    });
    const abort = new AbortController();
    const call = make({ signal: abort.signal }).catch((error: unknown) => error);
    await settle(10);
    const reason = new Error("no longer wanted");
    abort.abort(reason);
    expect(await call).toBe(reason);
    late?.();
    await expect(inTime(make(), 1000)).resolves.toBeDefined();
    if (isWrite) expect(cluster.effects).toHaveLength(2);
  });
});
