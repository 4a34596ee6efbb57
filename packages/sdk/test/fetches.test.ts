import {
  cancelDeferredRequest,
  decodeRequest,
  encodeResponse,
  ErrorCode,
  fetchMessages,
  type FetchMessagesRequest,
  getPartitionRoute,
} from "@iggy/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import {
  CommitPolicy,
  Consumer,
  DeserializeError,
  FeatureUnavailableError,
  FetchProgressUncertainError,
  PartitionLaneBlockedError,
  PollingStrategy,
  TimeoutError,
  ValidationError,
} from "../src/index.js";
import { concat, MemoryNetwork } from "./support/memory-network.js";
import { ScriptedPartition } from "./support/poll-replies.js";
import { type Received, ScriptedNode } from "./support/scripted-node.js";

let open: ClientCore | undefined;
afterEach(() => open?.destroy());

const records = { streamId: 1, topicId: 1, consumer: Consumer.Named(7) };
const from = (partitionId: number, offset = 0) => ({ partitionId, pollingStrategy: PollingStrategy.Offset(offset) });

/** A node with messages in three partitions; `statuses` makes partitions fail. */
class FetchNode extends ScriptedNode {
  readonly partitions = [0, 1, 2].map((id) => new ScriptedPartition(id));
  readonly statuses = new Map<number, number>();
  readonly refusals: number[] = [];
  isSilent = false;

  constructor() {
    super();
    this.partitions.forEach((partition, id) => partition.appendTexts(`a${String(id)}`, `b${String(id)}`));
    this.handler = (received) => {
      if (received.code === fetchMessages.code) this.#serve(received);
      else this.answer(received);
    };
  }

  get requests(): FetchMessagesRequest[] {
    return this.of(fetchMessages).map(({ body }) => decodeRequest(fetchMessages, body));
  }

  #serve(received: Received): void {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) this.refuse(received, refusal);
    else if (!this.isSilent) this.reply(received, this.fetchReply(decodeRequest(fetchMessages, received.body)));
  }

  fetchReply({ targets }: FetchMessagesRequest): Uint8Array {
    const parts = targets.map(({ partitionId, strategy }) => {
      const status = this.statuses.get(partitionId) ?? 0;
      const served = this.partitions[partitionId]?.batches.filter(({ base }) => base >= Number(strategy.value)) ?? [];
      const bytes = status === 0 ? concat(served.map((batch) => batch.bytes)) : new Uint8Array(0);
      const count = status === 0 ? served.reduce((sum, batch) => sum + batch.count, 0) : 0;
      const section = {
        partitionId,
        status,
        currentOffset: status === 0 ? 1n : 0n,
        messagesCount: count,
        context: { incarnation: status === 0 ? 41n : 0n, ownerGeneration: 0n, metadataOp: 0n },
        nextOffset: status === 0 ? strategy.value + BigInt(count) : 0n,
        recordsLen: bytes.length,
      };
      return { section, bytes };
    });
    return encodeResponse(fetchMessages, {
      sections: parts.map(({ section }) => section),
      records: concat(parts.map(({ bytes }) => bytes)),
    });
  }
}

function setUp() {
  const node = new FetchNode();
  open = new MemoryNetwork(node).client();
  return { node, client: open };
}

