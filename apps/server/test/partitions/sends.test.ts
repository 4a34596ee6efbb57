import { BatchView, encodeBatch, ErrorCode, stampBatch } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { alice, batchOf, bob, codeOf, confirmed, incarnation, offsetAt, partition, polled, TestNode } from "./node.js";

describe("a send", () => {
  it("is confirmed with its first offset and can be polled", async () => {
    const node = await TestNode.start();
    expect(confirmed(await node.send({ count: 3, text: "a" }).answered)).toBe(0);
    expect(confirmed(await node.send({ count: 2, text: "b" }).answered)).toBe(3);
    const read = polled(await node.poll().answered);
    expect(read.offsets).toEqual([0, 1, 2, 3, 4]);
    expect(read.texts).toEqual(["a0", "a1", "a2", "b0", "b1"]);
    expect(read).toMatchObject({ partitionId: 0, currentOffset: 4, context: [incarnation, 0, 100] });
  });

  it("is answered as a committed operation that echoes the request", async () => {
    const node = await TestNode.start();
    const request = node.send({ count: 1 }, { requestChecksum: 99n });
    const answer = await request.answered;
    expect(answer).toMatchObject({
      kind: "committed",
      reply: { op: 1, operation: 160, request: request.request, requestChecksum: 99n, partitionIncarnation: 41 },
    });
  });

  it("stamps partition, offset and a time that only grows", async () => {
    const node = await TestNode.start();
    const batches = [batchOf({ count: 2 }), batchOf({ count: 1 })];
    for (const batch of batches) await node.sendBytes(batch, new BatchView().at(batch).messageCount).answered;
    const { timestamps } = polled(await node.poll().answered);
    expect(timestamps[0]).toBe(node.clock.nowMicros());
    expect(timestamps[1]).toBe(timestamps[0]);
    expect(timestamps[2]).toBe((timestamps[0] ?? 0) + 1);
  });
});

describe("a send that is refused", () => {
  const bad = async (change: (batch: Uint8Array) => Uint8Array, count = 2): Promise<number | undefined> => {
    const node = await TestNode.start();
    const answer = await node.sendBytes(change(batchOf({ count: 2 })), count).answered;
    expect(await node.offsets()).toEqual([]);
    return codeOf(answer);
  };
  const flipped = (at: number) => (batch: Uint8Array) => {
    const copy = batch.slice();
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };

  it.each<[what: string, expected: number, change: (batch: Uint8Array) => Uint8Array]>([
    ["cut short", ErrorCode.InvalidCommand, (batch) => batch.subarray(0, batch.length - 1)],
    ["with bytes behind it", ErrorCode.InvalidCommand, (batch) => Uint8Array.of(...batch, 0)],
    ["with a changed payload", ErrorCode.InvalidMessageChecksum, flipped(256 + 48)],
    ["with a changed batch checksum", ErrorCode.InvalidBatchChecksum, flipped(40)],
    ["with a reserved byte set", ErrorCode.InvalidCommand, flipped(100)],
    ["empty", ErrorCode.InvalidCommand, () => new Uint8Array(0)],
    [
      "that is stamped already",
      ErrorCode.InvalidCommand,
      (batch) => {
        stampBatch(batch, 0, { partitionId: 0, baseOffset: 5, baseTimestamp: 0 });
        return batch;
      },
    ],
  ])("%s", async (_what, expected, change) => {
    expect(await bad(change)).toBe(expected);
  });

  it("with another number of messages than the request says", async () => {
    expect(await bad((batch) => batch, 3)).toBe(ErrorCode.InvalidCommand);
  });

  it.each([
    ["of another incarnation", { partitionIncarnation: incarnation + 1 }, ErrorCode.HistoryUnavailable],
    ["of no incarnation", { partitionIncarnation: 0 }, ErrorCode.HistoryUnavailable],
    ["with an owner generation", { ownerGeneration: 3 }, ErrorCode.ConsumerGroupPartitionNotOwned],
  ])("%s", async (_what, sender, expected) => {
    const node = await TestNode.start();
    expect(codeOf(await node.send({ count: 1 }, sender).answered)).toBe(expected);
  });

  it("in the order of the checks: the fence before the batch", async () => {
    const node = await TestNode.start();
    const answer = await node.sendBytes(new Uint8Array(3), 1, { partitionIncarnation: 1 }).answered;
    expect(codeOf(answer)).toBe(ErrorCode.HistoryUnavailable);
  });

  it("to a partition that does not exist", async () => {
    const node = await TestNode.start();
    const answer = await node.send({ count: 1 }, {}, { ...partition, partitionId: 7 }).answered;
    expect(codeOf(answer)).toBe(ErrorCode.PartitionNotFound);
  });

  it("with a message above the limits of payload or headers", async () => {
    const node = await TestNode.start();
    const userHeaders = new Uint8Array(100_001);
    const batch = encodeBatch([{ payload: Uint8Array.of(1), userHeaders, originTimestamp: 1 }]);
    expect(codeOf(await node.sendBytes(batch, 1).answered)).toBe(ErrorCode.TooBigUserHeaders);
  });
});

