import { ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import type { OffsetKey } from "@iggy/engine";
import { Log } from "./log.js";

const consumer: OffsetKey = { kind: "consumer", id: 7 };
const group: OffsetKey = { kind: "consumer_group", id: 5 };
const external: OffsetKey = { kind: "external_group", id: 5 };
const caller = { client: 9n, session: 1, request: 100 };
const refused = (code: number) => ({ kind: "refuse", code });

/** A partition that holds the given number of messages, written by client 8. */
function partition(messages: number): Log {
  const log = new Log();
  if (messages > 0) log.send(messages, { client: 8n, session: 1, request: 1 });
  return log;
}

describe("storing an offset", () => {
  it("is refused above the current offset, and at all in an empty partition", () => {
    const { machine } = partition(10);
    expect(machine.admitStore(caller, consumer, 9)).toEqual({ kind: "accept" });
    expect(machine.admitStore(caller, consumer, 10)).toEqual(refused(ErrorCode.InvalidOffset));
    expect(machine.admitStore(caller, group, 10)).toEqual(refused(ErrorCode.InvalidOffset));
    expect(partition(0).machine.admitStore(caller, consumer, 0)).toEqual(refused(ErrorCode.InvalidOffset));
  });

  it("has no range for an external group", () => {
    expect(partition(0).machine.admitStore(caller, external, 10_000)).toEqual({ kind: "accept" });
  });

  it("may move backwards", () => {
    const log = partition(10);
    log.write(consumer, 8);
    expect(log.machine.admitStore(caller, consumer, 2)).toEqual({ kind: "accept" });
    log.write(consumer, 2);
    expect(log.machine.offsets.visible(consumer)).toBe(2);
  });

  it("is refused for a new key at the limit of its kind, and still moves known keys", () => {
    const log = partition(10);
    for (const id of [1, 2, 3]) log.write({ kind: "consumer", id }, 0);
    expect(log.machine.admitStore(caller, { kind: "consumer", id: 4 }, 1)).toEqual(
      refused(ErrorCode.TooManyConsumerOffsets),
    );
    expect(log.machine.admitStore(caller, { kind: "consumer", id: 3 }, 1)).toEqual({ kind: "accept" });
    expect(log.machine.admitStore(caller, { kind: "external_group", id: 4 }, 1)).toEqual({ kind: "accept" });
  });

  it("counts a key that is ordered and not yet committed", () => {
    const { machine } = partition(10);
    for (const id of [1, 2, 3]) machine.orderedOffset({ ...caller, request: id }, { kind: "consumer", id }, 0, false);
    expect(machine.admitStore(caller, consumer, 1)).toEqual(refused(ErrorCode.TooManyConsumerOffsets));
  });

  it("keeps the keys of consumers, groups and external groups apart", () => {
    const log = partition(10);
    log.write({ kind: "consumer", id: 5 }, 1);
    log.write(external, 3);
    expect(log.machine.offsets.visible({ kind: "consumer", id: 5 })).toBe(1);
    expect(log.machine.offsets.visible(external)).toBe(3);
    expect(log.machine.offsets.visible(group)).toBeUndefined();
  });

  it("tells no stored offset from offset 0", () => {
    const log = partition(10);
    expect(log.machine.offsets.visible(consumer)).toBeUndefined();
    log.write(consumer, 0);
    expect(log.machine.offsets.visible(consumer)).toBe(0);
  });

  it("shows only when it commits", () => {
    const log = partition(10);
    log.machine.orderedOffset(caller, consumer, 4, false);
    expect(log.machine.offsets.visible(consumer)).toBeUndefined();
    log.write(consumer, 4, 0, caller);
    expect(log.machine.offsets.visible(consumer)).toBe(4);
  });
});

describe("deleting an offset", () => {
  it("is refused without a stored one", () => {
    expect(partition(10).machine.admitDelete(caller, consumer)).toEqual(refused(ErrorCode.ConsumerOffsetNotFound));
  });

  it("works at the limit of keys and frees one", () => {
    const log = partition(10);
    for (const id of [1, 2, 3]) log.write({ kind: "consumer", id }, 0);
    expect(log.machine.admitDelete(caller, { kind: "consumer", id: 2 })).toEqual({ kind: "accept" });
    log.write({ kind: "consumer", id: 2 }, undefined);
    expect(log.machine.admitStore(caller, consumer, 1)).toEqual({ kind: "accept" });
  });

  it("is rejected in the log when the offset went meanwhile", () => {
    const log = partition(10);
    expect(log.write(consumer, undefined)).toMatchObject({ code: ErrorCode.ConsumerOffsetNotFound, offsetChanges: [] });
  });

  it("decides about what is ordered, not only about what is committed", () => {
    const log = partition(10);
    log.write(consumer, 3);
    log.machine.orderedOffset(caller, consumer, undefined, false);
    expect(log.machine.admitDelete({ ...caller, request: 101 }, consumer)).toEqual(
      refused(ErrorCode.ConsumerOffsetNotFound),
    );
    expect(log.machine.offsets.visible(consumer)).toBe(3);
  });
});

describe("a commit on read", () => {
  it("shows at once, before its write commits", () => {
    const log = partition(10);
    expect(log.machine.admitCommitOnRead({ key: consumer, lastOffset: 4 })).toBe("store");
    log.machine.orderedOffset({ client: 0n, session: 0, request: 0 }, consumer, 4, true);
    expect(log.machine.offsets.visible(consumer)).toBe(4);
    expect(log.machine.offsets.committed(consumer)).toBeUndefined();
    log.commitOnRead(consumer, 4);
    expect(log.machine.offsets.committed(consumer)).toBe(4);
    expect(log.machine.offsets.visible(consumer)).toBe(4);
  });

  it("never moves the offset back", () => {
    const log = partition(10);
    log.write(consumer, 8);
    expect(log.machine.admitCommitOnRead({ key: consumer, lastOffset: 8 })).toBe("unchanged");
    expect(log.commitOnRead(consumer, 3)).toMatchObject({ code: 0, offsetChanges: [] });
    expect(log.machine.offsets.committed(consumer)).toBe(8);
  });

  it("from behind the stored offset stores only while that is still the stored one", () => {
    const log = partition(10);
    log.write(consumer, 3);
    const read = { key: consumer, lastOffset: 5, startedBehind: { offset: 3 } };
    expect(log.machine.admitCommitOnRead(read)).toBe("store");
    log.machine.orderedOffset(caller, consumer, 7, false);
    expect(log.machine.admitCommitOnRead(read)).toEqual({ code: ErrorCode.TransientNotAccepted });
  });

  it("from behind no stored offset is fenced out by the first store", () => {
    const log = partition(10);
    const read = { key: consumer, lastOffset: 5, startedBehind: { offset: undefined } };
    expect(log.machine.admitCommitOnRead(read)).toBe("store");
    log.write(consumer, 0);
    expect(log.machine.admitCommitOnRead(read)).toEqual({ code: ErrorCode.TransientNotAccepted });
  });

  it("is refused for a new key at the limit", () => {
    const log = partition(10);
    for (const id of [1, 2, 3]) log.write({ kind: "consumer", id }, 0);
    expect(log.machine.admitCommitOnRead({ key: consumer, lastOffset: 4 })).toEqual({
      code: ErrorCode.TooManyConsumerOffsets,
    });
  });

  it("gives way to an explicit store that commits behind it", () => {
    const log = partition(10);
    log.machine.orderedOffset({ client: 0n, session: 0, request: 0 }, consumer, 6, true);
    log.machine.orderedOffset(caller, consumer, 2, false);
    expect(log.machine.offsets.visible(consumer)).toBe(6);
    log.commitOnRead(consumer, 6);
    expect(log.machine.offsets.visible(consumer)).toBe(6);
    log.write(consumer, 2, 0, caller);
    expect(log.machine.offsets.visible(consumer)).toBe(2);
  });

  it("is forgotten with the uncommitted operations", () => {
    const log = partition(10);
    log.machine.orderedOffset({ client: 0n, session: 0, request: 0 }, consumer, 6, true);
    log.machine.dropOrdered();
    expect(log.machine.offsets.visible(consumer)).toBeUndefined();
    expect(log.machine.offsets.has(consumer)).toBe(false);
  });
});

describe("the hold on retention", () => {
  it("is the lowest offset of a consumer or a group; external groups hold nothing", () => {
    const log = partition(100);
    expect(log.machine.offsets.lowestHold()).toBeUndefined();
    log.write(external, 1);
    expect(log.machine.offsets.lowestHold()).toBeUndefined();
    log.write(consumer, 40);
    log.install(5, 9n, 1, 50);
    log.write(group, 30, 50);
    expect(log.machine.offsets.lowestHold()).toBe(30);
    log.machine.orderedOffset(caller, consumer, 20, false);
    expect(log.machine.offsets.lowestHold()).toBe(20);
  });
});
