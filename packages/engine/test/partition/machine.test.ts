import { ErrorCode, Operation, sendMessages, decodeExact } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { CorruptHistoryError, PartitionMachine, readBatchFacts, sendReply } from "@iggy/engine";
import { batchHeader, facts, limits, Log, recovered } from "./log.js";

const caller = { client: 9n, session: 1, request: 1 };

describe("a committed send", () => {
  it("advances the end by its messages and is answered from its receipt", () => {
    const log = new Log();
    expect(log.machine.currentOffset).toBe(0);
    log.send(3, { ...caller, requestChecksum: 77n });
    expect(log.send(2, { ...caller, request: 2 })).toMatchObject({ code: 0, baseOffset: 3, messagesCount: 2 });
    expect(log.machine.nextOffset).toBe(5);
    expect(log.machine.currentOffset).toBe(4);
    expect(log.machine.admitSend(caller, readBatchFacts(batchHeader(5, 1)), true, 1)).toMatchObject({
      kind: "replay",
      receipt: { request: 1, requestChecksum: 77n, op: 1, baseOffset: 0, operation: Operation.SendMessages },
    });
  });

  it("is confirmed in the layout of the command", () => {
    expect(decodeExact(sendMessages.response, sendReply(facts, 5_000_000_000))).toEqual({
      confirmations: [{ streamId: 1, topicId: 2, partitionId: 3, baseOffset: 5_000_000_000n }],
    });
  });

  it("may start above the end after a crash that left reserved numbers behind, never below it", () => {
    const log = new Log();
    log.send(3);
    log.machine.reserveOffsetsBelow(100);
    log.machine.dropOrdered();
    expect(log.machine.assignableOffset).toBe(100);
    expect(log.machine.nextOffset).toBe(3);
    expect(log.send(1, { ...caller, request: 2 })).toMatchObject({ baseOffset: 100 });
    expect(log.machine.nextOffset).toBe(101);
    const stale = log.prepare(Operation.SendMessages, batchHeader(5, 1), { ...caller, request: 3 });
    expect(() => log.machine.commit(stale)).toThrow(CorruptHistoryError);
  });
});

describe("a batch of an idempotent producer", () => {
  it("must come with a partition that the client named", () => {
    const { machine } = new Log();
    const produced = readBatchFacts(batchHeader(0, 1, { id: 7n, epoch: 0, sequence: 0 }));
    expect(machine.admitSend(caller, produced, false, 1)).toEqual({
      kind: "refuse",
      code: ErrorCode.ProducerPartitionRequired,
    });
    expect(machine.admitSend(caller, produced, true, 1)).toEqual({ kind: "accept" });
    expect(machine.admitSend(caller, readBatchFacts(batchHeader(0, 1)), false, 1)).toEqual({ kind: "accept" });
  });
});

describe("the limit of writers", () => {
  it("is fixed by the first committed operation, whatever is configured later", () => {
    const log = new Log();
    log.commit(log.prepare(Operation.SendMessages, batchHeader(0, 1), { ...caller, retryCapacity: 1 }));
    const restarted = new PartitionMachine(facts, { ...limits, retryCapacity: 100 });
    restarted.restore(log.machine.checkpoint());
    expect(restarted.admitSend({ ...caller, client: 10n }, readBatchFacts(batchHeader(1, 1)), true, 1)).toEqual({
      kind: "refuse",
      code: ErrorCode.TransientNotAccepted,
    });
  });

  it("leaves room when a session is retired", () => {
    const log = new Log();
    for (let client = 1n; client <= 4n; client++) log.send(1, { ...caller, client });
    const candidate = readBatchFacts(batchHeader(4, 1));
    expect(log.machine.admitSend({ ...caller, client: 5n }, candidate, true, 1)).toMatchObject({
      kind: "refuse",
      code: 58,
    });
    expect(log.machine.hasWriter(2n, 1)).toBe(true);
    log.retireSession(2n, 1);
    expect(log.machine.hasWriter(2n, 1)).toBe(false);
    expect(log.machine.admitSend({ ...caller, client: 5n }, candidate, true, 1)).toEqual({ kind: "accept" });
    expect(log.machine.admitSend({ ...caller, client: 2n }, candidate, true, 1)).toMatchObject({
      code: ErrorCode.StaleClient,
    });
  });
});

describe("a log that contradicts itself", () => {
  it("is refused: gaps between operations, unknown operations, bodies that do not decode", () => {
    const log = new Log();
    log.send(1);
    const skipped = { ...log.prepare(Operation.SendMessages, batchHeader(1, 1)), op: 3 };
    expect(() => log.machine.commit(skipped)).toThrow(CorruptHistoryError);
    expect(() => log.machine.commit(log.prepare(99, new Uint8Array(0)))).toThrow(CorruptHistoryError);
    for (const operation of [161, 162, 166, 167, 169]) {
      expect(() => log.machine.commit(log.prepare(operation, new Uint8Array(3)))).toThrow(CorruptHistoryError);
    }
  });
});

describe("a checkpoint", () => {
  const everything = (): Log => {
    const log = new Log();
    log.install(5, 1n, 11, 70);
    log.send(3, { ...caller, client: 1n, session: 11 });
    const produced = batchHeader(3, 2, { id: 2n ** 63n - 1n, epoch: 32767, sequence: 0 });
    log.commit(log.prepare(Operation.SendMessages, produced, { ...caller, client: 2n ** 128n - 2n }));
    log.write({ kind: "consumer", id: 0xffff_ffff }, 4);
    log.write({ kind: "consumer_group", id: 5 }, 2, 70);
    log.write({ kind: "external_group", id: 6 }, 2 ** 40);
    log.retireGroups(5, [3]);
    log.retireSession(3n, 7);
    return log;
  };

  it("holds everything that the log left behind", () => {
    const log = everything();
    const machine = recovered(log.machine.checkpoint(), []);
    expect(machine.checkpoint()).toEqual(log.machine.checkpoint());
    expect(machine.nextOffset).toBe(5);
    expect(machine.appliedOp).toBe(log.entries.length);
    expect(machine.checksum).toBe(BigInt(log.entries.length) * 7n);
    expect(machine.owner(5)).toEqual({ client: 1n, session: 11, generation: 70 });
    expect(machine.offsets.visible({ kind: "external_group", id: 6 })).toBe(2 ** 40);
    expect(machine.owners.isRetired(4)).toBe(true);
    expect(machine.owners.isRetired(3)).toBe(false);
    expect(recovered(undefined, log.entries).checkpoint()).toEqual(log.machine.checkpoint());
  });

  it("of another incarnation or in damaged bytes is refused", () => {
    const bytes = everything().machine.checkpoint();
    const other = new PartitionMachine({ ...facts, incarnation: 42 }, limits);
    expect(() => {
      other.restore(bytes);
    }).toThrow(CorruptHistoryError);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => recovered(bytes.subarray(0, length), [])).toThrow(CorruptHistoryError);
    }
    expect(() => recovered(Uint8Array.of(9, ...bytes.subarray(1)), [])).toThrow(CorruptHistoryError);
  });

  it("keeps the end of a history", () => {
    const log = new Log();
    log.endHistory();
    expect(recovered(log.machine.checkpoint(), []).isEnded).toBe(true);
  });
});