describe("a resent send", () => {
  it("under the same request number gets the first answer, with the first checksum", async () => {
    const node = await TestNode.start();
    const first = await node.send({ count: 2 }, { request: 500, requestChecksum: 1n }).answered;
    await node.send({ count: 1 }, { request: 501 }).answered;
    const again = await node.send({ count: 2 }, { request: 500, requestChecksum: 2n }).answered;
    expect(again).toEqual(first);
    expect(await node.offsets()).toEqual([0, 1, 2]);
  });

  it("while the first is uncommitted is answered by its commit", async () => {
    const node = await TestNode.start();
    const first = node.send({ count: 2 }, { request: 500 });
    const again = node.send({ count: 2 }, { request: 500 });
    expect(first.answer).toBeUndefined();
    expect(await again.answered).toEqual(await first.answered);
    expect(await node.offsets()).toEqual([0, 1]);
  });

  it("is still recognised after the process was killed", async () => {
    const node = await TestNode.start();
    const first = await node.send({ count: 2 }, { request: 500 }).answered;
    const next = await node.killed();
    expect(await next.send({ count: 2 }, { request: 500 }).answered).toEqual(first);
    expect(await next.offsets()).toEqual([0, 1]);
  });

  it("is refused once the session is retired", async () => {
    const node = await TestNode.start();
    await node.send({ count: 1 }, { client: 7n, session: 70 }).answered;
    await node.plane.retireSessions([{ client: 7n, session: 70, metadataWatermark: 99 }]);
    expect(codeOf(await node.send({ count: 1 }, { client: 7n, session: 70 }).answered)).toBe(ErrorCode.StaleClient);
    expect(confirmed(await node.send({ count: 1 }, { client: 7n, session: 71 }).answered)).toBe(1);
  });

  it("finds room for its writer when retirement frees some, and 58 before", async () => {
    const node = await TestNode.start({ limits: { dedupClientsMax: 2 } });
    await node.send({ count: 1 }, { client: 1n }).answered;
    await node.send({ count: 1 }, { client: 2n }).answered;
    expect(codeOf(await node.send({ count: 1 }, { client: 3n }).answered)).toBe(ErrorCode.TransientNotAccepted);
    await node.plane.retireSessions([{ client: 1n, session: 70, metadataWatermark: 99 }]);
    expect(confirmed(await node.send({ count: 1 }, { client: 3n }).answered)).toBe(2);
  });
});

describe("sessions that end while a partition is not open", () => {
  const { client, session } = alice;
  const retired = [{ client, session, metadataWatermark: 99 }];

  /** A partition with the one writer that it has room for, on a disk that does not let it open. */
  async function closedPartition() {
    const node = await TestNode.start({ limits: { dedupClientsMax: 1 } });
    await node.send({ count: 1 }, alice).answered;
    const io = node.disk.kill();
    const heal = io.fail({ operation: "open", path: (path) => path.includes("/partitions/"), code: "EIO" });
    return { node: await TestNode.start({ io, catalog: node.catalog, limits: { dedupClientsMax: 1 } }), heal };
  }

  it("keep no retirement waiting, and no place among the writers once it opens", async () => {
    const { node, heal } = await closedPartition();
    node.catalog.deadSessions.add(`${String(client)}/${String(session)}`);
    await node.plane.retireSessions(retired);
    heal();
    await node.clock.advance(1_000);
    expect(confirmed(await node.send({ count: 1 }, bob).answered)).toBe(1);
    expect(codeOf(await node.send({ count: 1 }, alice).answered)).toBe(ErrorCode.StaleClient);
  });

  it("write nothing that waited for it", async () => {
    const { node, heal } = await closedPartition();
    const early = node.send({ count: 1 }, alice);
    const fetch = node.fetch([{ partitionId: 0 }], { autoCommit: true }, alice);
    const other = node.poll({}, bob);
    node.catalog.deadSessions.add(`${String(client)}/${String(session)}`);
    await node.plane.retireSessions(retired);
    heal();
    await node.clock.advance(1_000);
    expect(codeOf(await early.answered)).toBe(ErrorCode.StaleClient);
    expect(codeOf(await fetch.answered)).toBe(ErrorCode.StaleClient);
    expect(polled(await other.answered).offsets).toEqual([0]);
  });
});