describe("a fetch of several partitions", () => {
  test("is one request; sections come in the order of the targets", async () => {
    const { node, client } = setUp();
    const { sections } = await client.message.fetch({ ...records, targets: [from(2), from(0), from(1)] });
    expect(node.requests).toHaveLength(1);
    expect(sections.map(({ partitionId }) => partitionId)).toEqual([2, 0, 1]);
    expect(sections[0]?.messages?.messages.map((message) => message.text())).toEqual(["a2", "b2"]);
    expect(sections[0]?.checkpoint).toMatchObject({ partitionId: 2, offset: 1n });
  });

  test("a continuation goes on behind what was read, under the same history", async () => {
    const { node, client } = setUp();
    const { sections } = await client.message.fetch({ ...records, targets: [from(0), from(1)] });
    node.partitions[1]?.appendTexts("c1");
    const targets = sections.map(({ partitionId, continuation }) => ({ partitionId, pollingStrategy: continuation }));
    const next = await client.message.fetch({ ...records, targets });
    expect(node.requests[1]?.targets.map(({ strategy }) => strategy.value)).toEqual([2n, 2n]);
    expect(node.requests[1]?.targets[0]).toMatchObject({ incarnation: 41n, ownerGeneration: 0n });
    expect(next.sections.map(({ messages }) => messages?.count)).toEqual([0, 1]);
    expect(next.sections[0]?.checkpoint).toBeNull();
  });

  test("an error of one partition is its section; the others have their messages", async () => {
    const { node, client } = setUp();
    node.statuses.set(1, ErrorCode.InvalidOffset);
    const { sections } = await client.message.fetch({ ...records, targets: [from(0), from(1, 5)] });
    expect(sections[0]).toMatchObject({ status: 0, error: undefined });
    expect(sections[1]).toMatchObject({ status: ErrorCode.InvalidOffset, messages: undefined, checkpoint: null });
    expect(sections[1]?.error).toMatchObject({ code: ErrorCode.InvalidOffset });
    expect(sections[1]?.continuation.value).toBe(5n);
  });

  test("a partition that does not exist is a section of its own, or the error when it was all", async () => {
    const { node, client } = setUp();
    const serve = node.handler;
    node.handler = (received, self) => {
      const isMissing = received.code === getPartitionRoute.code && received.body.at(-4) === 9;
      if (isMissing) node.refuse(received, ErrorCode.PartitionNotFound);
      else serve?.(received, self);
    };
    const { sections } = await client.message.fetch({ ...records, targets: [from(9), from(0)] });
    expect(sections.map(({ status }) => status)).toEqual([ErrorCode.PartitionNotFound, 0]);
    await expect(client.message.fetch({ ...records, targets: [from(9)] })).rejects.toMatchObject({
      code: ErrorCode.PartitionNotFound,
    });
  });

  test("a primary that is none any more: routes are looked up again, then the partitions are read", async () => {
    const { node, client } = setUp();
    node.refusals.push(ErrorCode.NotPrimary);
    const { sections } = await client.message.fetch({ ...records, targets: [from(0), from(1)] });
    expect(sections).toHaveLength(2);
    expect(node.requests).toHaveLength(2);
    expect(node.of(getPartitionRoute)).toHaveLength(4);
  });

  test("no primary anywhere ends in its time, with pauses between the tries", async () => {
    const { node, client } = setUp();
    node.refusals.push(...Array.from({ length: 1000 }, () => ErrorCode.NotPrimary));
    const fetch = client.message.fetch({ ...records, targets: [from(0)] }, { timeout: 300 });
    await expect(fetch).rejects.toMatchObject({ code: ErrorCode.TransientNotAccepted });
    expect(node.requests.length).toBeLessThan(10);
  });
});