describe("a batch of an idempotent producer", () => {
  const producer = (baseSequence: number, epoch = 0) => ({ id: 77n, epoch, baseSequence });

  it("is written once, whoever resends it", async () => {
    const node = await TestNode.start();
    await node.send({ count: 3 }).answered;
    expect(confirmed(await node.send({ count: 2, producer: producer(0) }).answered)).toBe(3);
    const again = await node.send({ count: 2, producer: producer(0) }, { client: 99n }).answered;
    expect(confirmed(again)).toBe(3);
    expect(again).toMatchObject({ kind: "committed", reply: { op: 2 } });
    expect(await node.offsets()).toEqual([0, 1, 2, 3, 4]);
  });

  it("is uncertain while the first is uncommitted", async () => {
    const node = await TestNode.start();
    const first = node.send({ count: 2, producer: producer(0) });
    const again = node.send({ count: 2, producer: producer(0) });
    expect(codeOf(await again.answered)).toBe(ErrorCode.TransientNotCommitted);
    expect(confirmed(await first.answered)).toBe(0);
  });

  it("is refused with a gap, of an old epoch, unknown or without a named partition", async () => {
    const node = await TestNode.start();
    const send = async (sequence: number, epoch = 0) =>
      codeOf(await node.send({ count: 2, producer: producer(sequence, epoch) }).answered);
    expect(await send(5)).toBe(ErrorCode.ProducerUnknown);
    expect(await send(0, 3)).toBe(0);
    expect(await send(4, 3)).toBe(ErrorCode.ProducerSequenceOutOfOrder);
    expect(await send(0, 2)).toBe(ErrorCode.ProducerEpochFenced);
    const batch = batchOf({ count: 2, producer: producer(2, 3) });
    const unnamed = node.sendBytes(batch, 2, {}, partition, false);
    expect(codeOf(await unnamed.answered)).toBe(ErrorCode.ProducerPartitionRequired);
  });

  it("is recognised after a kill and after a checkpoint", async () => {
    let node = await TestNode.start();
    expect(confirmed(await node.send({ count: 2, producer: producer(0) }).answered)).toBe(0);
    node = await node.killed();
    expect(confirmed(await node.send({ count: 2, producer: producer(0) }).answered)).toBe(0);
    expect(confirmed(await node.send({ count: 2, producer: producer(2) }).answered)).toBe(2);
    node = await node.restarted();
    expect(confirmed(await node.send({ count: 2, producer: producer(2) }).answered)).toBe(2);
    expect(await node.offsets()).toEqual([0, 1, 2, 3]);
  });

  it("keeps its producer usable through many concurrent sends with lost answers", async () => {
    const node = await TestNode.start({ limits: { prepareQueueDepth: 32 } });
    // The producer sends one batch after the other; every third answer is lost and the batch sent again.
    for (let i = 0; i < 30; i++) {
      const first = node.send({ count: 2, producer: producer(2 * i) });
      await first.answered;
      if (i % 3 === 0) expect(confirmed(await node.send({ count: 2, producer: producer(2 * i) }).answered)).toBe(2 * i);
    }
    expect(await node.offsets()).toEqual(Array.from({ length: 60 }, (_, i) => i));
  });
});

describe("queues", () => {
  it("take prepares up to the depth, twice as many requests behind them, and refuse the rest with 58", async () => {
    const node = await TestNode.start();
    const requests = Array.from({ length: 4 + 8 + 3 }, () => node.send({ count: 1 }));
    expect(requests.map(({ answer }) => codeOf(answer)).slice(12)).toEqual([58, 58, 58]);
    const confirmations = await Promise.all(
      requests.slice(0, 12).map(async ({ answered }) => confirmed(await answered)),
    );
    expect(confirmations).toEqual(Array.from({ length: 12 }, (_, i) => i));
  });

  it("keep the order of the requests", async () => {
    const node = await TestNode.start();
    const requests = Array.from({ length: 12 }, (_, i) => node.send({ count: 1, text: `n${String(i)}-` }));
    await Promise.all(requests.map(({ answered }) => answered));
    const { texts } = polled(await node.poll({ strategy: offsetAt(0) }).answered);
    expect(texts).toEqual(Array.from({ length: 12 }, (_, i) => `n${String(i)}-0`));
  });
});