describe("partitions of several primaries", () => {
  /** Each partition has its own primary. */
  function setUpSpread() {
    const { node, client } = setUp();
    const serve = node.handler;
    node.handler = (received, self) => {
      if (received.code !== getPartitionRoute.code) serve?.(received, self);
      else {
        const { partitionId } = decodeRequest(getPartitionRoute, received.body);
        node.reply(received, encodeResponse(getPartitionRoute, { ...node.route(), primaryReplica: partitionId }));
      }
    };
    return { node, client };
  }
  const asked = (node: FetchNode) => node.requests.map(({ targets }) => targets.map(({ partitionId }) => partitionId));

  test("one request to each, one result", async () => {
    const { node, client } = setUpSpread();
    const { sections } = await client.message.fetch({ ...records, targets: [from(2), from(0), from(1)] });
    expect(asked(node)).toEqual([[2], [0], [1]]);
    expect(sections.map(({ partitionId, messages }) => [partitionId, messages?.count])).toEqual([
      [2, 2],
      [0, 2],
      [1, 2],
    ]);
  });

  test("a read that succeeded is not repeated because another primary moved", async () => {
    const { node, client } = setUpSpread();
    node.refusals.push(ErrorCode.NotPrimary);
    const options = { commit: CommitPolicy.OnRead };
    const { sections } = await client.message.fetch({ ...records, targets: [from(0), from(1)], options });
    expect(asked(node)).toEqual([[0], [1], [0]]);
    expect(sections.map(({ status }) => status)).toEqual([0, 0]);
  });

  test("what one primary refuses are the sections of its partitions", async () => {
    const { node, client } = setUpSpread();
    node.refusals.push(ErrorCode.Unauthorized);
    const { sections } = await client.message.fetch({ ...records, targets: [from(0), from(1)] });
    expect(sections.map(({ status }) => status)).toEqual([ErrorCode.Unauthorized, 0]);
    expect(sections[0]?.continuation.value).toBe(0n);
  });

  test("what all refuse is the error of the call", async () => {
    const { node, client } = setUpSpread();
    node.refusals.push(ErrorCode.Unauthorized, ErrorCode.Unauthorized);
    const fetch = client.message.fetch({ ...records, targets: [from(0), from(1)] });
    await expect(fetch).rejects.toMatchObject({ code: ErrorCode.Unauthorized });
  });
});

describe("times and limits", () => {
  test("a short deadline of the call still makes a request that servers take", async () => {
    const { node, client } = setUp();
    node.isSilent = true;
    const started = performance.now();
    const fetch = client.message.fetch({ ...records, targets: [from(0)] }, { timeout: 60 });
    await expect(fetch).rejects.toBeInstanceOf(TimeoutError);
    expect(performance.now() - started).toBeLessThan(1000);
    expect(node.requests[0]).toMatchObject({ waitUs: 0n, requestTimeoutUs: 1_000_000n });
  });

  test("the wait keeps a second of the call for the answer", async () => {
    const { node, client } = setUp();
    await client.message.fetch({ ...records, targets: [from(0)], options: { maxWait: 5000 } }, { timeout: 3000 });
    const { waitUs, requestTimeoutUs } = node.requests[0] ?? { waitUs: 0n, requestTimeoutUs: 0n };
    expect(requestTimeoutUs).toBeLessThanOrEqual(3_000_000n);
    expect(requestTimeoutUs - waitUs).toBe(1_000_000n);
  });

  test("the whole reply fits the largest frame, table included", async () => {
    const node = new FetchNode();
    open = new MemoryNetwork(node).client({ maxResponseFrameSize: 100_000 });
    await open.message.fetch({ ...records, targets: [from(0), from(1)] });
    expect(node.requests[0]?.maxBytes).toBe(100_000 - 256 - 4 - 2 * 56);
    expect(node.requests[0]?.targets[0]?.maxBytes).toBe(100_000 - 256 - 4 - 2 * 56);
  });

  test.each([
    ["no target", [], ValidationError],
    ["a partition twice", [from(1), from(1)], ValidationError],
    ["a start that is no offset", [{ partitionId: 0, pollingStrategy: PollingStrategy.First }], ValidationError],
    ["more than 1000", Array.from({ length: 1001 }, (_, id) => from(id)), ValidationError],
  ])("%s is refused before anything is sent", async (_, targets, expected) => {
    const { node, client } = setUp();
    await expect(client.message.fetch({ ...records, targets })).rejects.toBeInstanceOf(expected);
    expect(node.received).toEqual([]);
  });

  test("an external group holds offsets only", async () => {
    const { client } = setUp();
    const call = { ...records, consumer: Consumer.ExternalGroup("group"), targets: [from(0)] };
    await expect(client.message.fetch(call)).rejects.toBeInstanceOf(FeatureUnavailableError);
  });

  test.each([
    ["a partition that nobody asked for", (node: FetchNode) => ({ ...node.requests[0], targets: [target(2)] })],
    ["a partition twice", (node: FetchNode) => ({ ...node.requests[0], targets: [target(0), target(0)] })],
  ])("a reply with %s is none", async (_, answered) => {
    const { node, client } = setUp();
    const serve = node.handler;
    node.handler = (received, self) => {
      if (received.code !== fetchMessages.code) serve?.(received, self);
      else {
        const request = decodeRequest(fetchMessages, received.body);
        node.reply(received, node.fetchReply({ ...request, ...answered(node) }));
      }
    };
    await expect(client.message.fetch({ ...records, targets: [from(0)] })).rejects.toBeInstanceOf(DeserializeError);
  });
});

describe("a fetch that stores offsets", () => {
  const committing = { ...records, options: { commit: CommitPolicy.OnRead } };

  test("without an answer it blocks progress on all its partitions until it is abandoned", async () => {
    const { node, client } = setUp();
    node.isSilent = true;
    const fetch = client.message.fetch({ ...committing, targets: [from(0), from(1)] }, { timeout: 50 });
    await expect(fetch).rejects.toBeInstanceOf(FetchProgressUncertainError);
    node.isSilent = false;
    for (const partitionId of [0, 1]) {
      const again = client.message.fetch({ ...committing, targets: [from(partitionId)] });
      await expect(again).rejects.toMatchObject({ name: "PartitionLaneBlockedError", partitionId });
    }
    await expect(client.message.fetch({ ...committing, targets: [from(2)] })).resolves.toBeDefined();
    const [operation] = client.operation.list();
    await client.operation.abandon({ operationId: operation?.operationId ?? 0n });
    await expect(client.message.fetch({ ...committing, targets: [from(0), from(1)] })).resolves.toBeDefined();
  });

  test("a late answer frees the partitions by itself", async () => {
    const { node, client } = setUp();
    node.isSilent = true;
    const fetch = client.message.fetch({ ...committing, targets: [from(0)] }, { timeout: 50 });
    await expect(fetch).rejects.toBeInstanceOf(FetchProgressUncertainError);
    const again = client.message.fetch({ ...committing, targets: [from(0)] });
    await expect(again).rejects.toBeInstanceOf(PartitionLaneBlockedError);
    const [late] = node.of(fetchMessages);
    if (late !== undefined) node.reply(late, node.fetchReply(decodeRequest(fetchMessages, late.body)));
    node.isSilent = false;
    await expect.poll(() => client.operation.list()).toEqual([]);
    await expect(client.message.fetch({ ...committing, targets: [from(0)] })).resolves.toBeDefined();
  });

  test("an abort cancels the wait on the server; the answer to it says that nothing was stored", async () => {
    const { node, client } = setUp();
    const serve = node.handler;
    node.isSilent = true;
    node.handler = (received, self) => {
      if (received.code !== cancelDeferredRequest.code) {
        serve?.(received, self);
        return;
      }
      const cancelled = node.of(fetchMessages).find(({ request }) => request === received.request);
      if (cancelled !== undefined) node.refuse(cancelled, ErrorCode.TransientNotAccepted);
    };
    const abort = new AbortController();
    const targets = [from(0)];
    const fetch = client.message.fetch(
      { ...records, targets, options: { commit: CommitPolicy.OnRead, maxWait: 60_000 } },
      { signal: abort.signal },
    );
    await node.until(fetchMessages, 1);
    abort.abort(new Error("enough"));
    await expect(fetch).rejects.toThrow("enough");
    node.isSilent = false;
    await expect(client.message.fetch({ ...committing, targets })).resolves.toBeDefined();
    expect(client.operation.list()).toEqual([]);
  });
});

const target = (partitionId: number): FetchMessagesRequest["targets"][number] => ({
  partitionId,
  strategy: { kind: "offset", value: 0n },
  maxBytes: 1000,
  incarnation: 41n,
  ownerGeneration: 0n,
});
